//! A message of an event.

use lapin::BasicProperties;
use lapin::types::{AMQPValue, FieldTable, ShortString};
use onefold_core::error::EVENT_HEADER_INVALID;
use onefold_core::event::ReplayId;
use onefold_core::port::OutgoingEvent;

use crate::fault::Fault;

/// What is before the name of a `CloudEvent`'s attribute.
const ATTRIBUTE_PREFIX: &str = "cloudEvents:";
/// Written to disk where its queue is durable.
const PERSISTENT: u8 = 2;

/// A message, with where it goes.
pub(crate) struct Message<'e> {
    pub(crate) exchange: ShortString,
    pub(crate) routing_key: ShortString,
    pub(crate) payload: &'e [u8],
    pub(crate) properties: BasicProperties,
}

impl<'e> Message<'e> {
    /// The message of an event: a `CloudEvent` in binary mode, under its event's id.
    pub(crate) fn of(outgoing: &'e OutgoingEvent, routing_key: &str) -> Result<Self, Fault> {
        let stored = &outgoing.stored;
        let event = &stored.event;
        let mut headers = FieldTable::default();
        for (name, value) in outgoing.attributes() {
            headers.insert(short(&format!("{ATTRIBUTE_PREFIX}{name}"))?, long(&value));
        }
        for (name, value) in &event.headers {
            headers.insert(short(name.as_str())?, long(value));
        }
        if let Some(replay) = &outgoing.replay {
            headers.insert(short(ReplayId::HEADER)?, long(&replay.0));
        }
        let seconds = stored.created_at.as_micros().div_euclid(1_000_000);
        let properties = BasicProperties::default()
            .with_message_id(short(&event.id.to_string())?)
            .with_content_type(short(&event.content_type)?)
            .with_delivery_mode(PERSISTENT)
            .with_timestamp(u64::try_from(seconds).unwrap_or_default())
            .with_headers(headers);
        let (exchange, routing_key) = (short(&outgoing.destination)?, short(routing_key)?);
        Ok(Self { exchange, routing_key, payload: &event.payload, properties })
    }
}

/// A name as the protocol has it. A template may fill in more than it takes.
fn short(text: &str) -> Result<ShortString, Fault> {
    ShortString::try_new(text).map_err(|_| Fault::Event {
        code: EVENT_HEADER_INVALID,
        reason: format!("a name has {} bytes, and RabbitMQ takes 255", text.len()),
    })
}

fn long(text: &str) -> AMQPValue {
    AMQPValue::LongString(text.into())
}
