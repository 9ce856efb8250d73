//! Requests that two servers could read differently: refused, or read in the one way that cannot hurt.

use crate::fixture::{Gate, Service, route};

async fn refused(request: &str) {
    let service = Service::start().await;
    let gate = Gate::of(route(&service.url)).await;
    let answer = gate.raw(request).await;
    assert!(answer.starts_with("HTTP/1.1 400"), "{request:?}\n{answer}");
    assert_eq!(service.seen().len(), 0, "{request:?}");
}

#[tokio::test]
async fn two_lengths_are_refused() {
    refused("POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd").await;
    refused("POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: +3\r\n\r\nabc").await;
    refused("POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 3, 4\r\n\r\nabcd").await;
}

#[tokio::test]
async fn a_body_whose_coding_is_not_chunked_is_refused() {
    refused("POST /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip\r\n\r\nabcd").await;
    refused("POST /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n").await;
    refused("POST /a HTTP/1.0\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n").await;
}

#[tokio::test]
async fn a_length_beside_chunks_is_refused_and_nothing_hides_behind_it() {
    for lines in ["Content-Length: 4\r\nTransfer-Encoding: chunked", "Transfer-Encoding: chunked\r\nContent-Length: 4"]
    {
        let service = Service::start().await;
        let gate = Gate::of(route(&service.url)).await;
        let hidden = "0\r\n\r\nGET /hidden HTTP/1.1\r\nHost: x\r\n\r\n";
        let first = "POST /first HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n";
        let answer = gate.raw(&format!("{first}POST /a HTTP/1.1\r\nHost: x\r\n{lines}\r\n\r\n{hidden}")).await;
        let answers: Vec<&str> = answer.matches("HTTP/1.1 200").chain(answer.matches("HTTP/1.1 400")).collect();
        assert_eq!(answers, ["HTTP/1.1 200", "HTTP/1.1 400"], "{answer}");
        assert_eq!(service.only().line, "POST /first");
    }
}

#[tokio::test]
async fn a_broken_chunk_reaches_no_upstream_whole() {
    let service = Service::start().await;
    let gate = Gate::of(route(&service.url)).await;
    for chunks in ["zz\r\nabc\r\n0\r\n\r\n", "3\r\nabcd\r\n0\r\n\r\n", "-1\r\n\r\n", "ffffffffffffffffff\r\nabc"] {
        let sent = format!("POST /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n{chunks}");
        let answer = gate.raw(&sent).await;
        assert!(answer.starts_with("HTTP/1.1 400"), "{chunks:?}\n{answer}");
        assert_eq!(service.seen().len(), 0, "{chunks:?}");
    }
}

#[tokio::test]
async fn line_ends_in_a_key_are_refused() {
    refused("POST /a HTTP/1.1\r\nHost: x\r\nIdempotency-Key: a\rb\r\n\r\n").await;
    refused("POST /a HTTP/1.1\r\nHost: x\r\nIdempotency-Key: a\0b\r\n\r\n").await;
    refused("POST /a HTTP/1.1\r\nHost: x\r\nIdempotency-Key: a\r\n b\r\n\r\n").await;
    refused("POST /a HTTP/1.1\r\nHost: x\r\nIdempotency-Key : a\r\n\r\n").await;
}

#[tokio::test]
async fn a_request_names_one_host_and_one_plain_path() {
    refused("GET /a HTTP/1.1\r\nConnection: close\r\n\r\n").await;
    refused("GET /a HTTP/1.1\r\nHost: x\r\nHost: y\r\nConnection: close\r\n\r\n").await;
    let plain = ["/a/../b", "/a/%2e%2e/b", "/a%2fb", "//a", "/a//b", "/a/./b", "/a%5cb", "/a%00", "/a%zz"];
    for path in plain.into_iter().chain(["/..;/b", "/a;b", "/a/;v=1", "/a%3bb", "/a%3B/b"]) {
        refused(&format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")).await;
    }
    refused("post /a HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").await;
}
