//! Which route a request belongs to.

use std::sync::{Arc, OnceLock};

use axum::body::Body;
use axum::http::{HeaderName, Method, Request, header};
use axum::response::Response;
use onefold_config::Lookalikes;
use onefold_core::error::{ALL, Code, DECLARATION_INVALID};
use onefold_core::port::{BoxFuture, Store};
use onefold_core::{Error, Result};

use super::forward::Forward;
use super::path::Position;
use onefold_http::ErrorsBase;
use onefold_http::Identify;
use onefold_http::idempotent::{ForwardResult, Guard, PathValues};
use onefold_http::listen::TrustedProxies;

/// Sends a request on, once.
pub type Perform = Box<dyn FnOnce(Request<Body>) -> BoxFuture<'static, ForwardResult> + Send>;

/// What makes the requests of a route take hold once.
pub trait RequestGuard: Send + Sync + 'static {
    /// Answers a request; `perform` is called only where this request is the one that acts.
    fn handle(&self, request: Request<Body>, perform: Perform) -> BoxFuture<'_, Response>;
}

impl<S: Store> RequestGuard for Guard<S> {
    fn handle(&self, request: Request<Body>, perform: Perform) -> BoxFuture<'_, Response> {
        Box::pin(Guard::handle(self, request, perform))
    }
}

/// One route.
pub struct RouteEntry {
    /// Its name: metrics, log lines and operations carry it.
    pub name: Arc<str>,
    /// Which requests are its.
    pub pattern: Pattern,
    /// Where they go.
    pub forward: Arc<Forward>,
    /// Who calls.
    pub identify: Arc<dyn Identify>,
    /// The header that names the tenant, where a trusted proxy sends it.
    pub tenant_header: Option<HeaderName>,
    /// The header that carries the key.
    pub key_header: HeaderName,
    /// Headers with an underscore in their name that pass; all others of that sort are dropped.
    pub underscored_headers: Vec<HeaderName>,
    /// What makes them take hold once; none passes them on.
    pub guard: Option<Arc<dyn RequestGuard>>,
}

impl RouteEntry {
    /// Whether this header passes although its name has an underscore: somebody named it.
    pub(super) fn takes_underscored(&self, name: &HeaderName) -> bool {
        self.underscored_headers.contains(name) || self.key_header == *name || self.tenant_header.as_ref() == Some(name)
    }

    /// Whether a request is this route's to guard, or would be if its path were spelled as the route's.
    fn resembles(&self, method: &Method, segments: &[String]) -> bool {
        // Nothing of these is ever guarded.
        let safe = [Method::GET, Method::HEAD, Method::OPTIONS, Method::TRACE];
        self.guard.is_some() && !safe.contains(method) && self.pattern.resembles(method, segments)
    }
}

/// Every route, in order; the first that fits wins.
#[derive(Default)]
pub struct Table {
    entries: Vec<Arc<RouteEntry>>,
    otherwise: Option<(Arc<Forward>, Lookalikes)>,
    trusted: TrustedProxies,
    /// As it was configured; without it this gateway's own pages, where no route takes their paths.
    errors_base: Option<ErrorsBase>,
    derived_base: OnceLock<ErrorsBase>,
}

/// Where a request goes.
pub(super) enum RouteMatch {
    Route(Arc<RouteEntry>),
    Otherwise(Arc<Forward>),
    /// It would go to `otherwise`, but only its spelling is not that of the guarded route with this name.
    Lookalike(Arc<str>),
    /// The path is a route's, for these methods only.
    WrongMethod(Vec<Method>),
    Nowhere,
}

impl Table {
    /// These routes; names are given once.
    pub fn new(entries: Vec<RouteEntry>) -> Result<Self> {
        for (at, entry) in entries.iter().enumerate() {
            if entries.iter().take(at).any(|before| before.name == entry.name) {
                let what = format!("two routes are called {:?}", entry.name);
                return Err(
                    Error::new(DECLARATION_INVALID, what).hint("a key belongs to a route's name: give each its own")
                );
            }
        }
        Ok(Self { entries: entries.into_iter().map(Arc::new).collect(), ..Self::default() })
    }

