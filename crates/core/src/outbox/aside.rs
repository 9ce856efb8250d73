//! An event that was set aside: when it is tried again, who waits behind it, and what a person may do.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use super::relay::RelayName;
use crate::error::{Code, CodeName, EVENT_IN_FLIGHT, EVENT_MOVED_ON, Error, Result};
use crate::event::{Aggregate, EventId, StoredEvent};
use crate::ledger::named;
use crate::port::RefusedRetry;
use crate::retry::{Jitter, Schedule};
use crate::time::Timestamp;

named! {
    /// What becomes of an event that was set aside.
    AsideStatus {
        /// It is tried again at its time.
        Waiting = "WAITING",
        /// An earlier event of its aggregate is set aside; it follows that one.
        Behind = "BEHIND",
        /// A person decides.
        Parked = "PARKED",
        /// A person let its followers go without it.
        Skipped = "SKIPPED",
        /// It was published after all.
        Published = "PUBLISHED",
    }
}

impl AsideStatus {
    /// Whether nothing waits behind it any more.
    pub const fn ended(self) -> bool {
        match self {
            Self::Skipped | Self::Published => true,
            Self::Waiting | Self::Behind | Self::Parked => false,
        }
    }
}

/// When a relay tries a refused event again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RelayRetry {
    /// Attempts that an event may use.
    pub attempts_max: u32,
    /// The waits between them.
    pub schedule: Schedule,
}

impl Default for RelayRetry {
    fn default() -> Self {
        Self { attempts_max: 5, schedule: Schedule::seconds(&[1, 5, 30]) }
    }
}

/// An event that one relay has set aside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AsideEvent {
    /// The relay.
    pub relay: RelayName,
    /// The event.
    pub id: EventId,
    /// Its place.
    pub seq: i64,
    /// Its lane.
    pub lane: u16,
    /// What it is about; later events of it wait.
    pub aggregate: Aggregate,
    /// What becomes of it.
    pub status: AsideStatus,
    /// Attempts it has used.
    pub attempts: u32,
    /// Not before this time.
    pub next_attempt_at: Timestamp,
    /// The end of the lease under which it was last sent: until then a paused relay may still send it.
    pub tried_until: Timestamp,
    /// Why it was refused.
    pub code: Option<CodeName>,
    /// Why, in a sentence.
    pub reason: Option<String>,
    /// What a person put in place of its payload.
    pub edit: Option<PayloadEdit>,
}

/// A payload that a person put in place of the staged one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PayloadEdit {
    /// The new payload.
    pub payload: Bytes,
    /// What it is.
    pub content_type: Arc<str>,
    /// SHA-256 of the payload that it replaces.
    pub old_digest: [u8; 32],
}

/// A refusal, as the rule needs it.
#[derive(Debug, Clone, Copy)]
pub(super) struct RefusedAttempt<'a> {
    pub(super) code: Code,
    pub(super) reason: &'a str,
    pub(super) retry: RefusedRetry,
}

/// The lease and the time under which a page was sent.
#[derive(Debug, Clone, Copy)]
pub struct SendTime {
    /// When its answers were there.
    pub now: Timestamp,
    /// When the lease ends under which it was sent.
    pub lease_until: Timestamp,
    /// The draw that spreads waits.
    pub jitter: Jitter,
}

impl AsideEvent {
    /// How long after the last lease a person may take an event away from its relay.
    pub const SLACK: Duration = Duration::from_secs(5);

    /// An event that waits behind an earlier one of its aggregate.
    pub(super) fn behind(relay: &RelayName, lane: u16, stored: &StoredEvent, time: SendTime) -> Self {
        Self {
            relay: relay.clone(),
            id: stored.event.id,
            seq: stored.seq,
            lane,
            aggregate: stored.event.aggregate.clone(),
            status: AsideStatus::Behind,
            attempts: 0,
            next_attempt_at: time.now,
            tried_until: time.now,
            code: None,
            reason: None,
            edit: None,
        }
    }

    /// The same after its target refused it.
    #[must_use]
    pub(super) fn refused(mut self, refused: RefusedAttempt<'_>, retry: &RelayRetry, time: SendTime) -> Self {
        self.attempts += 1;
        self.tried_until = time.lease_until;
        self.code = Some(refused.code.name());
        self.reason = Some(refused.reason.chars().take(500).collect());
        match refused.retry {
            RefusedRetry::After(after) if self.attempts < retry.attempts_max => {
                self.status = AsideStatus::Waiting;
                self.next_attempt_at = time.now.plus(retry.schedule.wait(self.attempts, after, time.jitter));
            }
            RefusedRetry::After(_) | RefusedRetry::Never => self.status = AsideStatus::Parked,
        }
        self
    }

