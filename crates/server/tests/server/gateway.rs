//! The gateway of the real binary: routes take hold once, and change while it serves.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};

use serde_json::json;

use crate::fixture::{Server, Workdir, claim_of, until};
use crate::wire::{Answer, Call, send};

/// A service that says how often it acted.
#[derive(Clone)]
struct Service {
    address: SocketAddr,
    acted: Arc<AtomicUsize>,
}

impl Service {
    fn start(status: &'static str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let service = Self { address: listener.local_addr().unwrap(), acted: Arc::default() };
        let acted = Arc::clone(&service.acted);
        // It ends with the test's process.
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (mut stream, acted) = (stream.unwrap(), Arc::clone(&acted));
                std::thread::spawn(move || {
                    let mut reader = BufReader::new(stream.try_clone().unwrap());
                    let (mut line, mut length) = (String::new(), 0);
                    while reader.read_line(&mut line).is_ok_and(|read| read > 2) {
                        if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
                            length = value.trim().parse().unwrap();
                        }
                        line.clear();
                    }
                    reader.read_exact(&mut vec![0; length]).unwrap();
                    let count = acted.fetch_add(1, Ordering::SeqCst) + 1;
                    let body = json!({ "payment": count }).to_string();
                    let head = format!(
                        "HTTP/1.1 {status}\r\nconnection: close\r\ncontent-type: application/json\r\nlocation: /payments/{count}\r\nset-cookie: a=b\r\ncontent-length: {}\r\n\r\n",
                        body.len()
                    );
                    let _ = stream.write_all((head + &body).as_bytes());
                });
            }
        });
        service
    }

    fn acted(&self) -> usize {
        self.acted.load(Ordering::SeqCst)
    }

    fn routes(&self, more: &str) -> String {
        format!(
            "[[route]]\nname = \"create-payment\"\nmatch = \"POST /payments\"\nupstream = \"http://{}\"\nclass = \"financial-or-legal\"\ncaller = \"anonymous\"\nanonymous_replay = true\n{more}\n",
            self.address
        )
    }
}

fn pay(server: &Server, key: &str, amount: u32) -> Answer {
    let call = Call::post("/payments", &json!({ "amount": amount })).header("idempotency-key", key);
    send(server.gateway.unwrap(), &call)
}

fn serve(dir: &Workdir) -> Server {
    dir.serve(&["--gateway-listen", "127.0.0.1:0"])
}

