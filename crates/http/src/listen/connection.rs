//! One client's connection within limits, whatever protocol it speaks: ours are few, and a client that is slow, silent or
//! mean must not keep one for ever.
//!
//! Only the connection ends. A call that takes hold once runs detached, to its end and its record.
//!
//! # Layout
//!
//! | file | what it does |
//! |---|---|
//! | `preface_timeout` | the first bytes of a connection come in time |
//! | `stall` | a write that does not get on ends the connection |
//! | `activity` | what is in flight, whose turn it is, and when a connection has been open long enough |
//! | `unread` | answers that say whether the client takes them |
//! | `drain` | an end that waits for what is in flight |

mod activity;
mod drain;
mod preface_timeout;
mod stall;
mod unread;

pub use activity::Activity;
pub(super) use drain::{Drain, DrainSignal};

use std::sync::Arc;
use std::time::Duration;

use axum::BoxError;
use axum::body::Body;
use axum::http::{Request, Response};
use hyper::body::Incoming;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer}; // tidy: allow(the name is hyper's)
use hyper_util::server::conn::auto::Builder;
use onefold_config::ConnectionLimits;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::Instant;

use activity::Due;
use preface_timeout::PrefaceTimeout;
use stall::StallGuard;
use unread::AnswerBody;

/// How often a silent HTTP/2 client is asked whether it is still there.
const KEEP_ALIVE: Duration = Duration::from_secs(20);

/// How long requests may go on when their connection has been open long enough; less where that is shorter itself.
const GRACE: Duration = Duration::from_mins(1);

/// Serves one connection until it ends, or has to.
pub(super) async fn serve<I, S>(stream: I, service: S, limits: ConnectionLimits, mut drain: DrainSignal)
where
    I: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    S: Service<Request<Incoming>, Response = Response<Body>> + Send + 'static,
    S::Future: Send + 'static,
    S::Error: Into<BoxError>,
{
    let activity = Arc::new(Activity::new(limits, Instant::now()));
    let stream = PrefaceTimeout::new(stream, limits.headers_within);
    let stream = TokioIo::new(StallGuard::new(stream, Arc::clone(&activity)));
    let noted = Arc::clone(&activity);
    let service = service_fn(move |mut request: Request<Incoming>| {
        let in_flight = noted.begin();
        request.extensions_mut().insert(Arc::clone(&noted));
        let answering = service.call(request);
        async move { answering.await.map(|response| response.map(|body| AnswerBody::new(body, in_flight))) }
    });
    let connection = builder(&limits).serve_connection_with_upgrades(stream, service).into_owned();
    tokio::pin!(connection);
    let mut look = tokio::time::interval(activity.looked_at_every());
    let mut closing = false;
    loop {
        tokio::select! {
            ended = connection.as_mut() => {
                // A client that hangs up or speaks nonsense ends its own connection only.
                if let Err(cause) = ended {
                    tracing::debug!(cause = %cause, "connection ended");
                }
                return;
            }
            () = drain.asked(), if !closing => {
                closing = true;
                connection.as_mut().graceful_shutdown();
            }
            now = look.tick() => match activity.due(now) {
                Due::Nothing => {}
                Due::Close if closing => {}
                Due::Close => {
                    closing = true;
                    connection.as_mut().graceful_shutdown();
                }
                Due::End(why) => {
                    tracing::debug!(why, "a connection was ended");
                    return;
                }
            }
        }
    }
}

fn builder(limits: &ConnectionLimits) -> Builder<TokioExecutor> {
    // tidy: allow(the name is hyper's)
    let mut builder = Builder::new(TokioExecutor::new()); // tidy: allow(the name is hyper's)
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.headers_within)
        .max_buf_size(usize::try_from(limits.headers_bytes_max).unwrap_or(usize::MAX).max(8 * 1024));
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_header_list_size(limits.headers_bytes_max)
        .max_concurrent_streams(limits.streams_max)
        .keep_alive_interval(KEEP_ALIVE)
        .keep_alive_timeout(limits.headers_within);
    builder
}
