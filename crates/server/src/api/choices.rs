//! Fields of which one must be there: what the derived description of a body cannot say.

use utoipa::openapi::schema::{AllOfBuilder, AnyOfBuilder, ObjectBuilder, OneOfBuilder, Schema, Type};
use utoipa::openapi::{OpenApi, RefOr};

/// Says of the bodies that need it which of their fields go together.
pub(super) fn describe(document: &mut OpenApi) {
    let found = [("tookHold", Type::Object), ("didNotHappen", Type::Object), ("failed", Type::String)];
    let named = [("kind", Type::String), ("group", Type::String)];
    let Some(components) = &mut document.components else { return };
    for (name, schema) in &mut components.schemas {
        let choice: Schema = match name.as_str() {
            "ResolveBody" | "ResolveManyBody" => {
                found.iter().fold(OneOfBuilder::new(), |choice, field| choice.item(with(field))).into()
            }
            "BulkFilter" => named.iter().fold(AnyOfBuilder::new(), |choice, field| choice.item(with(field))).into(),
            _ => continue,
        };
        *schema = RefOr::T(AllOfBuilder::new().item(schema.clone()).item(choice).into());
    }
}

/// An object with this field.
fn with((name, kind): &(&str, Type)) -> Schema {
    let mut field = ObjectBuilder::new().schema_type(kind.clone());
    if *kind == Type::String {
        field = field.min_length(Some(1));
    }
    ObjectBuilder::new().property(*name, field).required(*name).into()
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
