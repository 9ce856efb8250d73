//! The connection in use: opened by the first that needs it, and again where it broke.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Mutex;
use tokio::time::Instant;

use crate::connection::Connection;
use crate::fault::Fault;
use crate::settings::Address;

/// A broker that could not be reached is not asked again for this long: a page has many events.
const FAILED_FOR: Duration = Duration::from_millis(250);

/// The connection in use.
pub(crate) struct Link {
    address: Address,
    state: Mutex<State>,
}

enum State {
    Closed,
    Open(Arc<Connection>),
    Failed { at: Instant, fault: Fault },
}

impl Link {
    pub(crate) fn new(address: Address) -> Self {
        Self { address, state: Mutex::new(State::Closed) }
    }

    /// The open connection; one is opened where there is none.
    pub(crate) async fn connection(&self) -> Result<Arc<Connection>, Fault> {
        let mut state = self.state.lock().await;
        match &*state {
            State::Open(connection) if connection.is_open() => return Ok(Arc::clone(connection)),
            State::Failed { at, fault } if at.elapsed() < FAILED_FOR => return Err(fault.clone()),
            State::Closed | State::Open(_) | State::Failed { .. } => {}
        }
        let opened = Connection::open(&self.address).await.map(Arc::new);
        *state = match &opened {
            Ok(connection) => State::Open(Arc::clone(connection)),
            Err(fault) => State::Failed { at: Instant::now(), fault: fault.clone() },
        };
        opened
    }

    /// Closes the connection; a later delivery opens another.
    pub(crate) async fn close(&self, within: Duration) {
        let before = std::mem::replace(&mut *self.state.lock().await, State::Closed);
        if let State::Open(connection) = before {
            connection.close(within).await;
        }
    }
}
