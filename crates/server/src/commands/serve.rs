//! `onefold serve`: the ledger for any language.

use std::io::{IsTerminal as _, Write as _};
use std::process::ExitCode;
use std::sync::Arc;

use onefold_core::Result;

use crate::api_server::Server;
use crate::cli::Context;
use crate::config::{Config, quoted};
use crate::database::Creation;
use crate::table::{say, say_line};

/// What a server can be told.
#[derive(Debug, Default, clap::Args)]
#[command(
    after_help = "Examples:\n  onefold serve\n  onefold serve --listen 127.0.0.1:8080 --database sqlite:/var/lib/onefold/onefold.db\n  ONEFOLD_DATABASE=postgres://onefold:secret@db.internal/app onefold serve --schema onefold"
)]
pub(crate) struct ServeArgs {
    /// Where the API answers, such as 127.0.0.1:7070
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<String>,
    /// Where the gateway answers, such as 127.0.0.1:7080 or unix:PATH
    #[arg(long, value_name = "ADDRESS")]
    gateway_listen: Option<String>,
    /// Names that clients may call the server by, separated by commas
    #[arg(long, value_name = "NAMES")]
    hosts: Option<String>,
    /// `text` or `json` log lines
    #[arg(long, value_name = "FORMAT")]
    log_format: Option<String>,
    /// Bytes a request body may have
    #[arg(long, value_name = "BYTES")]
    body_bytes_max: Option<String>,
    /// Connections at once
    #[arg(long, value_name = "COUNT")]
    connections_max: Option<String>,
    /// PostgreSQL: connections to the database at most
    #[arg(long, value_name = "COUNT")]
    database_connections: Option<String>,
    /// How long a stopping server waits for requests in flight
    #[arg(long, value_name = "DURATION")]
    drain_for: Option<String>,
    /// How often expired leases are looked for
    #[arg(long, value_name = "DURATION")]
    sweep_every: Option<String>,
    /// How often retention is applied
    #[arg(long, value_name = "DURATION")]
    prune_every: Option<String>,
    /// A folder that pruned operations are written to first
    #[arg(long, value_name = "FOLDER")]
    archive: Option<String>,
    /// Create a ledger even in a file or schema that holds other tables
    #[arg(long)]
    into_existing: bool,
}

impl ServeArgs {
    pub(crate) fn flags(&self) -> Vec<(&'static str, String)> {
        let given = [
            ("listen", &self.listen),
            ("gateway_listen", &self.gateway_listen),
            ("hosts", &self.hosts),
            ("log_format", &self.log_format),
            ("body_bytes_max", &self.body_bytes_max),
            ("connections_max", &self.connections_max),
            ("database_connections", &self.database_connections),
            ("drain_for", &self.drain_for),
            ("sweep_every", &self.sweep_every),
            ("prune_every", &self.prune_every),
            ("archive", &self.archive),
        ];
        given.into_iter().filter_map(|(name, value)| Some((name, value.clone()?))).collect()
    }
}

/// Serves until a signal to stop.
pub(crate) async fn serve(context: &Context, args: &ServeArgs) -> Result<ExitCode> {
    let creation = Creation::by_flag(args.into_existing);
    let server = Server::bind(&context.config, creation, Arc::clone(&context.faults)).await?;
    let url = format!("http://{}", server.address);
    let gateway = server.gateway.clone();
    if context.json {
        say_line!("{}", started(&context.config, &url, gateway.as_deref()));
    } else {
        say!("{}", welcome(&context.config, &url, gateway.as_deref(), std::io::stdout().is_terminal()));
    }
    // The process that started it may be reading through a pipe, or may be gone.
    let _ = std::io::stdout().flush();
    server.serve().await?;
    Ok(ExitCode::SUCCESS)
}

/// How this program is called from a shell: by its name where that finds it, else by its path.
fn program() -> String {
    let Ok(me) = std::env::current_exe() else { return "onefold".to_owned() };
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).map(|folder| folder.join("onefold")).find(|file| file.is_file());
    if found.and_then(|file| file.canonicalize().ok()) == me.canonicalize().ok() {
        return "onefold".to_owned();
    }
    let here = std::env::current_dir().ok();
    let near = here.and_then(|here| me.strip_prefix(here).ok().map(|near| format!("./{}", near.display())));
    near.unwrap_or_else(|| me.display().to_string())
}

/// The start as a program reads it.
fn started(config: &Config, url: &str, gateway: Option<&str>) -> serde_json::Value {
    let mut started = serde_json::json!({ "url": url, "tokenFile": config.token_file, "ledger": config.ledger() });
    if let Some(gateway) = gateway {
        started["gateway"] = gateway.into();
    }
    started
}

fn welcome(config: &Config, url: &str, gateway: Option<&str>, terminal: bool) -> String {
    let gateway = gateway.map_or_else(String::new, |at| format!("  gateway {at}\n"));
    let file = config.token_file.display();
    let (me, flags) = (program(), config.flags_to_find_it());
    let here = std::env::current_dir().map(|here| quoted(&here.display().to_string())).unwrap_or_default();
    let quoted_file = quoted(&config.token_file.display().to_string());
    let set = config.variables_to_find_it();
    let set = if set.is_empty() { set } else { format!(", with {set} as here") };
    let token = match (&config.token, terminal) {
        (Some(_), _) => "from ONEFOLD_TOKEN".to_owned(),
        (None, true) => match crate::identity::read_token(&config.token_file) {
            Ok(token) => format!("{token}  (in {file})"),
            Err(_) => format!("in {file}"),
        },
        (None, false) => format!("in {file}"),
    };
    format!(
        "Onefold {version} serves {database}\n\
         \x20 API    {url}  (described at {url}/openapi.json)\n\
         \x20 token  {token}\n\
         {gateway}\
         \n\
         Try next, in another shell{set}:\n\
         \x20 cd {here}\n\
         \x20 curl -s {url}/v1/claims -H \"Authorization: Bearer $(cat {quoted_file})\" \\\n\
         \x20   --json '{{\"kind\": \"notice.issue\", \"id\": \"CASE-1:NOTICE\", \"attemptId\": \"'$(cat /proc/sys/kernel/random/uuid)'\",\n\
         \x20           \"request\": {{\"case\": \"CASE-1\"}}, \"declare\": {{\"class\": \"external-command\"}}}}'\n\
         \x20 {me} run{flags} --id hello -- echo hello     # run any command once\n\
         \x20 {me} operations{flags}                       # what happened\n\
         \x20 {me} incidents{flags}                        # what needs a person\n\
         \x20 {me} demo                             # see the promise\n",
        version = env!("CARGO_PKG_VERSION"),
        database = config.database,
    )
}
