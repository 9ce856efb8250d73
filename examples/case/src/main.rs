//! Serves cases on this machine until it is told to stop.
//!
//! `onefold-example-case DATABASE [PORT] [BUSY_WAIT_MS]`; the address is the one line on standard output.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use onefold_example_case::http::routes;
use onefold_example_case::submit::Cases;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

type Failed = Box<dyn std::error::Error>;

/// How long a write transaction of another process is waited for, unless told otherwise.
const BUSY_WAIT_MS: u64 = 2_000;

struct Args {
    database: PathBuf,
    port: u16,
    busy_wait: Duration,
}

fn args() -> Result<Args, Failed> {
    let mut given = std::env::args().skip(1);
    let database = given.next().ok_or("name the database file")?.into();
    let port = given.next().map_or(Ok(0), |text| text.parse())?;
    let busy_wait = given.next().map_or(Ok(BUSY_WAIT_MS), |text| text.parse())?;
    Ok(Args { database, port, busy_wait: Duration::from_millis(busy_wait) })
}

#[tokio::main]
async fn main() -> Result<(), Failed> {
    tracing_subscriber::fmt().with_writer(std::io::stderr).init();
    let args = args()?;
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    let cases = Cases::open(&args.database, args.busy_wait).await?;
    let listener = TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, args.port))).await?;
    println!("http://{}", listener.local_addr()?);
    let stop = async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    };
    axum::serve(listener, routes(cases.clone())?).with_graceful_shutdown(stop).await?;
    cases.close().await;
    Ok(())
}
