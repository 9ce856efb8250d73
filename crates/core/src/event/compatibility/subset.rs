//! Whether a reader's schema accepts all that a writer's schema allows.

use std::collections::{BTreeSet, HashSet};
use std::sync::LazyLock;

use serde_json::{Map, Value};

use super::{SchemaChange, SchemaChangeEffect};

type Schema = Map<String, Value>;

/// Keywords that say nothing about what is valid.
const ANNOTATIONS: [&str; 15] = [
    "title",
    "description",
    "$comment",
    "examples",
    "default",
    "deprecated",
    "readOnly",
    "writeOnly",
    "$schema",
    "$id",
    "$defs",
    "definitions",
    "$anchor",
    "$vocabulary",
    "contentMediaType",
];
/// Keywords of a writer that narrow what it allows, in a way that is not followed here.
const NOT_FOLLOWED: [&str; 10] =
    ["allOf", "anyOf", "oneOf", "not", "if", "then", "else", "$dynamicRef", "$recursiveRef", "dependentSchemas"];
/// Keywords that are followed below.
const FOLLOWED: [&str; 22] = [
    "$ref",
    "allOf",
    "type",
    "enum",
    "const",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "prefixItems",
    "minimum",
    "exclusiveMinimum",
    "maximum",
    "exclusiveMaximum",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "minProperties",
    "maxProperties",
    "uniqueItems",
    "pattern",
];
/// Counts: the keyword, the type that it is about, and whether a larger number allows less.
const COUNTS: [(&str, &str, Bound); 6] = [
    ("minLength", "string", Bound::Least),
    ("maxLength", "string", Bound::Most),
    ("minItems", "array", Bound::Least),
    ("maxItems", "array", Bound::Most),
    ("minProperties", "object", Bound::Least),
    ("maxProperties", "object", Bound::Most),
];
const TYPES: [&str; 6] = ["null", "boolean", "number", "string", "array", "object"];
/// The schema that says nothing.
static NOTHING: LazyLock<Schema> = LazyLock::new(Schema::new);
/// References that are followed one after another.
const HOPS_MAX: usize = 32;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Bound {
    Least,
    Most,
}

/// A reader's schema and a writer's, each with what it is called.
pub(super) struct Comparison<'s> {
    reader: (&'static str, &'s Value),
    writer: (&'static str, &'s Value),
    /// Pairs that are compared already: schemas may refer to themselves.
    seen: HashSet<(*const Value, *const Value)>,
    found: Vec<SchemaChange>,
}

/// Where two schemas are compared, and how sure a finding is there.
#[derive(Clone)]
struct Place {
    at: String,
    effect: SchemaChangeEffect,
}

impl Place {
    fn below(&self, part: &str) -> Self {
        let part = part.replace('~', "~0").replace('/', "~1");
        Self { at: format!("{}/{part}", self.at), effect: SchemaChangeEffect::Breaks }
    }
}

impl<'s> Comparison<'s> {
    pub(super) fn new(reader: (&'static str, &'s Value), writer: (&'static str, &'s Value)) -> Self {
        Self { reader, writer, seen: HashSet::new(), found: Vec::new() }
    }

    pub(super) fn run(mut self) -> Vec<SchemaChange> {
        let place = Place { at: String::new(), effect: SchemaChangeEffect::Breaks };
        self.compare(place, self.reader.1, self.writer.1);
        self.found
    }

    fn found(&mut self, place: &Place, what: impl Into<String>) {
        self.found.push(SchemaChange { at: place.at.clone(), what: what.into(), effect: place.effect });
    }

    fn undecided(&mut self, place: &Place, what: impl Into<String>) {
        let place = Place { at: place.at.clone(), effect: SchemaChangeEffect::Undecided };
        self.found(&place, what);
    }

