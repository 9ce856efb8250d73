//! Where a route's requests go: one service, at one or several addresses.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use axum::http::uri::{Authority, PathAndQuery, Scheme};
use axum::http::{HeaderValue, Uri};
use onefold_core::error::DECLARATION_INVALID;
use onefold_core::{Error, Result};

/// How long an address that could not be reached is asked last.
const REST: Duration = Duration::from_secs(5);

/// One address of a service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Upstream {
    scheme: Scheme,
    authority: Authority,
    host: HeaderValue,
    /// Comes before every path; without a slash at its end.
    base: String,
}

impl Upstream {
    /// Reads `http://HOST:PORT` or `https://HOST/BASE`; nothing of a request can change scheme, host or port.
    pub fn parse(text: &str) -> Result<Self> {
        Self::read(text).ok_or_else(|| {
            Error::new(
                DECLARATION_INVALID,
                format!("{:?} is not an upstream", text.split('@').next_back().unwrap_or(text)),
            )
            .hint("write \"http://127.0.0.1:8080\" or \"https://api.example/v1\", without user, query or fragment")
        })
    }

    fn read(text: &str) -> Option<Self> {
        let uri: Uri = text.parse().ok().filter(|_| !text.contains(['#', '@']))?;
        let parts = uri.into_parts();
        let scheme = parts.scheme.filter(|scheme| *scheme == Scheme::HTTP || *scheme == Scheme::HTTPS)?;
        let authority = parts.authority.filter(|authority| !authority.host().is_empty())?;
        let path = parts.path_and_query?;
        let host = HeaderValue::from_str(authority.as_str()).ok()?;
        let base = path.path().trim_end_matches('/').to_owned();
        path.query().is_none().then_some(Self { scheme, authority, host, base })
    }

    /// Whether it is on this machine.
    pub fn is_loopback(&self) -> bool {
        let host = self.authority.host().trim_start_matches('[').trim_end_matches(']');
        host == "localhost" || host.parse().is_ok_and(|address: std::net::IpAddr| address.is_loopback())
    }

    /// Whether both are the same server, whatever comes before their paths.
    pub fn is_same_server(&self, other: &Self) -> bool {
        let port = |of: &Self| of.authority.port_u16().unwrap_or(if of.scheme == Scheme::HTTPS { 443 } else { 80 });
        port(self) == port(other) && self.authority.host().eq_ignore_ascii_case(other.authority.host())
    }

    /// The address of a request's path and query here.
    pub(super) fn uri(&self, asked: &Uri) -> Option<Uri> {
        let asked = asked.path_and_query().map_or("/", PathAndQuery::as_str);
        let path = if self.base.is_empty() { asked.parse() } else { format!("{}{asked}", self.base).parse() };
        Uri::builder()
            .scheme(self.scheme.clone())
            .authority(self.authority.clone())
            .path_and_query(path.unwrap_or_else(|_| PathAndQuery::from_static("/")))
            .build()
            .ok()
    }

    /// The `Host` that it is called by.
    pub(super) fn host(&self) -> &HeaderValue {
        &self.host
    }
}

/// The addresses of one service, taken in turn.
#[derive(Debug)]
pub struct Upstreams {
    members: Vec<Member>,
    turn: AtomicUsize,
    began: Instant,
}

#[derive(Debug)]
struct Member {
    upstream: Upstream,
    /// Milliseconds after `began` when it could not be reached, plus one; zero while it can.
    failed: AtomicU64,
}

impl Upstreams {
    /// The addresses of one service; at least one.
    pub fn new(upstreams: Vec<Upstream>) -> Result<Self> {
        if upstreams.is_empty() {
            return Err(Error::new(DECLARATION_INVALID, "a route has no upstream").hint("name at least one"));
        }
        let members = upstreams.into_iter().map(|upstream| Member { upstream, failed: AtomicU64::new(0) }).collect();
        Ok(Self { members, turn: AtomicUsize::new(0), began: Instant::now() })
    }

    /// Every address once, the next in turn first, those that could not be reached lately last.
    pub(super) fn order(&self) -> Vec<usize> {
        let first = self.turn.fetch_add(1, Ordering::Relaxed) % self.members.len();
        let turn = (0..self.members.len()).map(|step| (first + step) % self.members.len());
        let (resting, fit): (Vec<usize>, Vec<usize>) = turn.partition(|at| self.rests(*at));
        fit.into_iter().chain(resting).collect()
    }

    pub(super) fn get(&self, at: usize) -> Option<&Upstream> {
        self.members.get(at).map(|member| &member.upstream)
    }

    /// Notes whether a connection could be made.
    pub(super) fn reached(&self, at: usize, reached: Reachable) {
        let Some(member) = self.members.get(at) else { return };
        let failed = match reached {
            Reachable::Yes => 0,
            Reachable::No => self.now() + 1,
        };
        member.failed.store(failed, Ordering::Relaxed);
    }

    fn rests(&self, at: usize) -> bool {
        let failed = self.members.get(at).map_or(0, |member| member.failed.load(Ordering::Relaxed));
        failed != 0 && u128::from(self.now() + 1 - failed.min(self.now() + 1)) < REST.as_millis()
    }

    fn now(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX - 1)
    }
}

/// Whether a connection could be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reachable {
    Yes,
    No,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_upstream_is_an_address_and_nothing_of_a_request_changes_it() {
        let upstream = Upstream::parse("http://10.0.0.7:8080/v1/").unwrap();
        let uri = upstream.uri(&"/payments?a=%2F&b".parse().unwrap()).unwrap();
        assert_eq!(uri, "http://10.0.0.7:8080/v1/payments?a=%2F&b");
        let elsewhere = upstream.uri(&"http://evil.example/payments".parse().unwrap()).unwrap();
        assert_eq!(elsewhere, "http://10.0.0.7:8080/v1/payments");
        for bad in ["10.0.0.7", "ftp://x/", "http://", "http://u:p@x/", "http://x/?q=1", "http://x/#a", "/x", ""] {
            assert!(Upstream::parse(bad).is_err(), "{bad}");
        }
        assert!(!Upstream::parse("http://u:hush@x/").unwrap_err().to_string().contains("hush"));
    }

    #[test]
    fn addresses_take_turns_and_one_that_fails_comes_last() {
        let upstreams =
            Upstreams::new(["http://a", "http://b", "http://c"].map(|text| Upstream::parse(text).unwrap()).to_vec())
                .unwrap();
        assert_eq!([upstreams.order(), upstreams.order()], [[0, 1, 2], [1, 2, 0]]);
        upstreams.reached(2, Reachable::No);
        assert_eq!(upstreams.order(), [0, 1, 2]);
        assert_eq!(upstreams.order(), [0, 1, 2]);
        upstreams.reached(2, Reachable::Yes);
        assert_eq!(upstreams.order(), [1, 2, 0]);
        assert!(Upstreams::new(Vec::new()).is_err());
    }
}