    /// Passes on, without a guard, whatever no route is for.
    #[must_use]
    pub fn otherwise(mut self, forward: Arc<Forward>, lookalikes: Lookalikes) -> Self {
        self.otherwise = Some((forward, lookalikes));
        self
    }

    /// Says where the pages of error codes are.
    ///
    /// Without it they are at `/errors/` of this gateway, where no route and no `otherwise` takes those paths from it;
    /// else a problem's `type` is a name without a page.
    #[must_use]
    pub fn errors_at(mut self, base: Option<ErrorsBase>) -> Self {
        self.errors_base = base;
        self
    }

    /// What a problem's `type` begins with.
    pub fn errors_base(&self) -> &ErrorsBase {
        self.errors_base.as_ref().unwrap_or_else(|| {
            self.derived_base.get_or_init(|| {
                let taken = |code: &Code| {
                    let segments = ["errors".to_owned(), code.kebab()];
                    !matches!(self.find(&Method::GET, &segments), RouteMatch::Nowhere)
                };
                if ALL.iter().any(taken) { ErrorsBase::unresolvable() } else { ErrorsBase::default() }
            })
        })
    }

    /// Takes the word of these proxies about the client.
    #[must_use]
    pub fn trusted(mut self, trusted: TrustedProxies) -> Self {
        self.trusted = trusted;
        self
    }

    pub(super) fn proxies(&self) -> &TrustedProxies {
        &self.trusted
    }

    /// Headers that name a tenant on some route.
    pub(super) fn tenant_headers(&self) -> impl Iterator<Item = &HeaderName> {
        self.entries.iter().filter_map(|entry| entry.tenant_header.as_ref())
    }

    /// Whether some route reads this header: its key, its tenant, or who calls.
    pub(super) fn reads(&self, name: &HeaderName) -> bool {
        let of_route =
            |entry: &Arc<RouteEntry>| entry.key_header == *name || entry.tenant_header.as_ref() == Some(name);
        [header::AUTHORIZATION, header::COOKIE, header::HOST].contains(name) || self.entries.iter().any(of_route)
    }

    pub(super) fn find(&self, method: &Method, segments: &[String]) -> RouteMatch {
        let route = self.entries.iter().find(|entry| entry.pattern.fits(method, segments));
        match (route, &self.otherwise) {
            (Some(entry), _) => RouteMatch::Route(Arc::clone(entry)),
            (None, Some((forward, lookalikes))) => match self.lookalike(*lookalikes, method, segments) {
                Some(entry) => RouteMatch::Lookalike(Arc::clone(&entry.name)),
                None => RouteMatch::Otherwise(Arc::clone(forward)),
            },
            (None, None) => match self.methods(segments) {
                allowed if allowed.is_empty() => RouteMatch::Nowhere,
                allowed => RouteMatch::WrongMethod(allowed),
            },
        }
    }

    fn lookalike(&self, lookalikes: Lookalikes, method: &Method, segments: &[String]) -> Option<&Arc<RouteEntry>> {
        match lookalikes {
            Lookalikes::Refuse => self.entries.iter().find(|entry| entry.resembles(method, segments)),
            Lookalikes::Pass => None,
        }
    }

    /// The methods that routes of this path take.
    fn methods(&self, segments: &[String]) -> Vec<Method> {
        let mut methods: Vec<Method> = Vec::new();
        for pattern in self.entries.iter().map(|entry| &entry.pattern).filter(|pattern| pattern.is_path(segments)) {
            methods.extend(pattern.methods.iter().flatten().cloned());
        }
        methods.sort_unstable_by(|one, other| one.as_str().cmp(other.as_str()));
        methods.dedup();
        methods
    }
}

