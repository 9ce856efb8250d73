//! Which requests are a route's, where they go, and who calls.

use std::path::{Path, PathBuf};
use std::time::Duration;

use onefold_core::Error;
use onefold_core::error::DECLARATION_INVALID;

use crate::caller::CallerDeclaration;
use crate::http::{check_headers, check_longer_than_zero, check_optional_header};
use crate::mistake::Mistake;
use crate::setting::declaration;
use crate::values::{duration, one_or_more};

declaration! {
    /// Which requests are a route's, where they go, and who calls.
    [serde(default)]
    pub struct ForwardDeclaration {
        /// The operation's kind; the name in metrics, log lines and keys.
        ["text", "required"]
        pub name: String,
        /// Methods and path: `POST /payments`, `POST\|PATCH /accounts/{id}`, `* /files/*`. `{name}` is one segment.
        ["text", "required"]
        pub r#match: String,
        /// `http://HOST:PORT`, `https://HOST/BASE`, or a list of them that take turns. No part of a request can change scheme, host or port.
        ["address, or a list of them", "required"]
        #[serde(with = "one_or_more")]
        pub upstream: Vec<String>,
        /// Who calls: [see there](gateway.md#who-calls).
        ["`\"anonymous\"`, `\"certificate\"`, `{ jwt = … }` or `{ auth = … }`", "required"]
        pub caller: Option<CallerDeclaration>,
        /// The header that names the tenant, believed from `trusted_proxies` only; a token's own tenant wins.
        ["header", "none"]
        #[serde(skip_serializing_if = "Option::is_none")]
        pub tenant_header: Option<String>,
        /// Headers with an underscore in their name that pass; [all others are dropped](gateway.md#what-is-refused-dropped-or-ended).
        ["list of headers", "[]"]
        pub underscored_headers: Vec<String>,
        /// `{ header = "Authorization", file = "provider.key" }`: the header's whole value is read from the file at start and on reload. It is sent to the upstream in place of the client's header, and with `ask` and `void`.
        ["table", "none"]
        #[serde(skip_serializing_if = "Option::is_none")]
        pub credential: Option<CredentialDeclaration>,
        /// How long the upstream may take to send the head of its answer; at most `deadline`.
        ["duration", "`deadline`"]
        #[serde(with = "duration", skip_serializing_if = "Option::is_none")]
        pub timeout: Option<Duration>,
        /// Name, connection and handshake together.
        ["duration", "`\"5s\"`, or half of `timeout` if that is shorter"]
        #[serde(with = "duration", skip_serializing_if = "Option::is_none")]
        pub connect_timeout: Option<Duration>,
        /// The upstream sees the client's `Host`; HTTP/1.1 only.
        ["true or false", "false"]
        pub preserve_host: bool,
        /// `true`: HTTP/2 only, also without TLS (gRPC); `false`: HTTP/1.1 only.
        ["true or false", "negotiated"]
        #[serde(skip_serializing_if = "Option::is_none")]
        pub upstream_http2: Option<bool>,
        /// Certificates (PEM) that the upstream's is checked against.
        ["file", "the system's"]
        #[serde(skip_serializing_if = "Option::is_none")]
        pub upstream_ca: Option<PathBuf>,
    }
}

declaration! {
    /// What the upstream knows us by.
    [serde(default)]
    pub struct CredentialDeclaration {
        /// The header.
        ["header", "\"Authorization\""]
        pub header: String = "Authorization".to_owned(),
        /// Holds the header's whole value.
        ["file", "required"]
        pub file: PathBuf,
    }
}

impl ForwardDeclaration {
    /// How long connecting may take unless a route says otherwise.
    pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

