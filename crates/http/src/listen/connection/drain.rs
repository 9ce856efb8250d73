//! An end that waits for what is in flight.

use tokio::sync::watch;

/// Asks connections to end, and waits until they have.
#[derive(Debug)]
pub(in crate::listen) struct Drain(watch::Sender<bool>);

/// How a connection hears that it shall end; its holder is waited for.
#[derive(Debug, Clone)]
pub(in crate::listen) struct DrainSignal(watch::Receiver<bool>);

impl Default for Drain {
    fn default() -> Self {
        Self(watch::Sender::new(false))
    }
}

impl Drain {
    /// For one connection.
    pub(in crate::listen) fn signal(&self) -> DrainSignal {
        DrainSignal(self.0.subscribe())
    }

    /// Asks every connection to end, and waits until the last one has.
    pub(in crate::listen) async fn finish(self) {
        self.0.send_replace(true);
        self.0.closed().await;
    }
}

impl DrainSignal {
    /// Waits until the end is asked for.
    pub(super) async fn asked(&mut self) {
        if self.0.wait_for(|asked| *asked).await.is_err() {
            // Nobody is left who could ask.
            std::future::pending::<()>().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_drain_ends_with_the_last_connection() {
        let drain = Drain::default();
        let (mut one, other) = (drain.signal(), drain.signal());
        let ending = tokio::spawn(drain.finish());
        one.asked().await;
        drop(one);
        tokio::task::yield_now().await;
        assert!(!ending.is_finished());
        drop(other);
        ending.await.unwrap();
        Drain::default().finish().await;
    }
}
