//! Bodies of every sort, both ways.

use axum::body::Body;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Version};
use http_body_util::BodyExt as _;

use crate::route_fixture::{RouteFixture, through_both};

through_both!(
    every_body_reaches_the_upstream_as_it_came,
    a_compressed_body_is_passed_and_answers_come_readable_for_everyone,
    trailers_pass_both_ways_and_are_replayed,
    an_empty_answer_is_replayed_empty,
    http_2_is_spoken_too,
    a_body_with_its_digest_passes_as_it_comes_and_a_wrong_one_never_arrives,
);

async fn every_body_reaches_the_upstream_as_it_came(fixture: RouteFixture) {
    for size in [0, 1, 64 * 1024, 64 * 1024 + 1, 900_000] {
        let sent: Vec<u8> = (0..size).map(|at| u8::try_from(at % 251).unwrap()).collect();
        let key = format!("k-{size}");
        assert_eq!(fixture.pay(&key).body(sent.clone()).send().await.json()["got"], size);
        assert_eq!(fixture.provider.calls().pop().unwrap().body, sent);
        assert!(fixture.pay(&key).body(sent.clone()).send().await.replayed(), "{size}");
        // Chunked is the same request.
        let chunked = Body::new(Body::from(sent).map_frame(|frame| frame).boxed_unsync());
        assert!(fixture.pay(&key).body(chunked).send().await.replayed(), "{size}");
    }
}

async fn a_compressed_body_is_passed_and_answers_come_readable_for_everyone(fixture: RouteFixture) {
    let squeezed = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    let call = || fixture.pay("k").header("content-encoding", "gzip").header("accept-encoding", "gzip, br");
    assert_eq!(call().body(squeezed.clone()).send().await.status.as_u16(), 201);
    let got = fixture.provider.calls().pop().unwrap();
    assert_eq!((got.body.to_vec(), got.headers["content-encoding"].to_str().unwrap()), (squeezed.clone(), "gzip"));
    assert_eq!(got.headers["accept-encoding"], "identity", "an answer that is kept must be readable by everyone");
    assert!(call().body(squeezed).send().await.replayed());
}

async fn trailers_pass_both_ways_and_are_replayed(fixture: RouteFixture) {
    let trailers = HeaderMap::from_iter([(HeaderName::from_static("x-sum"), HeaderValue::from_static("9"))]);
    let body = || {
        let trailers = trailers.clone();
        Body::new(Body::from("{}").with_trailers(std::future::ready(Some(Ok(trailers)))))
    };
    let call =
        || fixture.pay("k").http2().header("te", "trailers").header("trailer", "x-sum").script("trailers").body(body());
    let first = call().send().await;
    assert_eq!(first.trailers.as_ref().unwrap()["x-checksum"], "77");
    assert_eq!(fixture.provider.calls().pop().unwrap().trailers.unwrap()["x-sum"], "9");
    let again = call().send().await;
    assert!(again.replayed());
    assert_eq!(again.trailers, first.trailers);
}

async fn an_empty_answer_is_replayed_empty(fixture: RouteFixture) {
    let first = fixture.pay("k").script("status=204, empty").send().await;
    let again = fixture.pay("k").send().await;
    assert_eq!((first.status.as_u16(), again.status.as_u16(), again.body.len()), (204, 204, 0));
    assert!(again.replayed());
}

async fn http_2_is_spoken_too(fixture: RouteFixture) {
    let first = fixture.pay("k").http2().send().await;
    assert_eq!((first.version, first.status.as_u16()), (Version::HTTP_2, 201));
    let again = fixture.pay("k").send().await;
    assert_eq!((again.version, again.replayed(), again.body), (Version::HTTP_11, true, first.body));
}

async fn a_body_with_its_digest_passes_as_it_comes_and_a_wrong_one_never_arrives(fixture: RouteFixture) {
    // Of "hello", by RFC 9530.
    let digest = "sha-256=:LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ=:";
    let upload =
        |key: &str, body: &'static str| fixture.pay(key).at("/uploads").header("content-digest", digest).body(body);
    assert_eq!(upload("right", "hello").send().await.json()["got"], 5);
    assert!(upload("right", "hello").send().await.replayed());
    // Without the digest it is the same request.
    assert!(fixture.pay("right").at("/uploads").body("hello").send().await.replayed());
    let wrong = upload("wrong", "hellO").send().await;
    assert!(wrong.status.is_server_error() && wrong.header("onefold-outcome") == Some("unknown"), "{wrong:?}");
    assert_eq!(upload("wrong", "hello").send().await.problem(), (409, "OUTCOME_UNKNOWN".to_owned()));
    assert_eq!(fixture.provider.count(), 1);
}
