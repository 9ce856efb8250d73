//! What a person decides about an event that was set aside: release, skip, edit.

use std::sync::Arc;

use axum::extract::State;
use axum::{Extension, Json};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use onefold_core::error::VALIDATION_REJECTED;
use onefold_core::event::{EventContracts, EventLimits, NewEvent, StoredEvent};
use onefold_core::ledger::check_reason;
use onefold_core::outbox::{AsideVerb, PayloadEdit, RelayName};
use onefold_core::port::{AsideDecision, OutboxOperate as _};
use onefold_core::{Error, Result};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;

use super::events::{JSON, field, find};
use super::outbox_shapes::{AsideView, digest};
use super::problem_response::{Problem, ProblemBody};
use super::{Shared, need};
use crate::identity::{Identity, Permission};
use onefold_http::{Body, Path};

/// Why, and for which relay.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct EventVerbBody {
    /// One relay; every relay that has set it aside where it is left out.
    #[serde(default)]
    #[schema(example = "cases", pattern = "^[A-Za-z0-9._-]{1,64}$")]
    relay: Option<String>,
    /// Kept with who from the credential.
    #[schema(example = "the target was fixed", min_length = 1, max_length = 500, pattern = "[^\\s\\u0085]")]
    why: String,
}

/// Why, for which relay, and the payload that it is sent with from now on. Give one of the two payloads.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct EditBody {
    /// One relay; every relay that has set it aside where it is left out.
    #[serde(default)]
    #[schema(example = "cases", pattern = "^[A-Za-z0-9._-]{1,64}$")]
    relay: Option<String>,
    /// Kept with who from the credential.
    #[schema(
        example = "the amount was in the wrong currency",
        min_length = 1,
        max_length = 500,
        pattern = "[^\\s\\u0085]"
    )]
    why: String,
    /// The new payload, as JSON.
    #[serde(default)]
    #[schema(value_type = Option<serde_json::Value>)]
    payload: Option<Box<RawValue>>,
    /// The new payload, byte by byte.
    #[serde(default)]
    #[schema(
        example = "eyJjYXNlSWQiOiAiQ0FTRS03In0=",
        content_encoding = "base64",
        pattern = "^(?:[A-Za-z0-9+/]{4})*$"
    )]
    payload_base64: Option<String>,
    /// With `payloadBase64`: what it is; `application/json` where it is left out.
    #[serde(default)]
    #[schema(example = "application/json", max_length = 128, pattern = "^[^\\u0000-\\u001f\\u007f-\\u009f]+$")]
    content_type: Option<String>,
}

/// What the event is now, relay by relay.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct EventVerbAnswer {
    event: String,
    set_aside: Vec<AsideView>,
}

macro_rules! event_verb {
    ($(#[$doc:meta])* $name:ident, $path:literal, $id:literal, $body:ty => $verb:expr) => {
        $(#[$doc])*
        #[utoipa::path(
            post, path = $path, operation_id = $id, tag = "outbox", request_body = $body,
            params(("event" = Uuid, Path, description = "The event's id")),
            responses(
                (status = 200, description = "Done", body = EventVerbAnswer),
                (status = "4XX", description = "Refused: the code says why", body = ProblemBody, content_type = "application/problem+json"),
                (status = "5XX", description = "Not known to be done: look, then send it again", body = ProblemBody, content_type = "application/problem+json"),
            ),
        )]
        pub(crate) async fn $name(
            State(api): State<Shared>,
            Extension(who): Extension<Identity>,
            Path(event): Path<String>,
            Body(body): Body<$body>,
        ) -> Result<Json<EventVerbAnswer>, Problem> {
            need(&who, Permission::Decide)?;
            check_reason(&body.why)?;
            let (stored, _) = find(&api, &who, &event).await?;
            let verb: fn(&$body, &StoredEvent, &EventContracts) -> Result<AsideVerb> = $verb;
            let verb = verb(&body, &stored, &api.app.contracts())?;
            let decision = decision(&who, &stored, body.relay.as_deref(), &body.why, verb)?;
            Ok(Json(decide(&api, decision).await?))
        }
    };
}

event_verb! {
    /// Tries a parked event again now.
    release, "/v1/events/{event}/release", "release_event", EventVerbBody => |_, _, _| Ok(AsideVerb::Release)
}

event_verb! {
    /// Lets the later events of its aggregate go without it. Refused while a paused relay may still send it.
    skip, "/v1/events/{event}/skip", "skip_event", EventVerbBody => |_, _, _| Ok(AsideVerb::Skip)
}

event_verb! {
    /// Sends it with another payload. The staged event stays as it is. Refused while a paused relay may still send it, and
    /// where the payload breaks the event's contract.
    edit, "/v1/events/{event}/edit", "edit_event",
    EditBody => |body, stored, contracts| Ok(AsideVerb::Edit(body.edit(stored, contracts)?))
}

fn decision(
    who: &Identity,
    stored: &StoredEvent,
    relay: Option<&str>,
    why: &str,
    verb: AsideVerb,
) -> Result<AsideDecision> {
    let relay = field("relay", relay.map(RelayName::parse).transpose())?;
    Ok(AsideDecision { id: stored.event.id, relay, verb, who: Arc::clone(&who.name), why: Arc::from(why) })
}

async fn decide(api: &Shared, decision: AsideDecision) -> Result<EventVerbAnswer> {
    let event = decision.id.to_string();
    let decided = api.app.ledger.store().decide(decision).await?;
    // Who it was is in the span, by a pseudonym.
    tracing::info!(event, relays = decided.len(), "set-aside event decided");
    Ok(EventVerbAnswer { event, set_aside: decided.iter().map(AsideView::from).collect() })
}

impl EditBody {
    fn edit(&self, stored: &StoredEvent, contracts: &EventContracts) -> Result<PayloadEdit> {
        let (payload, content_type) = self.new_payload()?;
        let edited = NewEvent { payload, content_type, ..stored.event.clone() };
        EventLimits::default().check(&edited)?;
        contracts.judge(&edited)?;
        let old_digest = digest(&stored.event.payload);
        Ok(PayloadEdit { payload: edited.payload, content_type: edited.content_type, old_digest })
    }

    fn new_payload(&self) -> Result<(Bytes, Arc<str>)> {
        match (&self.payload, &self.payload_base64, &self.content_type) {
            (Some(json), None, None) => Ok((Bytes::from(json.get().as_bytes().to_vec()), Arc::from(JSON))),
            (Some(_), None, Some(_)) => Err(invalid("contentType: `payload` is JSON", "leave contentType out")),
            (None, Some(text), content_type) => {
                let bytes = STANDARD.decode(text).map_err(|cause| {
                    invalid(
                        &format!("payloadBase64: {cause}"),
                        "encode the bytes with the standard alphabet and padding",
                    )
                })?;
                let content_type = content_type.as_deref().unwrap_or(JSON);
                // What is called JSON and is not would be refused by every consumer.
                if content_type == JSON && serde_json::from_slice::<&RawValue>(&bytes).is_err() {
                    return Err(invalid("payloadBase64: the bytes are not JSON", "say what they are in contentType"));
                }
                Ok((Bytes::from(bytes), Arc::from(content_type)))
            }
            (Some(_), Some(_), _) | (None, None, _) => {
                Err(invalid("an edit has one new payload", "send one of payload and payloadBase64"))
            }
        }
    }
}

fn invalid(what: &str, hint: &str) -> Error {
    Error::new(VALIDATION_REJECTED, what).hint(hint)
}
