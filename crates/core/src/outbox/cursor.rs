//! A lane's cursor, and what its holder does with what a poll found.

use super::page::LaneHealth;
use super::window::{Horizon, Window};
use crate::error::CodeName;

/// Where a relay is in one lane.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LaneCursor {
    /// The lane.
    pub lane: u16,
    /// Raised whenever the lane changes its holder; a write under an older one changes nothing.
    pub fence: u64,
    /// Everything that this sees is done.
    pub since: Horizon,
    /// The window that is being published; stored before its first event is sent.
    pub until: Option<Horizon>,
    /// The last event of that window that is done.
    pub pos: i64,
    /// What was refused of late.
    pub health: LaneHealth,
    /// Why it stopped, until a person starts it again.
    pub stopped: Option<CodeName>,
}

/// What a poll found beyond a cursor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found {
    /// No event.
    Nothing,
    /// Only events of types that the relay does not want.
    OnlyUnwanted,
    /// At least one event that it wants.
    Wanted,
}

/// Whether unwanted events may be passed now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moved {
    /// `since` was moved less than a second ago.
    JustNow,
    /// It was not.
    LongAgo,
}

/// What a lane's holder does next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CursorStep {
    /// Nothing; poll again later.
    Wait,
    /// Moves `since` here: what lies before is not wanted, and would be read at every poll.
    PassUnwanted(Horizon),
    /// Stores this as `until`, durably, before anything is sent.
    OpenWindow(Horizon),
    /// Publishes the next page of the stored window.
    Publish,
    /// The window is done: `since` becomes `until`.
    CloseWindow,
}

impl LaneCursor {
    /// The step after a poll that saw everything up to `seen`.
    ///
    /// With a stored window, `found` speaks of what that window still has; without one, of what `since` does not see.
    pub fn next(&self, found: Found, seen: &Horizon, moved: Moved) -> CursorStep {
        if self.stopped.is_some() {
            return CursorStep::Wait;
        }
        match (&self.until, found, moved) {
            (Some(_), Found::Wanted, _) => CursorStep::Publish,
            (Some(_), Found::Nothing | Found::OnlyUnwanted, _) => CursorStep::CloseWindow,
            (None, Found::Wanted, _) => CursorStep::OpenWindow(seen.clone()),
            (None, Found::OnlyUnwanted, Moved::LongAgo) => CursorStep::PassUnwanted(seen.clone()),
            (None, Found::Nothing, _) | (None, Found::OnlyUnwanted, Moved::JustNow) => CursorStep::Wait,
        }
    }

    /// The window that is being published.
    pub fn window(&self) -> Option<Window> {
        self.until.clone().map(|until| Window { since: self.since.clone(), until })
    }

    /// The cursor after a step that its store has taken.
    #[must_use]
    pub fn after(mut self, step: &CursorStep) -> Self {
        match step {
            CursorStep::Wait | CursorStep::Publish => {}
            CursorStep::PassUnwanted(seen) => self.since = seen.clone(),
            CursorStep::OpenWindow(seen) => {
                self.until = Some(seen.clone());
                self.pos = 0;
            }
            CursorStep::CloseWindow => {
                if let Some(until) = self.until.take() {
                    self.since = until;
                }
                self.pos = 0;
            }
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cursor(until: Option<i64>) -> LaneCursor {
        LaneCursor {
            lane: 0,
            fence: 1,
            since: Horizon::Seq(3),
            until: until.map(Horizon::Seq),
            pos: 0,
            health: LaneHealth::default(),
            stopped: None,
        }
    }

    #[test]
    fn each_row_of_the_table_has_its_step() {
        use CursorStep::{CloseWindow, OpenWindow, PassUnwanted, Publish, Wait};
        let seen = Horizon::Seq(9);
        let rows = [
            (None, Found::Nothing, Moved::LongAgo, Wait),
            (None, Found::OnlyUnwanted, Moved::LongAgo, PassUnwanted(seen.clone())),
            (None, Found::OnlyUnwanted, Moved::JustNow, Wait),
            (None, Found::Wanted, Moved::JustNow, OpenWindow(seen.clone())),
            (Some(5), Found::Wanted, Moved::LongAgo, Publish),
            (Some(5), Found::OnlyUnwanted, Moved::LongAgo, CloseWindow),
            (Some(5), Found::Nothing, Moved::LongAgo, CloseWindow),
        ];
        for (until, found, moved, step) in rows {
            assert_eq!(cursor(until).next(found, &seen, moved), step, "{until:?} {found:?} {moved:?}");
            let stopped = LaneCursor { stopped: Some(crate::error::RELAY_STOPPED.name()), ..cursor(until) };
            assert_eq!(stopped.next(found, &seen, moved), Wait);
        }
    }

    #[test]
    fn a_window_that_was_closed_is_where_the_next_one_begins() {
        let seen = Horizon::Seq(9);
        let opened = cursor(None).after(&CursorStep::OpenWindow(seen.clone()));
        assert_eq!(opened.window(), Some(Window { since: Horizon::Seq(3), until: seen.clone() }));
        let closed = LaneCursor { pos: 8, ..opened }.after(&CursorStep::CloseWindow);
        assert_eq!((closed.since, closed.until, closed.pos), (seen, None, 0));
    }
}
