//! The row "started, lease live": a duplicate attaches to the attempt in flight and waits for its end.

use std::time::Duration;

use axum::http::HeaderValue;
use axum::response::Response;
use onefold_core::ledger::{Entry, Replay, Status};
use onefold_core::operation::OperationKey;
use onefold_core::port::Store;

use super::guard::{EarlyResponse, Inner};
use super::in_flight::{InFlightResult, Watch};
use super::metrics::{AnswerKind, RequestMetrics};
use super::refusal::{Protocol, Refusal};
use super::replay;
use crate::caller::Caller;

/// How long a duplicate waits at most, whatever it prefers.
const WAIT_MAX: Duration = Duration::from_secs(30);

/// A duplicate of a request in flight.
pub(super) struct AttachedRequest<'a, S> {
    pub(super) inner: &'a Inner<S>,
    pub(super) key: &'a OperationKey,
    pub(super) caller: &'a Caller,
    /// Since before the claim.
    pub(super) watch: Watch,
}

impl<S: Store> AttachedRequest<'_, S> {
    /// Waits as long as the route or the caller says, and answers with what came of the attempt; never performs in its
    /// place.
    pub(super) async fn wait(
        mut self,
        prefer: Option<&HeaderValue>,
        lease_left: Duration,
        protocol: Protocol,
        measured: &mut RequestMetrics,
    ) -> Result<Response, EarlyResponse> {
        let settings = &self.inner.settings;
        let preferred = prefer.and_then(preferred);
        let wait = preferred.unwrap_or(settings.declared.wait).min(WAIT_MAX);
        let ended = tokio::time::timeout(wait, self.ended()).await;
        let answer = match ended {
            Ok(Some(ended)) => self.answer(ended, measured),
            Ok(None) | Err(_) => Err(Refusal::in_flight(settings.in_flight_status, lease_left).into()),
        };
        let Some(preferred) = preferred else { return answer };
        let mut response = match answer {
            Ok(response) => response,
            Err(EarlyResponse::Refused(refusal)) => {
                measured.refused(refusal.code());
                refusal.into_response(protocol)
            }
            Err(stop @ EarlyResponse::Unidentified(_)) => return Err(stop),
        };
        let applied = format!("wait={}", preferred.min(WAIT_MAX).as_secs());
        if let Ok(applied) = HeaderValue::from_str(&applied) {
            response.headers_mut().insert("preference-applied", applied);
        }
        Ok(response)
    }

    /// How the attempt ended; none if too many wait already.
    async fn ended(&mut self) -> Option<AwaitedResult> {
        loop {
            let mut waiting = self.inner.waiters.wait_for(self.key)?;
            let result = tokio::select! {
                result = self.watch.ended() => result,
                entry = waiting.ended() => {
                    let entry = entry?;
                    // The ledger knows that an attempt gave its grant back before that attempt's own answer is here.
                    if entry.is_settled() || !self.watch.expects() {
                        return Some(AwaitedResult::Known(Box::new(Entry::clone(&entry))));
                    }
                    self.watch.ended().await
                }
            };
            match self.awaited(result).await? {
                // What ended is an attempt before the one that is waited for.
                AwaitedResult::Known(entry) if entry.status == Status::Started => {}
                ended @ (AwaitedResult::NotApplied(_) | AwaitedResult::NotSent(_) | AwaitedResult::Known(_)) => {
                    return Some(ended);
                }
            }
        }
    }

    async fn awaited(&self, result: InFlightResult) -> Option<AwaitedResult> {
        let shown = *self.caller != Caller::Anonymous || self.inner.settings.declared.anonymous_replay;
        match result {
            InFlightResult::NotApplied(answer) if shown => Some(AwaitedResult::NotApplied(answer.to_response())),
            InFlightResult::NotSent(status, detail) => Some(AwaitedResult::NotSent(Refusal::not_sent(status, &detail))),
            InFlightResult::NotApplied(_) | InFlightResult::Recorded => self.look().await,
        }
    }

    async fn look(&self) -> Option<AwaitedResult> {
        let found = self.inner.ledger.store().find(vec![self.key.clone()]).await.ok()?;
        found.into_iter().next().flatten().map(|entry| AwaitedResult::Known(Box::new(entry)))
    }

    fn answer(&self, ended: AwaitedResult, measured: &mut RequestMetrics) -> Result<Response, EarlyResponse> {
        let entry = match ended {
            AwaitedResult::NotApplied(response) => {
                measured.kind = AnswerKind::NotApplied;
                return Ok(response);
            }
            AwaitedResult::NotSent(refusal) => return Err(refusal.into()),
            AwaitedResult::Known(entry) => entry,
        };
        let settings = &self.inner.settings;
        match entry.status {
            Status::Completed | Status::FailedFinal => {
                measured.kind = AnswerKind::Replayed;
                Ok(replay::replay(self.inner, self.key, self.caller, &Replay::of(&entry)?)?)
            }
            Status::Unknown => Err(Refusal::unknown(self.key, "the request in flight may have taken hold").into()),
            Status::FailedRetryable | Status::Released => {
                let now = self.inner.ledger.now();
                Err(Refusal::waiting(entry.next_attempt_at.unwrap_or(now), now).into())
            }
            Status::Started => Err(Refusal::in_flight(settings.in_flight_status, Duration::from_secs(1)).into()),
        }
    }
}

/// How the attempt in flight ended.
enum AwaitedResult {
    /// Nothing took hold; this is what its own caller got.
    NotApplied(Response),
    /// Nothing was sent.
    NotSent(Refusal),
    Known(Box<Entry>),
}

/// The `wait` of a `Prefer` header (RFC 7240).
fn preferred(value: &HeaderValue) -> Option<Duration> {
    let wait = value.to_str().ok()?.split([',', ';']).find_map(|part| {
        let (name, value) = part.split_once('=')?;
        name.trim().eq_ignore_ascii_case("wait").then(|| value.trim().trim_matches('"'))
    })?;
    wait.parse().ok().map(Duration::from_secs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_preference_to_wait_is_read_among_others() {
        let rows = [
            ("wait=10", Some(10)),
            ("respond-async, Wait=3", Some(3)),
            ("wait=\"7\"", Some(7)),
            ("respond-async", None),
            ("wait=soon", None),
            ("wait=-1", None),
        ];
        for (value, seconds) in rows {
            let read = preferred(&HeaderValue::from_static(value));
            assert_eq!(read, seconds.map(Duration::from_secs), "{value}");
        }
    }
}
