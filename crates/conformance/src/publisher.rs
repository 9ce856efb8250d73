//! The promises of a publisher, on a real broker that it reaches through a [`proxy::Proxy`].
//!
//! A crate implements [`PublisherHarness`] and writes `onefold_conformance::publisher_suite!(MyHarness);`.

pub mod events;
pub mod pages;
pub mod promises;
pub mod proxy;

mod suite;

use std::collections::BTreeMap;

use onefold_core::port::Publisher;

use proxy::Proxy;

/// A place of its own at a broker: a topic, an exchange with its queue, a subject with its stream.
pub trait PublisherHarness: Send + Sync {
    /// A new, empty one, behind a proxy of its own.
    fn open() -> impl Future<Output = Self> + Send;
    /// A publisher to it, which knows no way but the proxy's.
    fn publisher(&self) -> Box<dyn Publisher>;
    /// What stands in between.
    fn proxy(&self) -> &Proxy;
    /// Everything that was ever there, as a consumer sees it, in its order.
    fn consumed(&self) -> impl Future<Output = Vec<ConsumedEvent>> + Send;
}

/// An event as a consumer sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConsumedEvent {
    /// The `CloudEvent`'s attributes, without the broker's prefix.
    pub attributes: BTreeMap<String, String>,
    /// What else travels beside the payload.
    pub headers: BTreeMap<String, String>,
    /// Its content type.
    pub content_type: String,
    /// Its payload.
    pub payload: Vec<u8>,
}

impl ConsumedEvent {
    /// Divides what a message carries into attributes, which have this prefix, and headers.
    pub fn of(prefix: &str, carried: impl IntoIterator<Item = (String, String)>, payload: Vec<u8>) -> Self {
        let mut event =
            Self { attributes: BTreeMap::new(), headers: BTreeMap::new(), content_type: String::new(), payload };
        for (name, value) in carried {
            match name.strip_prefix(prefix) {
                Some(attribute) => event.attributes.insert(attribute.to_owned(), value),
                None => event.headers.insert(name, value),
            };
        }
        event
    }

    /// Its event's id.
    pub fn id(&self) -> &str {
        self.attributes.get("id").map_or("", String::as_str)
    }

    /// Its aggregate's id.
    pub fn aggregate(&self) -> &str {
        self.attributes.get("subject").map_or("", String::as_str)
    }
}
