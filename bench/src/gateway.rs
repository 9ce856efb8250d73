//! Our gateway in a process of its own, before the trivial upstream, with the embedded durable ledger.

use std::io::BufRead as _;
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::Arc;

use onefold::store::NoFaults;

use crate::load::Target;

/// The first argument of the process that is the gateway.
const GATEWAY: &str = "--gateway";
/// What its address comes after.
const SAYS: &str = "\"gateway\":\"";

/// Becomes the gateway, if this process was started as one.
pub fn serve_if_asked() -> Option<ExitCode> {
    let mut args = std::env::args_os().skip(1);
    if args.next()? != GATEWAY {
        return None;
    }
    let line = ["onefold", "serve", "--listen", "127.0.0.1:0", "--json", "--log", "error", "--config"];
    let line = line.into_iter().map(Into::into).chain(args);
    Some(onefold_server::run_with(line, Arc::new(NoFaults)))
}

/// The gateway, running.
pub struct Gateway {
    child: Child,
    address: String,
}

impl Gateway {
    /// Starts this program again, as a gateway on a database of its own.
    pub fn start(folder: &Path, upstream: &str) -> Self {
        let config = folder.join("gateway.toml");
        std::fs::write(&config, configuration(folder, upstream)).expect("a file");
        let program = std::env::current_exe().expect("this program has a name");
        let mut child =
            Command::new(program).arg(GATEWAY).arg(&config).stdout(Stdio::piped()).spawn().expect("the gateway starts");
        let mut line = String::new();
        let stdout = child.stdout.as_mut().expect("a pipe");
        std::io::BufReader::new(stdout).read_line(&mut line).expect("the gateway says where it is");
        let address = said(&line).unwrap_or_else(|| panic!("no address of a gateway: {line}"));
        Self { child, address }
    }

    /// Where its callers go.
    pub fn target(&self) -> Target {
        Target { address: self.address.clone(), path: "/pay" }
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn configuration(folder: &Path, upstream: &str) -> String {
    let database = folder.join("gateway.db");
    format!(
        "database = \"sqlite:{}\"\ngateway_listen = \"127.0.0.1:0\"\n\n\
         [[route]]\nname = \"pay\"\nmatch = \"POST /pay\"\nupstream = \"http://{upstream}\"\n\
         class = \"external-command\"\nkey = \"required\"\ncaller = \"anonymous\"\nanonymous_replay = true\n",
        database.display()
    )
}

/// The gateway's address in what the server says when it is up.
fn said(line: &str) -> Option<String> {
    let rest = &line[line.find(SAYS)? + SAYS.len()..];
    Some(rest[..rest.find('"')?].trim_start_matches("http://").to_owned())
}
