//! A record of an event.

use krafka::Record;
use krafka::producer::murmur2;
use onefold_core::event::ReplayId;
use onefold_core::port::OutgoingEvent;

/// What is before the name of a `CloudEvent`'s attribute.
const ATTRIBUTE_PREFIX: &str = "ce_";
const CONTENT_TYPE: &str = "content-type";

/// The record of an event for this partition: a `CloudEvent` in binary mode, under its aggregate's id.
pub(crate) fn record(outgoing: &OutgoingEvent, partition: i32) -> Record {
    let stored = &outgoing.stored;
    let event = &stored.event;
    let mut record = Record::new(&*outgoing.destination, event.payload.clone())
        .key(event.aggregate.id.as_bytes().to_vec())
        .partition(partition)
        .timestamp(stored.created_at.as_micros().div_euclid(1_000))
        .header(CONTENT_TYPE, event.content_type.as_bytes().to_vec());
    for (name, value) in outgoing.attributes() {
        record = record.header(format!("{ATTRIBUTE_PREFIX}{name}"), value.into_owned());
    }
    for (name, value) in &event.headers {
        record = record.header(name.as_str(), value.clone());
    }
    if let Some(replay) = &outgoing.replay {
        record = record.header(ReplayId::HEADER, replay.to_string());
    }
    record
}

/// The partition of a key, as Java's producer chooses it: other producers of the topic agree.
pub(crate) fn partition(key: &str, partitions: i32) -> i32 {
    // Without the sign the hash is at most `i32::MAX`.
    let hash = i32::try_from(murmur2(key.as_bytes()) & 0x7fff_ffff).unwrap_or(i32::MAX);
    hash % partitions.max(1)
}

/// Bytes that the record has at least, whatever is written around it.
pub(crate) fn bytes_min(outgoing: &OutgoingEvent) -> usize {
    outgoing.stored.bytes() + outgoing.stored.event.aggregate.id.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_has_the_partition_that_java_gives_it() {
        // Utils.toPositive(Utils.murmur2("21")) % 3, and of two more, as kafka-clients computes them.
        let hashes = [("21", -973_932_308_i32), ("foobar", -790_332_482), ("a-little-bit-long-string", -985_981_536)];
        for (key, java) in hashes {
            assert_eq!(partition(key, 7), (java & 0x7fff_ffff) % 7, "{key}");
        }
        assert_eq!(partition("CASE-7", 1), 0);
    }
}
