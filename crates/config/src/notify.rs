//! `[notify]`: who is told of incidents.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::http::WebAddress;
use crate::mistake::Mistake;
use crate::setting::declaration;
use crate::values::required_duration;

declaration! {
    /// Who is told of incidents.
    [serde(default)]
    pub struct NotifyDeclaration {
        /// Where messages are sent: `https`, or `http` on this machine.
        ["address", "required"]
        pub webhook: String,
        /// Holds the secret that signs them.
        ["file", "required"]
        pub secret_file: PathBuf,
        /// One message a cause in this time; the next one has what came meanwhile.
        ["duration", "\"1m\""]
        #[serde(with = "required_duration")]
        pub group_for: Duration = Duration::from_mins(1),
        /// Messages in a minute, whatever their cause.
        ["number", "60"]
        pub messages_per_minute_max: u32 = 60,
    }
}

impl NotifyDeclaration {
    /// Refuses a declaration that could not send anything.
    pub fn check(&self) -> Result<(), Mistake> {
        if self.webhook.is_empty() {
            return Err(Mistake::missing(
                "[notify] has no `webhook`, so messages have no receiver",
                "write webhook = \"https://HOST/PATH\"",
            ));
        }
        // On the way to another machine nothing may be read. A password in an address ends up in logs; the signature
        // is what a receiver checks.
        let address = WebAddress::parse(&self.webhook);
        if !address.is_some_and(|address| address.encrypted || address.is_loopback()) {
            // Without its text: it may hold a password.
            return Err(Mistake::wrong(
                "webhook",
                "messages may not be sent to this address",
                "write \"https://HOST/PATH\" without a user, or \"http://127.0.0.1:PORT/PATH\" for a receiver on this \
                 machine",
            ));
        }
        if self.secret_file.as_os_str().is_empty() {
            return Err(Mistake::missing(
                "[notify] has no secret to sign messages with",
                "write secret_file = \"notify.secret\", a file with the secret that the receiver knows too",
            ));
        }
        if self.messages_per_minute_max == 0 {
            return Err(Mistake::wrong(
                "messages_per_minute_max",
                "with 0 messages a minute nothing would be sent",
                "write at least 1, or leave [notify] out",
            ));
        }
        Ok(())
    }

    /// The same with its relative paths beginning in this folder.
    #[must_use]
    pub fn in_folder(mut self, folder: &Path) -> Self {
        self.secret_file = folder.join(self.secret_file);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_that_the_guide_shows_are_those_that_hold() {
        crate::setting::tests::shown_defaults_hold::<NotifyDeclaration>(NotifyDeclaration::SETTINGS);
    }

    #[test]
    fn a_webhook_is_https_or_on_this_machine() {
        let to = |webhook: &str| {
            let secret_file = "hook.secret".into();
            NotifyDeclaration { webhook: webhook.to_owned(), secret_file, ..NotifyDeclaration::default() }.check()
        };
        for good in ["https://ops.example.com/hook", "http://127.0.0.1:9/x", "http://localhost:9/x", "http://[::1]:9/"]
        {
            assert!(to(good).is_ok(), "{good}");
        }
        for bad in
            ["", "ops", "/hook", "http://ops.example.com/hook", "ftp://x/", "https://me:hush@ops/", "http://10.0.0.1/"]
        {
            assert!(to(bad).is_err(), "{bad}");
        }
    }
}
