//! The little of HTTP that a readiness probe takes.

use std::io::{Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::Duration;

use super::address::Address;

const ANSWER_WITHIN: Duration = Duration::from_secs(3);

/// Whether something accepts connections there.
pub(super) fn accepts(address: &Address) -> Result<(), String> {
    connect(address).map(drop)
}

/// The status of a GET.
pub(super) fn status(address: &Address, path: &str) -> Result<u16, String> {
    let mut stream = connect(address)?;
    let Address { host, port, .. } = address;
    let request = format!("GET {path} HTTP/1.1\r\nHost: {host}:{port}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).map_err(|error| error.to_string())?;
    let mut answer = Vec::new();
    let read = stream.read_to_end(&mut answer);
    let line = String::from_utf8_lossy(&answer);
    let status = line.split_whitespace().nth(1).and_then(|status| status.parse().ok());
    status.ok_or_else(|| read.map_or_else(|error| error.to_string(), |_| "no HTTP answer".to_owned()))
}

fn connect(address: &Address) -> Result<TcpStream, String> {
    let Address { host, port, .. } = address;
    let there = (host.as_str(), *port).to_socket_addrs().map_err(|error| format!("{host}:{port}: {error}"))?;
    let mut why = format!("{host}:{port} has no address");
    for socket in there {
        match TcpStream::connect_timeout(&socket, ANSWER_WITHIN) {
            Ok(stream) => {
                let limited = stream.set_read_timeout(Some(ANSWER_WITHIN));
                return limited.map(|()| stream).map_err(|error| error.to_string());
            }
            Err(error) => why = format!("{host}:{port}: {error}"),
        }
    }
    Err(why)
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn the_status_is_read_from_the_answer() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = Address::local(listener.local_addr().unwrap().port());
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut request = [0; 512];
            let read = stream.read(&mut request).unwrap();
            stream.write_all(b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n").unwrap();
            String::from_utf8_lossy(&request[..read]).into_owned()
        });
        assert_eq!(status(&address, "/ready"), Ok(503));
        assert!(server.join().unwrap().starts_with("GET /ready HTTP/1.1\r\n"));
    }
}
