//! The API's description, held against the OpenAPI specification by somebody else's validator.

use crate::cargo;
use crate::python::Tool;
use crate::step::{Context, Ready, Tally};

const VALIDATOR: Tool = Tool { package: "openapi-spec-validator==0.7.2", folder: "openapi-venv" };

const DOCUMENT: &str = "docs/openapi.json";

pub(crate) fn ready(context: &Context) -> Ready {
    VALIDATOR.ready(context)
}

pub(crate) fn run(context: &Context) -> Tally {
    Tally::of_one(VALIDATOR.program(&context.root, "python").and_then(|mut command| {
        command.current_dir(&context.root).args(["-m", "openapi_spec_validator"]);
        command.args(["--schema", "3.1", "--errors", "all", DOCUMENT]);
        cargo::pass_through(&mut command).map_err(|why| format!("{DOCUMENT} is not valid OpenAPI 3.1: {why}"))
    }))
}