    /// The same after its target took it.
    #[must_use]
    pub(super) fn published(mut self, time: SendTime) -> Self {
        self.attempts += 1;
        self.tried_until = time.lease_until;
        self.status = AsideStatus::Published;
        self
    }

    /// The same after a person decided; refused where it has moved on, or where a paused relay may still send it.
    pub fn decided(mut self, verb: &AsideVerb, now: Timestamp) -> Result<Self> {
        if self.status.ended() {
            return Err(Error::new(EVENT_MOVED_ON, format!("event {} is {}", self.id, self.status))
                .hint("look at it again: onefold outbox show"));
        }
        let sure_at = self.tried_until.plus(Self::SLACK);
        if *verb != AsideVerb::Release && now <= sure_at {
            let wait = sure_at.since(now).as_secs() + 1;
            let what = format!("event {} was sent under a lease that has not ended", self.id);
            return Err(Error::new(EVENT_IN_FLIGHT, what)
                .hint(format!("try again in {wait} s: until then a paused relay may still send it"))
                .with_fact("retryAfterSeconds", wait));
        }
        match verb {
            AsideVerb::Skip => self.status = AsideStatus::Skipped,
            AsideVerb::Release | AsideVerb::Edit(_) => {
                // One that waits behind another stays there: order is not a person's to give up by accident.
                if self.status != AsideStatus::Behind {
                    self.status = AsideStatus::Waiting;
                }
                self.attempts = 0;
                self.next_attempt_at = now;
            }
        }
        if let AsideVerb::Edit(edit) = verb {
            self.edit = Some(edit.clone());
        }
        Ok(self)
    }
}

/// What a person decides about an event that was set aside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AsideVerb {
    /// It is tried again now.
    Release,
    /// Its followers go without it.
    Skip,
    /// It is sent with another payload.
    Edit(PayloadEdit),
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::EVENT_TARGET_REFUSED;
    use crate::event::testing::stored;

    const AT: Timestamp = Timestamp::from_micros(100_000_000);

    fn time(now: Timestamp) -> SendTime {
        SendTime { now, lease_until: now.plus(Duration::from_secs(30)), jitter: Jitter(0) }
    }

    fn fresh() -> AsideEvent {
        AsideEvent::behind(&RelayName::parse("cases").unwrap(), 3, &stored(7, "CASE-7"), time(AT))
    }

    fn refused(event: AsideEvent, retry: RefusedRetry) -> AsideEvent {
        let refused = RefusedAttempt { code: EVENT_TARGET_REFUSED, reason: "no", retry };
        event.refused(refused, &RelayRetry::default(), time(AT))
    }

    #[test]
    fn attempts_that_are_used_up_end_with_a_person() {
        let mut event = fresh();
        let mut waits = Vec::new();
        while event.status != AsideStatus::Parked {
            event = refused(event, RefusedRetry::After(None));
            waits.push(event.next_attempt_at.since(AT).as_secs());
        }
        assert_eq!((event.attempts, waits), (5, vec![1, 5, 30, 30, 30]));
        assert_eq!(refused(fresh(), RefusedRetry::Never).status, AsideStatus::Parked);
    }

    #[test]
    fn skip_and_edit_wait_for_the_last_lease_and_release_does_not() {
        let parked = refused(fresh(), RefusedRetry::Never);
        let edit = AsideVerb::Edit(PayloadEdit {
            payload: Bytes::from_static(b"{}"),
            content_type: Arc::from("application/json"),
            old_digest: [1; 32],
        });
        let lease_over = AT.plus(Duration::from_secs(36));
        for verb in [&AsideVerb::Skip, &edit] {
            let error = parked.clone().decided(verb, AT.plus(Duration::from_secs(35))).unwrap_err();
            assert_eq!(error.code(), EVENT_IN_FLIGHT);
            assert!(parked.clone().decided(verb, lease_over).is_ok());
        }
        let released = parked.clone().decided(&AsideVerb::Release, AT).unwrap();
        assert_eq!((released.status, released.attempts), (AsideStatus::Waiting, 0));
        let skipped = parked.decided(&AsideVerb::Skip, lease_over).unwrap();
        assert_eq!(skipped.decided(&AsideVerb::Release, lease_over).unwrap_err().code(), EVENT_MOVED_ON);
    }

    #[test]
    fn a_follower_that_is_released_still_follows() {
        assert_eq!(fresh().decided(&AsideVerb::Release, AT).unwrap().status, AsideStatus::Behind);
    }
}
