//! A trivial upstream in a process of its own: it answers every request at once, and counts.

use std::convert::Infallible;
use std::io::{BufRead as _, Write as _};
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;

/// The first argument of the process that is the upstream.
const UPSTREAM: &str = "--upstream";

/// Becomes the upstream, if this process was started as one.
pub fn answer_if_asked() -> Option<ExitCode> {
    if std::env::args_os().nth(1)? != UPSTREAM {
        return None;
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a thread");
    runtime.block_on(serve());
    Some(ExitCode::SUCCESS)
}

async fn serve() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    println!("{}", listener.local_addr().expect("an address"));
    std::io::stdout().flush().expect("a pipe");
    let count = Arc::new(AtomicU64::new(0));
    loop {
        let (stream, _) = listener.accept().await.expect("a connection");
        stream.set_nodelay(true).expect("no delay");
        let count = Arc::clone(&count);
        let service = service_fn(move |request| answer(request, Arc::clone(&count)));
        // A client that hangs up does not concern us.
        tokio::spawn(hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service));
    }
}

async fn answer(request: Request<Incoming>, count: Arc<AtomicU64>) -> Result<Response<Full<Bytes>>, Infallible> {
    let reading = request.method() == hyper::Method::GET;
    let _ = request.into_body().collect().await;
    let number = if reading { count.load(Ordering::Relaxed) } else { count.fetch_add(1, Ordering::Relaxed) + 1 };
    let body = Full::from(format!("{{\"charged\":true,\"number\":{number}}}"));
    let mut answer = Response::new(body);
    answer.headers_mut().insert("content-type", hyper::header::HeaderValue::from_static("application/json"));
    Ok(answer)
}

/// The upstream, running.
pub struct Upstream {
    child: Child,
    /// Where it listens.
    pub address: String,
}

impl Upstream {
    /// Starts this program again, as the upstream.
    pub fn start() -> Self {
        let program = std::env::current_exe().expect("this program has a name");
        let mut child =
            Command::new(program).arg(UPSTREAM).stdout(Stdio::piped()).spawn().expect("the upstream starts");
        let mut line = String::new();
        let stdout = child.stdout.as_mut().expect("a pipe");
        std::io::BufReader::new(stdout).read_line(&mut line).expect("the upstream says where it is");
        Self { child, address: line.trim().to_owned() }
    }
}

impl Drop for Upstream {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
