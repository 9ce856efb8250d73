//! What is sent, in which order.

use std::time::Duration;

use bytes::Bytes;
use serde_json::Value;

use super::judge::{self, Shown};
use super::wire::{Gateway, Order, Seen};

/// How many send the same at once.
const AT_ONCE: usize = 8;
/// How often, and how far apart, a key that is still at work is sent again.
const TRIES: u32 = 20;
const APART: Duration = Duration::from_millis(250);

/// Every step; the first two and the last share a key.
pub(super) async fn all(gateway: &Gateway, order: &Order) -> Vec<Shown> {
    let key = fresh_key();
    let first = gateway.send(order, &key).await;
    let mut shown = vec![judge::once(first.as_ref())];
    let second = gateway.send(order, &key).await;
    shown.push(judge::again(first.as_ref(), second.as_ref()));
    shown.push(judge::at_once(&at_once(gateway, order).await));
    shown.push(cut(gateway, order).await);
    let other = Order { body: changed(&order.body), ..order.clone() };
    shown.push(judge::other_body(gateway.send(&other, &key).await.as_ref()));
    shown
}

fn fresh_key() -> String {
    uuid::Uuid::new_v4().to_string()
}

#[expect(clippy::many_single_char_names, reason = "eight of the same")]
async fn at_once(gateway: &Gateway, order: &Order) -> Vec<Option<Seen>> {
    let key = fresh_key();
    let send = || gateway.send(order, &key);
    let (a, b, c, d, e, f, g, h) = tokio::join!(send(), send(), send(), send(), send(), send(), send(), send());
    let seen: [Option<Seen>; AT_ONCE] = [a, b, c, d, e, f, g, h];
    seen.into()
}

/// A connection that is cut right after sending, and the same key until it is at rest.
async fn cut(gateway: &Gateway, order: &Order) -> Shown {
    let key = fresh_key();
    // A gateway that is gone shows in the next request.
    let _ = gateway.cut(order, &key).await;
    let mut seen = gateway.send(order, &key).await;
    for _ in 0..TRIES {
        if !seen.as_ref().is_some_and(judge::at_work) {
            break;
        }
        tokio::time::sleep(APART).await;
        seen = gateway.send(order, &key).await;
    }
    judge::after_cut(seen.as_ref())
}

/// The same body, a little different: one more member where it is a JSON object.
fn changed(body: &Bytes) -> Bytes {
    match serde_json::from_slice::<Value>(body) {
        Ok(Value::Object(mut members)) => {
            members.insert("onefoldTry".to_owned(), "another body".into());
            Value::Object(members).to_string().into()
        }
        Ok(other) => serde_json::json!([other]).to_string().into(),
        Err(_) => [body.as_ref(), b" another body"].concat().into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_body_is_of_the_same_kind_and_not_the_same() {
        let rows = [
            ("{\"a\": 1}", "{\"a\":1,\"onefoldTry\":\"another body\"}"),
            ("7", "[7]"),
            ("a=1", "a=1 another body"),
            ("", " another body"),
        ];
        for (body, other) in rows {
            assert_eq!(changed(&Bytes::from(body)), other);
        }
    }
}
