//! What is in flight on a connection, whose turn it is, and when the connection has been open long enough.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use onefold_config::ConnectionLimits;
use tokio::time::Instant;

use super::GRACE;

/// One connection, as far as its limits go. In the extensions of each of its requests.
#[derive(Debug)]
pub struct Activity {
    limits: ConnectionLimits,
    began: Instant,
    /// Bytes that passed, both ways.
    bytes: AtomicU64,
    state: Mutex<State>,
}

#[derive(Debug, Clone, Copy)]
struct State {
    /// Requests that are not answered to their end.
    in_flight: usize,
    /// Answers that wait for the client to take more of them.
    unread: usize,
    /// When the client last took something of any answer.
    moved: Instant,
    /// When the last request ended.
    idle_since: Instant,
}

/// What has to happen to a connection now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Due {
    Nothing,
    /// It takes no further request; what is in flight may end.
    Close,
    /// It ends at once.
    End(&'static str),
}

impl Activity {
    pub(super) fn new(limits: ConnectionLimits, now: Instant) -> Self {
        let state = State { in_flight: 0, unread: 0, moved: now, idle_since: now };
        Self { limits, began: now, bytes: AtomicU64::new(0), state: Mutex::new(state) }
    }

    /// Notes that a request is in flight, for as long as the value lives.
    pub(super) fn begin(self: &Arc<Self>) -> RequestInFlight {
        self.state().in_flight += 1;
        RequestInFlight { activity: Arc::clone(self), unread: false }
    }

    pub(super) fn limits(&self) -> &ConnectionLimits {
        &self.limits
    }

    /// Often enough that no limit is passed by more than a quarter, or by five seconds.
    pub(super) fn looked_at_every(&self) -> Duration {
        let ConnectionLimits { idle_for, stalled_for, connection_for, .. } = self.limits;
        let shortest = idle_for.min(stalled_for).min(connection_for);
        (shortest / 4).clamp(Duration::from_millis(1), Duration::from_secs(5))
    }

    /// What has to happen now.
    pub(super) fn due(&self, now: Instant) -> Due {
        let ConnectionLimits { idle_for, stalled_for, connection_for, .. } = self.limits;
        let state = *self.state();
        let since = |past: Instant| now.saturating_duration_since(past);
        if state.unread > 0 && since(state.moved) >= stalled_for {
            return Due::End("the client does not take its answers");
        }
        if now >= self.ends_at() {
            return Due::End("the connection has been open long enough");
        }
        // The end of an idle connection is told to the client first, which may not listen.
        if state.in_flight == 0 && since(state.idle_since) >= idle_for + stalled_for {
            return Due::End("the connection is idle");
        }
        let idle = state.in_flight == 0 && since(state.idle_since) >= idle_for;
        if idle || since(self.began) >= connection_for { Due::Close } else { Due::Nothing }
    }

    /// When it ends, whatever is in flight.
    pub fn ends_at(&self) -> Instant {
        let open_for = self.limits.connection_for;
        self.began + open_for + open_for.min(GRACE)
    }

    /// Waits until nothing has passed, either way, for as long as a connection may be idle.
    pub async fn silent(&self) {
        loop {
            let before = self.bytes.load(Ordering::Relaxed);
            tokio::time::sleep(self.limits.idle_for).await;
            if before == self.bytes.load(Ordering::Relaxed) {
                return;
            }
        }
    }

    pub(super) fn passed(&self, bytes: usize) {
        self.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A request that is in flight, and then its answer.
#[derive(Debug)]
pub(super) struct RequestInFlight {
    activity: Arc<Activity>,
    /// Whether its answer waits for the client.
    unread: bool,
}

impl RequestInFlight {
    /// Something was handed over: the client has to take it before more is asked for.
    pub(super) fn handed_over(&mut self, now: Instant) {
        let mut state = self.activity.state();
        state.moved = now;
        state.unread += usize::from(!self.unread);
        self.unread = true;
    }

    /// More was asked for, and there is none yet: the client waits for us.
    pub(super) fn waits_for_us(&mut self) {
        self.activity.state().unread -= usize::from(self.unread);
        self.unread = false;
    }
}

impl Drop for RequestInFlight {
    fn drop(&mut self) {
        let mut state = self.activity.state();
        state.unread -= usize::from(self.unread);
        state.in_flight -= 1;
        state.idle_since = Instant::now();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn connection() -> (Arc<Activity>, Instant) {
        let limits = ConnectionLimits {
            idle_for: 10 * SECOND,
            stalled_for: 5 * SECOND,
            connection_for: 100 * SECOND,
            ..ConnectionLimits::default()
        };
        let began = Instant::now();
        (Arc::new(Activity::new(limits, began)), began)
    }

    #[test]
    fn an_idle_connection_is_closed_and_then_ended() {
        let (activity, began) = connection();
        assert_eq!(activity.due(began + 9 * SECOND), Due::Nothing);
        assert_eq!(activity.due(began + 10 * SECOND), Due::Close);
        let in_flight = activity.begin();
        assert_eq!(activity.due(began + 30 * SECOND), Due::Nothing, "a request is in flight");
        drop(in_flight);
        let idle = Instant::now();
        assert_eq!(activity.due(idle + 10 * SECOND), Due::Close);
        assert!(matches!(activity.due(idle + 15 * SECOND), Due::End(_)));
    }

    #[test]
    fn only_what_waits_for_the_client_stalls() {
        let (activity, began) = connection();
        let (mut one, mut other) = (activity.begin(), activity.begin());
        one.handed_over(began);
        other.handed_over(began + 4 * SECOND);
        assert_eq!(activity.due(began + 8 * SECOND), Due::Nothing, "the client took something of the other");
        assert!(matches!(activity.due(began + 9 * SECOND), Due::End(_)));
        one.waits_for_us();
        other.waits_for_us();
        assert_eq!(activity.due(began + 50 * SECOND), Due::Nothing, "the client waits for us");
        one.handed_over(began + 50 * SECOND);
        assert!(matches!(activity.due(began + 55 * SECOND), Due::End(_)));
        drop(one);
        assert_eq!(activity.due(began + 55 * SECOND), Due::Nothing);
    }

    #[test]
    fn a_connection_is_not_open_for_ever() {
        let (activity, began) = connection();
        let _in_flight = activity.begin();
        assert_eq!(activity.due(began + 99 * SECOND), Due::Nothing);
        assert_eq!(activity.due(began + 100 * SECOND), Due::Close);
        assert!(matches!(activity.due(began + 160 * SECOND), Due::End(_)));
    }
}