/// Methods and a path: `POST|PATCH /accounts/{id}/payments`, `* /files/*`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern {
    /// None for every method.
    methods: Option<Vec<Method>>,
    segments: Vec<Segment>,
    /// Whether more segments may follow.
    more: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Segment {
    Exactly(String),
    Any,
}

impl Pattern {
    /// Reads methods and path.
    pub fn parse(text: &str) -> Result<Self> {
        let wrong = |what: String| {
            Error::new(DECLARATION_INVALID, what)
                .hint("write \"POST /payments\", \"POST|PATCH /accounts/{id}\" or \"* /files/*\"")
        };
        let (methods, path) =
            text.split_once(' ').ok_or_else(|| wrong(format!("{text:?} is not a method and a path")))?;
        let methods = match methods {
            "*" => None,
            listed => Some(
                listed
                    .split('|')
                    .map(method)
                    .collect::<Option<Vec<_>>>()
                    .ok_or_else(|| wrong(format!("{listed:?} is not a list of methods")))?,
            ),
        };
        let (fixed, more) = match path.strip_suffix("/*") {
            Some("") => ("/", true),
            Some(fixed) => (fixed, true),
            None => (path, false),
        };
        let read = super::path::segments(fixed).filter(|_| !fixed.contains(['?', '*', '%']));
        let read = read.ok_or_else(|| wrong(format!("{path:?} is not a path")))?;
        let segments: Option<Vec<Segment>> = read.into_iter().map(segment).collect();
        let segments = segments.ok_or_else(|| wrong(format!("{path:?} has a segment that is half a {{name}}")))?;
        Ok(Self { methods, segments, more })
    }

    /// The first method that it takes; POST where it takes all.
    pub fn method(&self) -> Method {
        self.methods.iter().flatten().next().cloned().unwrap_or(Method::POST)
    }

    /// The one path that it takes; none where it takes several.
    pub fn only_path(&self) -> Option<String> {
        let named: Option<String> = self
            .segments
            .iter()
            .map(|segment| match segment {
                Segment::Exactly(exactly) => Some(format!("/{exactly}")),
                Segment::Any => None,
            })
            .collect();
        named.filter(|_| !self.more).map(|path| if path.is_empty() { "/".to_owned() } else { path })
    }

    /// The values where this pattern varies, as it was sent: each `{name}`, then the whole rest behind a `*`. The path
    /// is one that fits.
    pub(super) fn values(&self, path: &str) -> PathValues {
        let sent = super::path::raw(path);
        let (fixed, rest) = sent.split_at(self.segments.len().min(sent.len()));
        let varies = |(wanted, segment): (&Segment, &&str)| (*wanted == Segment::Any).then(|| (*segment).to_owned());
        let named = self.segments.iter().zip(fixed).filter_map(varies);
        PathValues(named.chain(self.more.then(|| rest.join("/"))).collect())
    }

    fn fits(&self, method: &Method, segments: &[String]) -> bool {
        self.takes(method) && self.is_path(segments)
    }

    fn takes(&self, method: &Method) -> bool {
        self.methods.as_ref().is_none_or(|methods| methods.contains(method))
    }

    fn is_path(&self, segments: &[String]) -> bool {
        self.matches(segments, |wanted, segment, _| wanted == segment)
    }

    /// Whether the path differs only in case, in blanks around a segment, or in a suffix behind a dot.
    fn resembles(&self, method: &Method, segments: &[String]) -> bool {
        self.takes(method) && self.matches(segments, super::path::looks_like)
    }

