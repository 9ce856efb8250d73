//! No way around a guard by spelling its path differently.

use crate::client::ask_one;
use crate::fixture::{Server, Workdir};
use crate::upstream::Upstream;

/// Paths that some server takes for `/charges`, without a key.
const LOOKALIKES: [&str; 9] = [
    "/CHARGES",
    "/Charges/",
    "/charges.json",
    "/charges.",
    "/charges.tar.gz",
    "/charges%20",
    "/%20charges",
    "/charges%C2%A0",
    "/CHARGES.XML",
];

fn serve(upstream: &Upstream, gateway: &str) -> (Workdir, Server) {
    let config = format!("[gateway]\notherwise = \"http://{}\"\n{gateway}\n{}", upstream.address, upstream.guarded(""));
    let dir = Workdir::with_config(&config);
    let server = dir.serve(&["--gateway-listen", "127.0.0.1:0"]);
    (dir, server)
}

fn asked(server: &Server, method: &str, path: &str) -> u16 {
    let request = format!("{method} {path} HTTP/1.1\r\nhost: shop\r\ncontent-length: 0\r\n\r\n");
    ask_one(server.gateway.unwrap(), &request).status
}

#[test]
fn a_guarded_path_in_another_spelling_is_refused_and_what_is_meant_otherwise_passes() {
    let upstream = Upstream::agreeable();
    let (_dir, server) = serve(&upstream, "");
    assert!(server.log().contains("to the upstream of a guarded route, unguarded"), "{}", server.log());
    for path in LOOKALIKES {
        assert_eq!(asked(&server, "POST", path), 404, "{path}");
    }
    // The same path encoded is the route's own, and its key is missing.
    assert_eq!(asked(&server, "POST", "/ch%61rges"), 400);
    assert_eq!(upstream.seen().len(), 0);
    for (method, path) in
        [("POST", "/charge"), ("POST", "/charges/7.json"), ("POST", "/other.json"), ("GET", "/CHARGES")]
    {
        assert_eq!(asked(&server, method, path), 201, "{method} {path}");
    }
}

#[test]
fn an_operator_who_means_it_lets_them_pass() {
    let upstream = Upstream::agreeable();
    let (_dir, server) = serve(&upstream, "otherwise_lookalikes = \"pass\"");
    for path in LOOKALIKES {
        assert_eq!(asked(&server, "POST", path), 201, "{path}");
    }
    let dir = Workdir::with_config(&format!("[gateway]\notherwise_lookalikes = \"perhaps\"\n{}", upstream.guarded("")));
    let ran = dir.run(&["serve", "--listen", "127.0.0.1:0", "--gateway-listen", "127.0.0.1:0"]);
    assert!(ran.code != Some(0) && ran.err().contains("\"refuse\" or \"pass\""), "{}", ran.err());
}

#[test]
fn an_upstream_of_its_own_is_not_a_way_around() {
    let (upstream, other) = (Upstream::agreeable(), Upstream::agreeable());
    let config = format!("[gateway]\notherwise = \"http://{}\"\n{}", other.address, upstream.guarded(""));
    let dir = Workdir::with_config(&config);
    let server = dir.serve(&["--gateway-listen", "127.0.0.1:0"]);
    assert_eq!(asked(&server, "GET", "/elsewhere"), 201);
    assert!(!server.log().contains("unguarded"), "{}", server.log());
}