    /// Refuses what cannot be sent on.
    pub(crate) fn check(&self) -> Result<(), Mistake> {
        if self.r#match.is_empty() {
            return Err(Mistake::missing(
                "`match` is missing: which requests does it take?",
                "add match = \"POST /payments\"",
            ));
        }
        if self.upstream.is_empty() {
            return Err(Mistake::missing(
                "`upstream` is missing: where do its requests go?",
                "add upstream = \"http://127.0.0.1:8080\"",
            ));
        }
        self.check_caller()?;
        check_headers("underscored_headers", &self.underscored_headers, has_underscore)?;
        if let Some(CredentialDeclaration { header, file }) = &self.credential {
            check_optional_header("credential.header", Some(header))?;
            if file.as_os_str().is_empty() {
                let hint = "add file = \"provider.key\", which holds the header's whole value";
                return Err(Mistake::wrong("credential", "there is no file to read it from", hint));
            }
        }
        if self.preserve_host && self.upstream_http2 == Some(true) {
            let what = "HTTP/2 names the upstream itself, so the client's host cannot be preserved";
            return Err(Mistake::wrong("upstream_http2", what, "leave out `preserve_host` or `upstream_http2`"));
        }
        check_longer_than_zero("timeout", self.timeout)?;
        check_longer_than_zero("connect_timeout", self.connect_timeout)
    }

    fn check_caller(&self) -> Result<(), Mistake> {
        let caller = self.caller.as_ref().ok_or_else(|| {
            let hint = "write caller = \"anonymous\", \"certificate\", { jwt = … } or { auth = … }";
            Mistake::missing("`caller` is missing: who calls it?", hint)
        })?;
        caller.check().map_err(|mistake| mistake.within("caller"))?;
        check_optional_header("tenant_header", self.tenant_header.as_deref())?;
        if self.tenant_header.is_some() && *caller == CallerDeclaration::Anonymous {
            let hint = "leave it out, or say who calls";
            return Err(Mistake::wrong("tenant_header", "an anonymous caller has no tenant", hint));
        }
        Ok(())
    }

    /// Refuses times that leave none for the answer, where one attempt may take `deadline`.
    pub(crate) fn check_times(&self, deadline: Duration) -> Result<(), Mistake> {
        if self.timeout.is_some_and(|timeout| timeout > deadline) {
            return Err(Mistake::wrong(
                "timeout",
                "the timeout is longer than the deadline",
                "raise `deadline` above it",
            ));
        }
        if self.connect_timeout.is_some_and(|connect| connect >= self.timeout_within(deadline)) {
            let what = "connecting may take as long as the whole answer";
            return Err(Mistake::wrong("connect_timeout", what, "make `connect_timeout` shorter than `timeout`"));
        }
        Ok(())
    }

    /// How long the head of an answer may take, where one attempt may take `deadline`.
    pub fn timeout_within(&self, deadline: Duration) -> Duration {
        self.timeout.unwrap_or(deadline)
    }

    /// How long connecting may take, where one attempt may take `deadline`. Time is left for the answer.
    pub fn connect_timeout_within(&self, deadline: Duration) -> Duration {
        self.connect_timeout.unwrap_or_else(|| Self::CONNECT_TIMEOUT.min(self.timeout_within(deadline) / 2))
    }

    /// The same with its relative paths beginning in this folder.
    #[must_use]
    pub(crate) fn in_folder(mut self, folder: &Path) -> Self {
        self.caller = self.caller.map(|caller| caller.in_folder(folder));
        self.upstream_ca = self.upstream_ca.map(|file| folder.join(file));
        if let Some(credential) = &mut self.credential {
            credential.file = folder.join(&credential.file);
        }
        self
    }
}

fn has_underscore(name: &str) -> Result<(), Error> {
    if name.contains('_') {
        return Ok(());
    }
    let what = format!("{name} has no underscore and passes anyway");
    Err(Error::new(DECLARATION_INVALID, what).hint("leave it out"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_that_the_guide_shows_are_those_that_hold() {
        crate::setting::tests::shown_defaults_hold::<ForwardDeclaration>(ForwardDeclaration::SETTINGS);
        crate::setting::tests::shown_defaults_hold::<CredentialDeclaration>(CredentialDeclaration::SETTINGS);
    }

    #[test]
    fn connecting_takes_less_than_the_answer() {
        let seconds = Duration::from_secs;
        let rows = [(None, None, 5_000), (Some(4), None, 2_000), (Some(4), Some(3), 3_000)];
        for (timeout, connect, milliseconds) in rows {
            let forward = ForwardDeclaration {
                timeout: timeout.map(seconds),
                connect_timeout: connect.map(seconds),
                ..ForwardDeclaration::default()
            };
            forward.check_times(seconds(30)).unwrap();
            assert_eq!(forward.connect_timeout_within(seconds(30)), Duration::from_millis(milliseconds));
        }
    }
}
