//! `onefold gateway try`: a route's promise, seen at a running gateway.

mod counter;
mod judge;
mod other_body;
mod steps;
mod wire;

use std::io::Read as _;
use std::path::Path;
use std::process::ExitCode;

use axum::http::{HeaderName, HeaderValue};
use bytes::Bytes;
use onefold_config::{CallerDeclaration, suggestion};
use onefold_core::error::{CONFIGURATION_INVALID, REQUEST_INVALID, SERVER_UNREACHABLE};
use onefold_core::{Error, Result};
use onefold_http::idempotent::header_name;
use onefold_http::listen::ListenAt;
use serde_json::json;

use crate::cli::Context;
use crate::exit::Exit;
use crate::gateway::CheckedRoute;
use crate::table::{print_json, say, say_line, table};
use counter::Counter;
use judge::{Route, Step, Verdict};
use steps::Trial;
use wire::{Gateway, Order};

/// What to do with a gateway.
#[derive(Debug, clap::Args)]
pub(crate) struct GatewayArgs {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    /// Send a route's request once, again, eight times at once, cut off, and changed, and see what is performed
    Try(TryArgs),
}

/// Which request is tried.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  onefold gateway try pay --body '{\"amount\": 4200}' --effects http://127.0.0.1:8181/stats#/payments\n  onefold gateway try pay --path /accounts/7/payments --body payment.json --yes\n\nReal requests go to the upstream: up to ten take hold if the promises are kept.\nExit codes: 0 held, 1 broken, 79 not shown."
)]
struct TryArgs {
    /// The route's name in the configuration
    route: String,
    /// The body: a file, `-` for standard input, or the text itself
    #[arg(long, value_name = "FILE|-|TEXT", default_value = "{}", allow_hyphen_values = true)]
    body: String,
    /// The path and query, if the route takes several paths
    #[arg(long)]
    path: Option<String>,
    /// A further header; may be given again
    #[arg(long = "header", value_name = "NAME: VALUE")]
    headers: Vec<String>,
    /// Where the gateway is; by default where the configuration has it listen
    #[arg(long, value_name = "URL")]
    url: Option<String>,
    /// Where the upstream says how many effects it had: a number, or `#/place` in JSON. Without it effects are not counted
    #[arg(long, value_name = "URL")]
    effects: Option<String>,
    /// Send real requests to an upstream that is not on this machine
    #[arg(long)]
    yes: bool,
}

/// Carries out a verb.
pub(crate) async fn gateway(context: &Context, args: GatewayArgs) -> Result<ExitCode> {
    match args.verb {
        Verb::Try(args) => Box::pin(try_route(context, args)).await,
    }
}

async fn try_route(context: &Context, args: TryArgs) -> Result<ExitCode> {
    let route = find(context, &args.route)?;
    if !args.yes && !route.upstreams.iter().all(onefold_gateway::Upstream::is_loopback) {
        return Err(Error::new(
            REQUEST_INVALID,
            "this performs real requests on an upstream that is not on this machine",
        )
        .hint("give --yes if up to ten of them may take hold there"));
    }
    let gateway = Gateway::at(&address(context, args.url.as_deref())?)?;
    let order = Order {
        method: route.pattern.method(),
        path: path(route, args.path)?,
        key_header: header_name("header", &route.declared.guard.header)?,
        headers: args.headers.iter().map(|text| header(text)).collect::<Result<_>>()?,
        body: body(&args.body)?,
    };
    let counter = args.effects.as_deref().map(Counter::at).transpose()?;
    gateway.reach().await.map_err(|cause| {
        Error::new(SERVER_UNREACHABLE, format!("no gateway answers at {}", gateway.address()))
            .hint("start it with `onefold serve`, or say where it is with --url")
            .caused_by(cause)
    })?;
    if !context.json {
        say_line!("Real requests go through {} to the upstream of {:?}.\n", gateway.address(), args.route);
    }
    let trial = Trial {
        gateway: &gateway,
        order: &order,
        route: &judged(route),
        compared: &route.kind.terms.fingerprint,
        counter: counter.as_ref(),
    };
    let steps = trial.run().await?;
    Ok(show(context, &args.route, &steps, counter.is_some()))
}

