//! The tables of `onefold.toml`.

use std::collections::BTreeMap;
use std::path::Path;

use onefold_core::error::DECLARATION_INVALID;
use onefold_core::{Error, Result};
use serde::Deserialize;

use crate::{
    DeclaredKind, DependencyDeclaration, GatewayDeclaration, KindDeclaration, Mistake, NotifyDeclaration,
    RouteDeclaration, SourceText, suggestion,
};

#[derive(Deserialize)]
struct Kinds {
    #[serde(default)]
    kind: BTreeMap<String, KindDeclaration>,
    #[serde(default)]
    dependency: BTreeMap<String, toml::Table>,
}

/// The kinds that `text` declares; `file` is named in every error.
///
/// ```
/// let text = r#"
/// [kind."payment.register"]
/// class = "financial-or-legal"
/// on_unknown = { ask = "GET https://payments.internal/payments?operation={id}" }
/// "#;
/// let error = onefold_config::kinds("onefold.toml", text).unwrap_err();
/// assert!(error.detail().starts_with("onefold.toml:4:14: kind \"payment.register\""));
/// ```
pub fn kinds(file: &str, text: &str) -> Result<Vec<DeclaredKind>> {
    let place = SourceText::new(file, text);
    let Kinds { kind, dependency } = toml::from_str(text).map_err(|cause| place.malformed(&cause))?;
    let checked = |(name, declared): (String, KindDeclaration)| {
        let who = format!("kind {name:?}");
        let checked = known_dependency(&declared, &dependency).and_then(|()| declared.check(&name));
        checked.map_err(|mistake| place.mistake(&["kind", &name], &who, &mistake))
    };
    kind.into_iter().map(checked).collect()
}

/// Refuses a dependency that the file does not declare: a misspelt one would have no limits.
fn known_dependency<T>(kind: &KindDeclaration, known: &BTreeMap<String, T>) -> Result<(), Mistake> {
    let Some(name) = kind.depends_on.as_ref().filter(|name| !known.contains_key(*name)) else { return Ok(()) };
    let hint = match suggestion(name, known.keys().map(String::as_str)) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None => format!("declare [dependency.{name}]; it may be empty"),
    };
    let error = Error::new(DECLARATION_INVALID, format!("there is no dependency {name:?}")).hint(hint);
    Err(Mistake::value("depends_on", error))
}

#[derive(Deserialize)]
struct Dependencies {
    #[serde(default)]
    dependency: BTreeMap<String, DependencyDeclaration>,
}

/// The dependencies that `text` declares, by name; `file` is named in every error.
pub fn dependencies(file: &str, text: &str) -> Result<BTreeMap<String, DependencyDeclaration>> {
    let place = SourceText::new(file, text);
    let Dependencies { dependency } = toml::from_str(text).map_err(|cause| place.malformed(&cause))?;
    for (name, declared) in &dependency {
        let who = format!("dependency {name:?}");
        declared.check(name).map_err(|mistake| place.mistake(&["dependency", name], &who, &mistake))?;
    }
    Ok(dependency)
}

/// Where a file is: its relative paths begin there.
fn folder(file: &str) -> &Path {
    Path::new(file).parent().unwrap_or(Path::new(""))
}

#[derive(Deserialize)]
struct Routes {
    #[serde(default)]
    route: Vec<RouteDeclaration>,
}

/// The routes that `text` declares, as `read` reads each of them with its kind; `file` is named in every error.
pub fn routes<T>(
    file: &str,
    text: &str,
    read: impl Fn(RouteDeclaration, DeclaredKind) -> Result<T, Mistake>,
) -> Result<Vec<T>> {
    let place = SourceText::new(file, text);
    let Routes { route } = toml::from_str(text).map_err(|cause| place.malformed(&cause))?;
    let dependencies = dependencies(file, text)?;
    let mut names: Vec<String> = Vec::new();
    let mut routes = Vec::new();
    for (at, declared) in route.into_iter().enumerate() {
        let name = declared.forward.name.clone();
        let checked = known_dependency(&declared.kind, &dependencies).and_then(|()| named_once(&name, &names));
        let checked = checked.and_then(|()| declared.check());
        let made = checked.and_then(|kind| read(declared.in_folder(folder(file)), kind));
        let (at, who) = (at.to_string(), format!("route {name:?}"));
        routes.push(made.map_err(|mistake| place.mistake(&["route", &at], &who, &mistake))?);
        names.push(name);
    }
    Ok(routes)
}

fn named_once(name: &str, before: &[String]) -> Result<(), Mistake> {
    if !before.iter().any(|before| before == name) {
        return Ok(());
    }
    let error = Error::new(DECLARATION_INVALID, format!("two routes are called {name:?}"));
    Err(Mistake::name(error.hint("a key belongs to a route's name: give each its own")))
}

#[derive(Deserialize)]
struct Gateway {
    #[serde(default)]
    gateway: GatewayDeclaration,
}

/// What `text` declares of the gateway, as `read` reads it; `file` is named in every error.
pub fn gateway<T>(file: &str, text: &str, read: impl FnOnce(GatewayDeclaration) -> Result<T, Mistake>) -> Result<T> {
    let place = SourceText::new(file, text);
    let Gateway { gateway } = toml::from_str(text).map_err(|cause| place.malformed(&cause))?;
    let made = gateway.check().and_then(|()| read(gateway.in_folder(folder(file))));
    made.map_err(|mistake| place.mistake(&["gateway"], "[gateway]", &mistake))
}

#[derive(Deserialize)]
struct Notify {
    notify: Option<NotifyDeclaration>,
}

/// Whom `text` says to tell of incidents, if anyone; `file` is named in every error.
pub fn notify(file: &str, text: &str) -> Result<Option<NotifyDeclaration>> {
    let place = SourceText::new(file, text);
    let Notify { notify } = toml::from_str(text).map_err(|cause| place.malformed(&cause))?;
    let Some(notify) = notify else { return Ok(None) };
    notify.check().map_err(|mistake| place.mistake(&["notify"], "[notify]", &mistake))?;
    Ok(Some(notify.in_folder(folder(file))))
}

#[cfg(test)]
mod tests;
