//! What goes wrong meanwhile, by the number of events that are committed, never by time.

use std::time::Duration;

use crate::broker::Brokers;
use crate::fixture::Dice;
use crate::proxy::Proxy;
use crate::relays::Relays;
use crate::writers::Writers;

/// A trouble comes in each of this many parts of the work.
const TROUBLES: u64 = 12;

/// Everything that can be hurt.
pub(crate) struct Trouble {
    broker: Brokers,
    proxy: Proxy,
    relays: Relays,
    dice: Dice,
    deaths: usize,
}

impl Trouble {
    pub(crate) fn new(broker: Brokers, proxy: Proxy, relays: Relays) -> Self {
        Self { broker, proxy, relays, dice: Dice::seeded("relays to Kafka"), deaths: 0 }
    }

    /// Where the broker's log can be read, past the proxy.
    pub(crate) fn broker(&self) -> String {
        self.broker.direct(0)
    }

    /// Kills, pauses, and what makes a page be sent again.
    pub(crate) fn deaths(&self) -> usize {
        self.deaths
    }

    /// Lets the writers go on part by part, with a trouble in the middle of each.
    pub(crate) async fn during(&mut self, writers: &Writers) {
        let part = crate::events() / TROUBLES;
        for kind in 0..TROUBLES {
            writers.allow((kind + 1) * part);
            while writers.written() < kind * part + part / 2 {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            self.make(kind, writers).await;
        }
        writers.allow(u64::MAX);
    }

    /// Each kind in its turn, so that every run has all of them.
    async fn make(&mut self, kind: u64, writers: &Writers) {
        let relay = self.dice.below(3);
        match kind % 4 {
            0 => {
                self.relays.kill(relay);
                self.deaths += 1;
            }
            1 => {
                self.proxy.cut();
                self.deaths += 1;
            }
            2 => {
                let (_, last) = writers.leases().await;
                self.relays.pause(relay);
                self.deaths += 1;
                // It wakes up after others have taken over what it held.
                while writers.leases().await.0 <= last {
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
                self.relays.resume(relay);
            }
            _ => {
                self.broker.kill(0);
                self.broker.restart(0).await;
                // What was on its way to the broker is sent again by every holder.
                self.deaths += 1;
            }
        }
    }
}