fn find<'a>(context: &'a Context, name: &str) -> Result<&'a CheckedRoute> {
    let routes = context.config.gateway.as_ref().map_or(&[][..], |gateway| &gateway.routes);
    let names = || routes.iter().map(CheckedRoute::name);
    routes.iter().find(|route| route.name() == name).ok_or_else(|| {
        let hint = suggestion(name, names()).map_or_else(
            || match names().collect::<Vec<_>>().join(", ") {
                none if none.is_empty() => "the configuration has no [[route]]; name its file with --config".to_owned(),
                some => format!("the routes are {some}"),
            },
            |meant| format!("did you mean `{meant}`?"),
        );
        Error::new(REQUEST_INVALID, format!("there is no route {name:?}")).hint(hint)
    })
}

fn address(context: &Context, url: Option<&str>) -> Result<String> {
    match (url, &context.config.gateway_listen) {
        (Some(url), _) => Ok(url.to_owned()),
        (None, ListenAt::Tcp(address)) => Ok(format!("http://{address}")),
        (None, ListenAt::Unix(_)) => {
            Err(Error::new(CONFIGURATION_INVALID, "the gateway listens on a Unix socket, which is not tried from here")
                .hint("say with --url where it can be reached over TCP"))
        }
    }
}

fn path(route: &CheckedRoute, given: Option<String>) -> Result<String> {
    given.or_else(|| route.pattern.only_path()).ok_or_else(|| {
        Error::new(REQUEST_INVALID, "the route takes several paths").hint("say with --path which one is tried")
    })
}

fn header(text: &str) -> Result<(HeaderName, HeaderValue)> {
    let read = text.split_once(':').and_then(|(name, value)| {
        Some((HeaderName::try_from(name.trim()).ok()?, HeaderValue::try_from(value.trim()).ok()?))
    });
    read.ok_or_else(|| {
        Error::new(REQUEST_INVALID, "a header is a name and a value").hint("write --header 'Name: value'")
    })
}

/// A file where there is one of this name, else the text itself.
fn body(given: &str) -> Result<Bytes> {
    let read = if given == "-" {
        let mut read = Vec::new();
        std::io::stdin().read_to_end(&mut read).map(|_| read)
    } else if Path::new(given).is_file() {
        std::fs::read(given)
    } else {
        Ok(given.as_bytes().to_vec())
    };
    read.map(Bytes::from)
        .map_err(|cause| Error::new(REQUEST_INVALID, format!("{given}: the body cannot be read")).caused_by(cause))
}

/// What the route's declaration says of its answers.
fn judged(route: &CheckedRoute) -> Route {
    let guard = &route.declared.guard;
    let anonymous = route.declared.forward.caller == Some(CallerDeclaration::Anonymous);
    Route {
        reused: (guard.reused.status, guard.reused.code.as_str().to_owned()),
        answer_bytes_max: guard.answer_bytes_max,
        replay_status: guard.replay_status,
        hides: anonymous && !guard.anonymous_replay,
    }
}

fn show(context: &Context, route: &str, steps: &[Step], counted: bool) -> ExitCode {
    let first = |verdict| steps.iter().find(|step| step.verdict == verdict);
    let (verdict, why) = match (first(Verdict::Broken), first(Verdict::NotShown)) {
        (Some(step), _) => (Verdict::Broken, Some(step)),
        (None, Some(step)) => (Verdict::NotShown, Some(step)),
        (None, None) => (Verdict::Held, None),
    };
    if context.json {
        let steps: Vec<_> = steps.iter().map(Step::json).collect();
        print_json(&json!({
            "route": route,
            "verdict": verdict.as_str(),
            "held": verdict == Verdict::Held,
            "effectsCounted": counted,
            "steps": steps,
        }));
    } else {
        let head = ["step", "requests", "statuses", "replayed", "distinct answers", "effects", "what it shows"];
        say!("{}", table(head, steps.iter().map(Step::row)));
        let at = why.map(|step| format!("{}: {}", step.name, step.what)).unwrap_or_default();
        match (verdict, counted) {
            (Verdict::Held, true) => say_line!("\nThe promises held, and the upstream counted one effect a key."),
            (Verdict::Held, false) => say_line!(
                "\nThe answers kept the promises. Effects at the upstream were not counted: --effects URL counts them."
            ),
            (Verdict::Broken, _) => say_line!("\nA promise was broken. {at}."),
            (Verdict::NotShown, _) => say_line!("\nNothing was shown. {at}."),
        }
    }
    match verdict {
        Verdict::Held => Exit::Done,
        Verdict::Broken => Exit::Refused,
        Verdict::NotShown => Exit::Unknown,
    }
    .into()
}
