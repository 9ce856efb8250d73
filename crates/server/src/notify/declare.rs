//! `[notify]`: whom to tell, and the secret that signs.

use std::path::{Path, PathBuf};
use std::time::Duration;

use onefold_core::declare::Place;
use onefold_core::error::CONFIGURATION_INVALID;
use onefold_core::time::parse_duration;
use onefold_core::{Error, Result};
use serde::Deserialize;
use serde_spanned::Spanned;

/// Whom to tell of incidents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DeclaredNotify {
    /// Where messages are sent: `https`, or `http` on this machine.
    pub(crate) webhook: hyper::Uri,
    /// The file that holds the secret which signs them.
    pub(crate) secret_file: PathBuf,
    /// One message a cause in this time; what comes meanwhile is in the next one.
    pub(crate) group_for: Duration,
    /// Messages in a minute at most, whatever their cause.
    pub(crate) messages_per_minute_max: u32,
}

#[derive(Deserialize)]
struct Whole {
    notify: Option<Spanned<NotifyText>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NotifyText {
    webhook: Spanned<String>,
    secret_file: Spanned<PathBuf>,
    #[serde(default)]
    group_for: Option<Spanned<String>>,
    #[serde(default)]
    messages_per_minute_max: Option<Spanned<u32>>,
}

/// What a file declares, if it declares anything.
pub(crate) fn read(file: &str, text: &str) -> Result<Option<DeclaredNotify>> {
    let place = Place::new(file, text);
    let wrong = |at: std::ops::Range<usize>, what: &str, hint: &str| {
        Error::new(CONFIGURATION_INVALID, place.show(at, what)).hint(hint)
    };
    let whole: Whole = toml::from_str(text).map_err(|cause| {
        let hint = "[notify] has webhook, secret_file, group_for and messages_per_minute_max";
        wrong(cause.span().unwrap_or(0..0), cause.message(), hint)
    })?;
    let Some(notify) = whole.notify.map(Spanned::into_inner) else { return Ok(None) };
    let webhook = address(notify.webhook.get_ref()).ok_or_else(|| {
        let hint = "write https://HOST/PATH, or http://127.0.0.1:PORT/PATH for a receiver on this machine";
        wrong(notify.webhook.span(), "`webhook` is not an address that messages may be sent to", hint)
    })?;
    let secret_file = notify.secret_file.get_ref();
    if secret_file.as_os_str().is_empty() {
        let hint = "name a file that holds the secret which you share with the receiver";
        return Err(wrong(notify.secret_file.span(), "`secret_file` is empty", hint));
    }
    let group_for = match &notify.group_for {
        None => Duration::from_mins(1),
        Some(text) => parse_duration(text.get_ref())
            .ok_or_else(|| wrong(text.span(), "`group_for` is not a duration", "write \"30s\" or \"5m\""))?,
    };
    let messages_per_minute_max = notify.messages_per_minute_max.as_ref().map_or(60, |most| *most.get_ref());
    if messages_per_minute_max == 0 {
        let at = notify.messages_per_minute_max.map_or(0..0, |most| most.span());
        return Err(wrong(at, "`messages_per_minute_max` is 0", "write at least 1, or leave [notify] out"));
    }
    let beside = Path::new(file).parent().unwrap_or_else(|| Path::new(""));
    let secret_file = beside.join(secret_file);
    Ok(Some(DeclaredNotify { webhook, secret_file, group_for, messages_per_minute_max }))
}

/// An address that a message may be sent to: nobody reads along on the way.
fn address(text: &str) -> Option<hyper::Uri> {
    let uri: hyper::Uri = text.parse().ok()?;
    let authority = uri.authority()?;
    // A password in an address ends up in logs; the signature is what a receiver checks.
    if authority.as_str().contains('@') {
        return None;
    }
    let host = authority.host().trim_matches(['[', ']']);
    let here = host == "localhost" || host.parse().is_ok_and(|ip: std::net::IpAddr| ip.is_loopback());
    match uri.scheme_str() {
        Some("https") => Some(uri),
        Some("http") if here => Some(uri),
        Some(_) | None => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_webhook_is_https_or_on_this_machine() {
        for good in ["https://ops.example.com/hook", "http://127.0.0.1:9/x", "http://localhost:9/x", "http://[::1]:9/"]
        {
            assert!(address(good).is_some(), "{good}");
        }
        for bad in
            ["", "ops", "/hook", "http://ops.example.com/hook", "ftp://x/", "https://me:hush@ops/", "http://10.0.0.1/"]
        {
            assert!(address(bad).is_none(), "{bad}");
        }
    }

    #[test]
    fn notify_is_read_with_its_defaults_and_each_mistake_with_its_place() {
        let text = "[notify]\nwebhook = \"https://ops.example.com/hook\"\nsecret_file = \"hook.secret\"\n";
        let read_from = |text: &str| read("conf/onefold.toml", text);
        let declared = read_from(text).unwrap().unwrap();
        assert_eq!((declared.group_for, declared.messages_per_minute_max), (Duration::from_mins(1), 60));
        assert_eq!(declared.secret_file, Path::new("conf/hook.secret"));
        assert_eq!(read_from("listen = \"127.0.0.1:1\"\n").unwrap(), None);
        for (wrong, place) in [
            (text.replace("https", "http"), "conf/onefold.toml:2:"),
            (format!("{text}group_for = \"soon\"\n"), "conf/onefold.toml:4:"),
            (format!("{text}messages_per_minute_max = 0\n"), "conf/onefold.toml:4:"),
            (format!("{text}secret = \"hush\"\n"), "conf/onefold.toml:4:"),
            ("[notify]\nwebhook = \"https://x/\"\n".to_owned(), "conf/onefold.toml:"),
        ] {
            let error = read_from(&wrong).unwrap_err();
            assert!(error.detail().starts_with(place), "{wrong}: {error}");
        }
    }
}
