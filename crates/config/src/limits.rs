//! What a listener takes on, and the files that its TLS needs.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::http::{check_longer_than_zero, check_number};
use crate::mistake::Mistake;
use crate::setting::declaration;
use crate::values::required_duration;

declaration! {
    /// What a listener takes on.
    [derive(Copy), serde(default)]
    pub struct ConnectionLimits {
        /// Open connections; more wait.
        ["number", "1024"]
        pub connections_max: usize = 1024,
        /// How long a handshake, and then the head of a request, may take; HTTP/1.1 waits as long for the next request.
        ["duration", "\"10s\""]
        #[serde(with = "required_duration")]
        pub headers_within: Duration = Duration::from_secs(10),
        /// Bytes of the largest head of a request; at least 8,192.
        ["number", "32768"]
        pub headers_bytes_max: u32 = 32 * 1024,
        /// Requests at once on one HTTP/2 connection.
        ["number", "100"]
        pub streams_max: u32 = 100,
        /// How long a connection stays open without a request in flight, even if it answers PINGs; also how long a web socket may be silent.
        ["duration", "\"2m\""]
        #[serde(with = "required_duration")]
        pub idle_for: Duration = Duration::from_mins(2),
        /// How long a client may read nothing while answers wait for it; then its connection ends.
        ["duration", "\"30s\""]
        #[serde(with = "required_duration")]
        pub stalled_for: Duration = Duration::from_secs(30),
        /// How long a connection accepts requests; those in flight then get one more minute. Web sockets and streams end with it.
        ["duration", "\"1h\""]
        #[serde(with = "required_duration")]
        pub connection_for: Duration = Duration::from_hours(1),
    }
}

impl ConnectionLimits {
    /// Refuses limits that let nobody in, or that do not limit anything.
    pub fn check(&self) -> Result<(), Mistake> {
        check_number("connections_max", self.connections_max, 1..=100_000)?;
        check_number("headers_bytes_max", self.headers_bytes_max, 8_192..=1_048_576)?;
        check_number("streams_max", self.streams_max, 1..=10_000)?;
        check_longer_than_zero("headers_within", Some(self.headers_within))?;
        check_longer_than_zero("idle_for", Some(self.idle_for))?;
        check_longer_than_zero("stalled_for", Some(self.stalled_for))?;
        check_longer_than_zero("connection_for", Some(self.connection_for))
    }
}

declaration! {
    /// The files that TLS needs, all in PEM.
    [serde(default)]
    pub struct TlsFiles {
        /// Our certificate, and those between it and its root.
        ["file", "required"]
        pub certificate: PathBuf,
        /// Its private key.
        ["file", "required"]
        pub key: PathBuf,
        /// Who vouches for clients; with it, every client must present a certificate.
        ["file", "none"]
        #[serde(skip_serializing_if = "Option::is_none")]
        pub client_ca: Option<PathBuf>,
    }
}

impl TlsFiles {
    /// Refuses to encrypt without a certificate or its key.
    pub fn check(&self) -> Result<(), Mistake> {
        if self.certificate.as_os_str().is_empty() || self.key.as_os_str().is_empty() {
            return Err(Mistake::missing(
                "TLS needs a certificate and its key",
                "write tls = { certificate = \"a.pem\", key = \"a.key\" }",
            ));
        }
        Ok(())
    }

    /// The same with its relative paths beginning in this folder.
    #[must_use]
    pub fn in_folder(self, folder: &Path) -> Self {
        Self {
            certificate: folder.join(self.certificate),
            key: folder.join(self.key),
            client_ca: self.client_ca.map(|file| folder.join(file)),
        }
    }
}
