//! Fields of which one must be there: what the derived description of a body cannot say.

use onefold_core::retry::Category;
use utoipa::openapi::schema::{
    AdditionalProperties, AllOfBuilder, AnyOfBuilder, ArrayBuilder, ObjectBuilder, OneOfBuilder, Schema, SchemaType,
    Type,
};
use utoipa::openapi::{OpenApi, RefOr};

/// Says of the bodies that need it which of their fields go together.
pub(super) fn describe(document: &mut OpenApi) {
    let Some(components) = &mut document.components else { return };
    if let Some(RefOr::T(Schema::Object(kind))) = components.schemas.get_mut("KindDeclaration") {
        if let Some(RefOr::T(Schema::Object(retry))) = kind.properties.get_mut("retry") {
            retry.property_names = Some(Box::new(categories()));
        }
        if let Some(fingerprint) = kind.properties.get_mut("fingerprint") {
            *fingerprint = RefOr::T(AllOfBuilder::new().item(fingerprint.clone()).item(fingerprint_mode()).into());
        }
    }
    if let Some(RefOr::T(Schema::Object(event))) = components.schemas.get_mut("StageBody")
        && let Some(RefOr::T(Schema::Object(headers))) = event.properties.get_mut("headers")
    {
        headers.property_names = Some(Box::new(header_names()));
    }
    for (name, schema) in &mut components.schemas {
        let choice: Schema = match name.as_str() {
            "ResolveBody" | "ResolveManyBody" => one_of([
                with("tookHold", Type::Object),
                with("didNotHappen", Type::Object),
                with("failed", Type::String),
            ]),
            "BulkFilter" => any_of([with("kind", Type::String), with("group", Type::String)]),
            "ClaimBody" => one_of([with_any_json("request"), with("requestDigest", Type::String)]),
            "EditBody" => one_of([with_any_json("payload"), with("payloadBase64", Type::String)]),
            "FailBody" => AllOfBuilder::new().item(final_without_category()).item(needed_repair()).into(),
            _ => continue,
        };
        *schema = RefOr::T(AllOfBuilder::new().item(schema.clone()).item(choice).into());
    }
}

/// Every category of a failure, as a key in JSON: `rateLimited`.
fn categories() -> Schema {
    let key = |category: &Category| {
        let words = category.as_str().to_ascii_lowercase();
        let mut words = words.split('_').map(str::to_owned);
        let first = words.next().unwrap_or_default();
        words.fold(first, |key, word| key + &word[..1].to_ascii_uppercase() + &word[1..])
    };
    let keys: Vec<String> = Category::ALL.iter().map(key).collect();
    ObjectBuilder::new().schema_type(Type::String).enum_values(Some(keys)).into()
}

/// Names of headers that an event may bring along: none that a target sets itself.
fn header_names() -> Schema {
    let ours = "ce_|ce-|cloudevents|onefold-|webhook-";
    let set = "content-type|content-length|host|connection|transfer-encoding|authorization|idempotency-key|nats-msg-id";
    let pattern = format!("^(?!{ours})(?!(?:{set})$)[a-z0-9_-]{{1,100}}$");
    ObjectBuilder::new().schema_type(Type::String).pattern(Some(pattern)).into()
}

/// `raw`, `canonical`, or the fields that are compared.
fn fingerprint_mode() -> Schema {
    let named = ObjectBuilder::new().schema_type(Type::String).enum_values(Some(["raw", "canonical"])).into();
    let pointer = ObjectBuilder::new().schema_type(Type::String);
    let fields = ObjectBuilder::new()
        .schema_type(Type::Object)
        .property("fields", ArrayBuilder::new().items(pointer))
        .required("fields")
        .additional_properties(Some(AdditionalProperties::<Schema>::FreeForm(false)))
        .into();
    any_of([named, fields, ObjectBuilder::new().schema_type(Type::Null).into()])
}

/// A final failure has a category or a code of its own.
fn final_without_category() -> Schema {
    let retryable = ObjectBuilder::new().property("final", constant(false)).into();
    any_of([retryable, with("category", Type::String), with("code", Type::String)])
}

/// Only a final failure with a category opens the incident that shows `needs`.
fn needed_repair() -> Schema {
    let none = ObjectBuilder::new().property("needs", ObjectBuilder::new().schema_type(Type::Null)).into();
    let is_final = ObjectBuilder::new().property("final", constant(true)).required("final").into();
    let final_with_category = AllOfBuilder::new().item(with("category", Type::String)).item::<Schema>(is_final).into();
    any_of([none, final_with_category])
}

fn constant(value: bool) -> ObjectBuilder {
    ObjectBuilder::new().schema_type(Type::Boolean).enum_values(Some([value]))
}

fn one_of<const N: usize>(choices: [Schema; N]) -> Schema {
    choices.into_iter().fold(OneOfBuilder::new(), OneOfBuilder::item).into()
}

fn any_of<const N: usize>(choices: [Schema; N]) -> Schema {
    choices.into_iter().fold(AnyOfBuilder::new(), AnyOfBuilder::item).into()
}

/// An object with this field.
fn with(name: &str, kind: Type) -> Schema {
    let min_length = (kind == Type::String).then_some(1);
    let field = ObjectBuilder::new().schema_type(kind).min_length(min_length);
    ObjectBuilder::new().property(name, field).required(name).into()
}

/// An object in which this field is any JSON but null.
fn with_any_json(name: &str) -> Schema {
    let types = [Type::Object, Type::Array, Type::String, Type::Number, Type::Boolean];
    let field = ObjectBuilder::new().schema_type(SchemaType::from_iter(types));
    ObjectBuilder::new().property(name, field).required(name).into()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    #[test]
    fn a_resolution_is_one_of_three_and_a_filter_names_something() {
        let document: Value = serde_json::to_value(super::super::openapi::document()).unwrap();
        let schema = |name: &str| document["components"]["schemas"][name]["allOf"][1].clone();
        for body in ["ResolveBody", "ResolveManyBody"] {
            let required: Vec<Value> =
                schema(body)["oneOf"].as_array().unwrap().iter().map(|one| one["required"].clone()).collect();
            assert_eq!(required, [json!(["tookHold"]), json!(["didNotHappen"]), json!(["failed"])]);
        }
        let required: Vec<Value> =
            schema("BulkFilter")["anyOf"].as_array().unwrap().iter().map(|one| one["required"].clone()).collect();
        assert_eq!(required, [json!(["kind"]), json!(["group"])]);
    }
}