#[test]
fn a_request_takes_hold_once_and_its_duplicate_gets_its_answer() {
    let service = Service::start("201 Created");
    let dir = Workdir::with_config(&service.routes(""));
    let mut server = serve(&dir);
    let (first, second) = (pay(&server, "k-1", 5), pay(&server, "k-1", 5));
    assert_eq!((first.status, first.text()), (201, r#"{"payment":1}"#.to_owned()), "{first:?}");
    assert_eq!((second.status, second.text()), (201, first.text()), "{second:?}");
    assert_eq!(first.header("idempotent-replayed"), None);
    assert_eq!(second.header("idempotent-replayed"), Some("true"));
    assert_eq!((second.header("location"), second.header("set-cookie")), (Some("/payments/1"), None));
    assert_eq!(pay(&server, "k-1", 6).status, 422);
    let call = Call::post("/payments", &json!({}));
    assert_eq!(send(server.gateway.unwrap(), &call).status, 400, "the key is required");
    assert_eq!(send(server.gateway.unwrap(), &Call::get("/none")).status, 404);
    assert_eq!(service.acted(), 1);
    // The operation is in the ledger, under the route's name.
    assert!(server.get("/v1/operations").text().contains("create-payment"));
    assert_eq!(server.stop(), Some(0));
    let server = serve(&dir);
    let third = pay(&server, "k-1", 5);
    assert_eq!((third.status, third.header("idempotent-replayed")), (201, Some("true")), "{third:?}");
    assert_eq!(service.acted(), 1);
}

#[test]
fn a_key_belongs_to_what_its_path_names() {
    let service = Service::start("201 Created");
    let dir = Workdir::with_config(&service.routes("").replace("POST /payments", "POST /accounts/{id}/payments"));
    let server = serve(&dir);
    let pay = |path: &str| {
        let call = Call::post(path, &json!({ "amount": 5 })).header("idempotency-key", "k-1");
        send(server.gateway.unwrap(), &call)
    };
    assert_eq!(pay("/accounts/1/payments").status, 201);
    assert_eq!(pay("/accounts/1/payments").header("idempotent-replayed"), Some("true"));
    assert_eq!(pay("/accounts/2/payments").status, 422);
    assert_eq!(service.acted(), 1);
}

#[test]
fn requests_at_once_act_once() {
    let service = Service::start("201 Created");
    let dir = Workdir::with_config(&service.routes(""));
    let server = serve(&dir);
    let start = Barrier::new(8);
    let answers: Vec<Answer> = std::thread::scope(|scope| {
        let one = || {
            start.wait();
            pay(&server, "k-1", 5)
        };
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(one)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(answers.iter().all(|answer| answer.status == 201 && answer.text() == r#"{"payment":1}"#), "{answers:?}");
    assert_eq!(service.acted(), 1);
}

#[test]
fn an_unknown_outcome_is_not_performed_again() {
    let service = Service::start("500 Internal Server Error");
    let server = serve(&Workdir::with_config(&service.routes("")));
    let first = pay(&server, "k-1", 5);
    assert_eq!((first.status, first.header("onefold-outcome")), (500, Some("unknown")), "{first:?}");
    let second = pay(&server, "k-1", 5);
    assert_eq!((second.status, second.json()["code"].as_str()), (409, Some("OUTCOME_UNKNOWN")), "{second:?}");
    assert_eq!(service.acted(), 1);
}

#[test]
fn an_upstream_that_cannot_be_reached_leaves_the_key_usable() {
    let service = Service::start("201 Created");
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let dir = Workdir::with_config(&service.routes("").replace(&service.address.to_string(), &nobody.to_string()));
    let server = serve(&dir);
    assert_eq!(pay(&server, "k-1", 5).status, 502);
    std::fs::write(dir.path("onefold.toml"), service.routes("")).unwrap();
    server.reload();
    until("the new route is used", || pay(&server, "k-1", 5).status == 201);
    assert_eq!(service.acted(), 1);
}

#[test]
fn routes_are_read_again_and_a_broken_file_changes_nothing() {
    let (one, two) = (Service::start("201 Created"), Service::start("202 Accepted"));
    let dir = Workdir::with_config(&one.routes("deadline = \"20s\""));
    let mut server = serve(&dir);
    assert_eq!(pay(&server, "k-1", 5).status, 201);
    std::fs::write(dir.path("onefold.toml"), one.routes("clas = 1")).unwrap();
    server.reload();
    until("the mistake is logged", || server.log().contains("the old one stays in force"));
    assert_eq!(pay(&server, "k-2", 5).status, 201);
    std::fs::write(dir.path("onefold.toml"), two.routes("deadline = \"10s\"\ntimeout = \"5s\"")).unwrap();
    server.reload();
    until("the routes were read again", || server.log().contains("configuration reloaded"));
    assert_eq!(pay(&server, "k-3", 5).status, 202);
    assert_eq!(pay(&server, "k-1", 5).status, 201, "what was done stays done");
    assert_eq!((one.acted(), two.acted()), (2, 1));
    assert_eq!(server.stop(), Some(0));
}

#[test]
fn a_file_whose_last_route_is_broken_declares_none_of_its_routes() {
    let service = Service::start("201 Created");
    let dir = Workdir::with_config(&service.routes(""));
    let server = serve(&dir);
    let named = |name: &str, more: &str| {
        service.routes(more).replace("create-payment", name).replace("/payments", &format!("/{name}"))
    };
    // What a class does not allow is found out when its guard is made.
    let broken = named("refund", "") + &named("transfer", "open = true");
    std::fs::write(dir.path("onefold.toml"), service.routes("") + &broken).unwrap();
    server.reload();
    until("the mistake is logged", || server.log().contains("the old one stays in force"));
    assert!(server.log().contains("may not be open"), "{}", server.log());
    assert_eq!(pay(&server, "k-1", 5).status, 201);
    // Nobody declared it: the first claim still may, on terms of its own.
    assert_eq!(server.claim(&claim_of("refund", "R-1"))["claim"], "granted");
}

#[test]
fn a_start_that_would_let_anybody_in_is_refused() {
    let service = Service::start("201 Created");
    let dir = Workdir::with_config(&service.routes(""));
    let ran = dir.run(&["serve", "--listen", "127.0.0.1:0", "--gateway-listen", "0.0.0.0:0"]);
    assert!(ran.code != Some(0) && ran.err().contains("open = true"), "{}", ran.err());
    let dir = Workdir::with_config(&service.routes("").replace("class = \"financial-or-legal\"\n", ""));
    let ran = dir.run(&["serve", "--listen", "127.0.0.1:0"]);
    assert!(ran.code != Some(0) && ran.err().contains("onefold.toml:2:8"), "{}", ran.err());
}

#[test]
fn a_problem_of_the_gateway_points_to_a_page_that_is_there() {
    let service = Service::start("201 Created");
    let server = serve(&Workdir::with_config(&service.routes("")));
    let gateway = server.gateway.unwrap();
    let problem = send(gateway, &Call::post("/payments", &json!({}))).problem(400, "REQUEST_HEADER_MISSING");
    let page = send(gateway, &Call::get(problem["type"].as_str().unwrap()));
    assert!(page.status == 200 && page.text().starts_with("# REQUEST_HEADER_MISSING"), "{problem}: {page:?}");
    assert!(problem["instance"].as_str().unwrap().starts_with("urn:uuid:"), "{problem}");
    assert_eq!(send(gateway, &Call::get("/errors/none")).status, 404);
}

#[test]
fn a_page_of_the_gateway_never_stands_in_an_upstreams_way() {
    let service = Service::start("201 Created");
    let otherwise = format!("[gateway]\notherwise = \"http://{}\"\n", service.address);
    let dir = Workdir::with_config(&(service.routes("") + &otherwise));
    let server = serve(&dir);
    let gateway = server.gateway.unwrap();
    let problem = send(gateway, &Call::post("/payments", &json!({}))).problem(400, "REQUEST_HEADER_MISSING");
    assert_eq!(problem["type"], "urn:onefold:error:request-header-missing", "a name, and no page is promised");
    assert!(server.log().contains("set errors_base"), "{}", server.log());
    let passed = send(gateway, &Call::get("/errors/request-header-missing"));
    assert_eq!((passed.status, passed.text()), (201, r#"{"payment":1}"#.to_owned()), "the path is the upstream's");
    let based = "errors_base = \"https://docs.example.com/errors/\"\n".to_owned() + &service.routes("") + &otherwise;
    let server = serve(&Workdir::with_config(&based));
    let problem =
        send(server.gateway.unwrap(), &Call::post("/payments", &json!({}))).problem(400, "REQUEST_HEADER_MISSING");
    assert_eq!(problem["type"], "https://docs.example.com/errors/request-header-missing");
}
