//! `onefold errors`: the registry.

use std::process::ExitCode;

use clap::Subcommand;
use onefold_config::suggestion;
use onefold_core::error::{ALL, Code, REQUEST_INVALID, registry_json, runbook};
use onefold_core::{Error, Result};
use serde_json::{Map, Value, json};

use crate::table::{print_json, say, table};

/// What of the registry.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  onefold errors\n  onefold errors explain LEASE_SUPERSEDED\n  onefold errors openapi > problems.json\n  onefold errors --json"
)]
pub(crate) struct ErrorsArgs {
    #[command(subcommand)]
    verb: Option<ErrorsVerb>,
}

#[derive(Debug, Subcommand)]
enum ErrorsVerb {
    /// Every code, with who must act and whether a retry is safe (the default)
    List,
    /// The page of one code
    Explain {
        /// The code
        code: String,
    },
    /// The problems as OpenAPI components, for the description of your own service
    Openapi,
}

pub(crate) fn errors(args: ErrorsArgs, as_json: bool) -> Result<ExitCode> {
    match args.verb.unwrap_or(ErrorsVerb::List) {
        ErrorsVerb::List if as_json => print_json(&registry_json(ALL)),
        ErrorsVerb::List => {
            let rows = ALL.iter().map(|code| {
                let known = code.descriptor();
                [
                    known.code.to_owned(),
                    known.status.to_string(),
                    known.class.to_string(),
                    known.retryability.to_string(),
                    known.owner.to_string(),
                    known.title.to_owned(),
                ]
            });
            say!("{}", table(["code", "status", "class", "retry", "owner", "title"], rows));
        }
        ErrorsVerb::Explain { code } => {
            let code = find(&code)?;
            if as_json {
                print_json(&registry_json(&[code])["codes"][0]);
            } else {
                say!("{}", runbook(code));
            }
        }
        ErrorsVerb::Openapi => print_json(&components()),
    }
    Ok(ExitCode::SUCCESS)
}

fn find(text: &str) -> Result<Code> {
    let name = text.to_ascii_uppercase().replace('-', "_");
    ALL.iter().copied().find(|code| code.as_str() == name).ok_or_else(|| {
        let hint = suggestion(&name, ALL.iter().map(|code| code.as_str()));
        let hint =
            hint.map_or("`onefold errors` lists every code".to_owned(), |meant| format!("did you mean {meant}?"));
        Error::new(REQUEST_INVALID, format!("there is no code {text:?}")).hint(hint)
    })
}

/// A response for each code, and the schema they share.
fn components() -> Value {
    let mut responses = Map::new();
    for code in ALL {
        let known = code.descriptor();
        let example = json!({
            "type": format!("/errors/{}", code.kebab()),
            "title": known.title,
            "status": known.status,
            "detail": known.guide.summary,
            "next": known.guide.safe_action,
            "code": known.code,
            "retryable": code.retryable(false),
            "owner": known.owner,
        });
        let content = json!({ "schema": { "$ref": "#/components/schemas/Problem" }, "example": example });
        responses.insert(
            known.code.to_owned(),
            json!({ "description": known.title, "content": { "application/problem+json": content } }),
        );
    }
    let schema = json!({
        "type": "object",
        "required": ["type", "title", "status", "detail", "next", "code", "retryable", "owner"],
        "properties": {
            "type": { "type": "string" },
            "title": { "type": "string" },
            "status": { "type": "integer" },
            "detail": { "type": "string" },
            "next": { "type": "string" },
            "instance": { "type": "string" },
            "code": { "type": "string", "enum": ALL.iter().map(|code| code.as_str()).collect::<Vec<_>>() },
            "correlationId": { "type": "string" },
            "retryable": { "type": "boolean" },
            "owner": { "type": "string" },
            "violations": { "type": "array", "items": { "$ref": "#/components/schemas/Violation" } },
        },
    });
    let violation = json!({
        "type": "object",
        "required": ["path", "code", "message", "severity"],
        "properties": {
            "path": { "type": "string" },
            "code": { "type": "string" },
            "message": { "type": "string" },
            "severity": { "type": "string", "enum": ["ERROR", "WARNING"] },
        },
    });
    json!({ "components": { "schemas": { "Problem": schema, "Violation": violation }, "responses": responses } })
}