    fn matches(&self, segments: &[String], equal: impl Fn(&str, &str, Position) -> bool) -> bool {
        let long_enough = segments.len() == self.segments.len() || self.more && segments.len() > self.segments.len();
        let fits = |(at, (wanted, segment)): (usize, (&Segment, &String))| match wanted {
            Segment::Exactly(exactly) => {
                equal(exactly, segment, if at + 1 == segments.len() { Position::Last } else { Position::Within })
            }
            Segment::Any => true,
        };
        long_enough && self.segments.iter().zip(segments).enumerate().all(fits)
    }
}

fn method(text: &str) -> Option<Method> {
    let upper = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'-');
    Method::from_bytes(text.as_bytes()).ok().filter(|method| upper && *method != Method::CONNECT)
}

fn segment(text: String) -> Option<Segment> {
    match text.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) {
        Some(name) => (!name.is_empty() && !name.contains(['{', '}'])).then_some(Segment::Any),
        None => (!text.contains(['{', '}'])).then_some(Segment::Exactly(text)),
    }
}

#[cfg(test)]
mod tests {
    use super::super::path;
    use super::*;

    #[test]
    fn a_route_takes_the_requests_of_its_methods_and_path() {
        let rows = [
            ("POST /payments", "POST", "/payments", true),
            ("POST /payments", "POST", "/payments/", true),
            ("POST /payments", "POST", "/p%61yments", true),
            ("POST /payments", "GET", "/payments", false),
            ("POST /payments", "POST", "/payments/7", false),
            ("POST /payments", "POST", "/Payments", false),
            ("POST|PATCH /a/{id}/b", "PATCH", "/a/7/b", true),
            ("POST|PATCH /a/{id}/b", "PUT", "/a/7/b", false),
            ("POST|PATCH /a/{id}/b", "POST", "/a/b", false),
            ("* /files/*", "DELETE", "/files/a/b", true),
            ("* /files/*", "GET", "/files", true),
            ("* /files/*", "GET", "/filesystem", false),
            ("* /*", "GET", "/", true),
            ("POST /", "POST", "/", true),
        ];
        for (pattern, method, asked, fits) in rows {
            let method = Method::from_bytes(method.as_bytes()).unwrap();
            let segments = path::segments(asked).unwrap();
            assert_eq!(Pattern::parse(pattern).unwrap().fits(&method, &segments), fits, "{pattern} {method} {asked}");
        }
    }

    #[test]
    fn what_a_path_varies_in_is_told_as_it_was_sent() {
        let rows: [(&str, &str, &[&str]); 7] = [
            ("POST /payments", "/payments/", &[]),
            ("POST /accounts/{id}/payments", "/accounts/1/payments", &["1"]),
            ("POST /accounts/{id}/payments", "/accounts/%31/payments/", &["%31"]),
            ("POST /{a}/x/{b}", "/1/x/2", &["1", "2"]),
            ("* /files/*", "/files", &[""]),
            ("* /{of}/*", "/me/a/b/", &["me", "a/b"]),
            ("* /*", "/", &[""]),
        ];
        for (pattern, asked, values) in rows {
            assert_eq!(Pattern::parse(pattern).unwrap().values(asked).0, values, "{pattern} {asked}");
        }
    }

    #[test]
    fn a_route_of_one_path_names_it() {
        let rows =
            [("POST|PATCH /a/b", Some("/a/b")), ("POST /", Some("/")), ("POST /a/{id}", None), ("* /files/*", None)];
        for (pattern, path) in rows {
            let pattern = Pattern::parse(pattern).unwrap();
            assert_eq!((pattern.method(), pattern.only_path().as_deref()), (Method::POST, path));
        }
    }

    #[test]
    fn a_pattern_that_could_never_fit_is_refused() {
        for bad in [
            "/payments",
            "post /a",
            "POST a",
            "POST /a/{",
            "POST /a/{}",
            "POST /a//b",
            "POST /a?b",
            "POST /a*",
            "| /a",
            "CONNECT /a",
        ] {
            assert_eq!(Pattern::parse(bad).unwrap_err().code(), DECLARATION_INVALID, "{bad}");
        }
    }
}