    fn compare(&mut self, mut place: Place, reader: &'s Value, writer: &'s Value) {
        if !self.seen.insert((std::ptr::from_ref(reader), std::ptr::from_ref(writer))) {
            return;
        }
        let (Some((writer, whole)), true) = (resolve(writer, self.writer.1), reader.is_object() || reader.is_boolean())
        else {
            return self.undecided(&place, "a reference cannot be followed");
        };
        let writer = match writer {
            Value::Bool(false) => return,
            Value::Object(writer) => writer,
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => &NOTHING,
        };
        if !whole || NOT_FOLLOWED.iter().any(|keyword| writer.contains_key(*keyword)) {
            place.effect = SchemaChangeEffect::Undecided;
        }
        match reader {
            Value::Object(reader) => self.compare_objects(&place, reader, writer),
            Value::Bool(false) => self.found(&place, format!("is not allowed by the {} schema", self.reader.0)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {}
        }
    }

    fn compare_objects(&mut self, place: &Place, reader: &'s Schema, writer: &'s Schema) {
        // The writer's own place in its document keeps references apart: a copy would not.
        if let Some(target) = reader.get("$ref").and_then(Value::as_str) {
            match target.strip_prefix('#').and_then(|pointer| self.reader.1.pointer(pointer)) {
                Some(target) => self.compare_with(place, target, writer),
                None => self.undecided(place, "a reference cannot be followed"),
            }
        }
        for part in reader.get("allOf").and_then(Value::as_array).into_iter().flatten() {
            self.compare_with(place, part, writer);
        }
        let allowed = types(writer);
        self.compare_types(place, reader, &allowed);
        self.compare_values(place, reader, writer);
        self.compare_bounds(place, reader, writer, &allowed);
        if allowed.contains("object") {
            self.compare_properties(place, reader, writer);
        }
        if allowed.contains("array") {
            self.compare_items(place, reader, writer);
        }
        if let Some(pattern) = reader.get("pattern").filter(|_| allowed.contains("string")) {
            match writer.get("pattern") {
                Some(same) if same == pattern => {}
                Some(_) => self.undecided(place, "the pattern is another one"),
                None => self.found(place, format!("only the {} schema has a pattern", self.reader.0)),
            }
        }
        let known = |name: &str| FOLLOWED.contains(&name) || ANNOTATIONS.contains(&name);
        for (name, value) in reader.iter().filter(|(name, _)| !known(name)) {
            if writer.get(name) != Some(value) || refers(value) {
                self.undecided(place, format!("{name:?} differs, or is not compared"));
            }
        }
    }

    /// A part of the reader's schema against the same writer.
    fn compare_with(&mut self, place: &Place, reader: &'s Value, writer: &'s Schema) {
        match reader {
            Value::Object(part) => {
                let pair = (std::ptr::from_ref(reader), std::ptr::from_ref(writer).cast());
                if self.seen.insert(pair) {
                    self.compare_objects(place, part, writer);
                }
            }
            Value::Bool(false) => self.found(place, format!("is not allowed by the {} schema", self.reader.0)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {}
        }
    }

    fn compare_types(&mut self, place: &Place, reader: &Schema, allowed: &BTreeSet<&str>) {
        let Some(wanted) = named_types(reader) else { return };
        let fits = |one: &str| wanted.contains(&one) || one == "integer" && wanted.contains(&"number");
        // What may be any number is not an integer.
        let others: Vec<&str> = allowed.iter().copied().filter(|one| !fits(one)).collect();
        if !others.is_empty() {
            let (reader, writer) = (self.reader.0, self.writer.0);
            let what = if others.len() >= TYPES.len() - 1 && allowed.len() == TYPES.len() {
                format!("the {reader} schema has a type, the {writer} one has none")
            } else {
                format!("the {writer} schema allows {}, the {reader} one does not", others.join(", "))
            };
            self.found(place, what);
        }
    }

    fn compare_values(&mut self, place: &Place, reader: &Schema, writer: &Schema) {
        let Some(wanted) = values(reader) else { return };
        match values(writer) {
            Some(written) if written.iter().all(|value| wanted.contains(value)) => {}
            Some(_) => self
                .found(place, format!("a value of the {} schema is not in the {} one", self.writer.0, self.reader.0)),
            None => self.found(place, format!("only the {} schema lists the allowed values", self.reader.0)),
        }
    }

    fn compare_bounds(&mut self, place: &Place, reader: &Schema, writer: &Schema, allowed: &BTreeSet<&str>) {
        let number = |schema: &Schema, keyword: &str| schema.get(keyword).and_then(Value::as_f64);
        let mut tighter: Vec<&str> = Vec::new();
        for (keyword, of, bound) in COUNTS {
            if let Some(limit) = number(reader, keyword).filter(|_| allowed.contains(of)) {
                let holds = number(writer, keyword).is_some_and(|own| match bound {
                    Bound::Least => own >= limit,
                    Bound::Most => own <= limit,
                });
                let empty = bound == Bound::Least && limit <= 0.0;
                tighter.extend((!holds && !empty).then_some(keyword));
            }
        }
        if allowed.contains("number") || allowed.contains("integer") {
            let holds = |keyword: &str, limit: f64| {
                let (inclusive, exclusive) = (number(writer, keyword), number(writer, exclusive_of(keyword)));
                match keyword {
                    "minimum" => inclusive.is_some_and(|own| own >= limit) || exclusive.is_some_and(|own| own >= limit),
                    _ => inclusive.is_some_and(|own| own <= limit) || exclusive.is_some_and(|own| own <= limit),
                }
            };
            let strictly = |keyword: &str, limit: f64| {
                let (inclusive, exclusive) = (number(writer, keyword), number(writer, exclusive_of(keyword)));
                match keyword {
                    "minimum" => inclusive.is_some_and(|own| own > limit) || exclusive.is_some_and(|own| own >= limit),
                    _ => inclusive.is_some_and(|own| own < limit) || exclusive.is_some_and(|own| own <= limit),
                }
            };
            for keyword in ["minimum", "maximum"] {
                let exclusive = exclusive_of(keyword);
                tighter.extend(number(reader, keyword).filter(|limit| !holds(keyword, *limit)).map(|_| keyword));
                tighter.extend(number(reader, exclusive).filter(|limit| !strictly(keyword, *limit)).map(|_| exclusive));
            }
        }
        for keyword in tighter {
            self.found(place, format!("{keyword:?} of the {} schema is tighter", self.reader.0));
        }
    }

    fn compare_properties(&mut self, place: &Place, reader: &'s Schema, writer: &'s Schema) {
        let (read_by, written_by) = (self.reader.0, self.writer.0);
        let listed = |schema: &'s Schema| schema.get("required").and_then(Value::as_array).into_iter().flatten();
        for name in listed(reader).filter_map(Value::as_str) {
            if !listed(writer).any(|own| own.as_str() == Some(name)) {
                let place = Place { effect: place.effect, ..place.below("properties").below(name) };
                self.found(&place, format!("is required by the {read_by} schema and not by the {written_by} one"));
            }
        }
        let properties = |schema: &'s Schema| schema.get("properties").and_then(Value::as_object);
        let (read, written) = (properties(reader), properties(writer));
        let others = reader.get("additionalProperties");
        for (name, own) in written.into_iter().flatten() {
            let at = place.below("properties").below(name);
            if let Some(wanted) = read.and_then(|read| read.get(name)) {
                self.compare(at, wanted, own);
            } else if others == Some(&Value::Bool(false)) && !reader.contains_key("patternProperties") {
                self.found(
                    &Place { effect: place.effect, ..at },
                    format!("is not a property of the {read_by} schema, which allows no others"),
                );
            } else if let Some(wanted @ Value::Object(_)) = others {
                self.compare(at, wanted, own);
            }
        }
        if let Some(own @ Value::Object(_)) = writer.get("additionalProperties")
            && let Some(wanted) = others
        {
            self.compare(place.below("additionalProperties"), wanted, own);
        }
    }

    fn compare_items(&mut self, place: &Place, reader: &'s Schema, writer: &'s Schema) {
        if reader.get("uniqueItems") == Some(&Value::Bool(true))
            && writer.get("uniqueItems") != Some(&Value::Bool(true))
        {
            self.found(place, format!("items are unique in the {} schema only", self.reader.0));
        }
        match (reader.get("prefixItems"), writer.get("prefixItems")) {
            (None, None) => {}
            (Some(Value::Array(wanted)), Some(Value::Array(own))) if wanted.len() == own.len() => {
                for (at, (wanted, own)) in wanted.iter().zip(own).enumerate() {
                    self.compare(place.below("prefixItems").below(&at.to_string()), wanted, own);
                }
            }
            _ => self.undecided(place, "\"prefixItems\" differs"),
        }
        match (reader.get("items"), writer.get("items")) {
            (None | Some(Value::Bool(true)), _) => {}
            (Some(wanted), Some(own)) => self.compare(place.below("items"), wanted, own),
            (Some(_), None) => self.found(place, format!("only the {} schema says what its items are", self.reader.0)),
        }
    }
}

fn exclusive_of(keyword: &str) -> &'static str {
    if keyword == "minimum" { "exclusiveMinimum" } else { "exclusiveMaximum" }
}

/// What a schema is after its references, and whether that is the whole of it.
fn resolve<'s>(schema: &'s Value, root: &'s Value) -> Option<(&'s Value, bool)> {
    let (mut at, mut whole) = (schema, true);
    for _ in 0..HOPS_MAX {
        let Some(target) = at.get("$ref").and_then(Value::as_str) else { return Some((at, whole)) };
        whole &= at
            .as_object()
            .is_some_and(|own| own.keys().all(|name| name == "$ref" || ANNOTATIONS.contains(&name.as_str())));
        at = root.pointer(target.strip_prefix('#')?)?;
    }
    None
}

fn refers(value: &Value) -> bool {
    match value {
        Value::Object(fields) => fields.contains_key("$ref") || fields.values().any(refers),
        Value::Array(items) => items.iter().any(refers),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

/// The types that a schema names.
fn named_types(schema: &Schema) -> Option<Vec<&str>> {
    match schema.get("type")? {
        Value::String(one) => Some(vec![one]),
        Value::Array(several) => Some(several.iter().filter_map(Value::as_str).collect()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => None,
    }
}

/// The types that a schema allows: those that it names, those of its values, or all.
fn types(schema: &Schema) -> BTreeSet<&str> {
    if let Some(named) = named_types(schema) {
        return named.into_iter().collect();
    }
    let of = |value: &Value| match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_i64() || number.is_u64() => "integer",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    match values(schema) {
        Some(values) => values.into_iter().map(of).collect(),
        None => TYPES.into_iter().collect(),
    }
}

/// The values that a schema lists.
fn values(schema: &Schema) -> Option<Vec<&Value>> {
    if let Some(one) = schema.get("const") {
        return Some(vec![one]);
    }
    schema.get("enum")?.as_array().map(|values| values.iter().collect())
}
