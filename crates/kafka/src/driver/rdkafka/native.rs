//! A client of librdkafka: made, called and ended beside the tasks, since all of that blocks.

use std::sync::Arc;
use std::time::Duration;

use ::rdkafka::ClientConfig;
use ::rdkafka::error::{KafkaError, KafkaResult};
use ::rdkafka::producer::{FutureProducer, Producer as _};

use super::context::Context;
use super::fault;
use crate::fault::Fault;

/// How long a client lives on when nobody waits for its connection any more.
const ASKED_FOR: Duration = Duration::from_millis(100);

/// A producer with its threads and connections.
#[derive(Clone)]
pub(crate) struct Native(Arc<EndedAside<FutureProducer<Context>>>);

impl Native {
    pub(super) async fn new(config: ClientConfig, context: Context) -> Result<Self, Fault> {
        let producer = made(move || config.create_with_context(context)).await?;
        Ok(Self(Arc::new(EndedAside::new(producer))))
    }

    /// The producer, for calls that do not block.
    pub(super) fn producer(&self) -> Result<&FutureProducer<Context>, Fault> {
        self.0.get()
    }

    /// Runs a call that blocks. It goes on when nobody waits for it any more, so it needs a bound of its own.
    pub(super) async fn call<T: Send + 'static>(
        &self,
        call: impl FnOnce(&FutureProducer<Context>) -> KafkaResult<T> + Send + 'static,
    ) -> KafkaResult<T> {
        let this = self.clone();
        let called = move || this.0.0.as_ref().map_or(Err(KafkaError::Canceled), call);
        tokio::task::spawn_blocking(called).await.unwrap_or(Err(KafkaError::Canceled))
    }

    /// Waits until a broker has answered, and ends early where none will.
    pub(super) async fn answered(&self, context: &Context, within: Duration) -> Result<(), Fault> {
        let asking = async {
            while self.call(|producer| Ok(producer.client().fetch_cluster_id(ASKED_FOR))).await?.is_none() {}
            Ok::<(), KafkaError>(())
        };
        tokio::select! {
            fault = context.refused() => Err(fault),
            asked = tokio::time::timeout(within, asking) => match asked {
                Ok(Ok(())) => Ok(()),
                Ok(Err(error)) => Err(fault::of(&error)),
                Err(_) => Err(Fault::late("connecting")),
            },
        }
    }
}

/// Makes a client.
pub(super) async fn made<T: Send + 'static>(
    create: impl FnOnce() -> KafkaResult<T> + Send + 'static,
) -> Result<T, Fault> {
    let made = tokio::task::spawn_blocking(create).await.unwrap_or(Err(KafkaError::Canceled));
    made.map_err(|error| fault::of(&error))
}

/// Something that waits for its threads when it ends: it does so on a thread of its own.
pub(super) struct EndedAside<T: Send + 'static>(Option<T>);

impl<T: Send + 'static> EndedAside<T> {
    pub(super) fn new(inner: T) -> Self {
        Self(Some(inner))
    }

    pub(super) fn get(&self) -> Result<&T, Fault> {
        self.0.as_ref().ok_or_else(|| fault::of(&KafkaError::Canceled))
    }
}

impl<T: Send + 'static> Drop for EndedAside<T> {
    fn drop(&mut self) {
        let inner = self.0.take();
        // Not one of the runtime's: a runtime that ends would wait for it.
        std::thread::spawn(move || drop(inner));
    }
}
