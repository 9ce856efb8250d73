//! Who calls: from the credential, never from the body.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use onefold_core::error::{AUTHENTICATION_REQUIRED, CONFIGURATION_INVALID};
use onefold_core::operation::Tenant;
use onefold_core::port::{ApiToken, Registry as _, Store as _};
use onefold_core::{Error, Result};
use sha2::{Digest as _, Sha256};

use crate::database::Database;

/// How long a credential may be used after it was taken away.
const REFRESH_EVERY: Duration = Duration::from_secs(1);

/// What a credential may do. Each role may do what the ones before it may, but for `caller`, which never decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Role {
    /// Looks at operations and incidents, never at payloads.
    Reader,
    /// Claims and records: what a service needs, and no more.
    Caller,
    /// Also reads payloads and settles incidents.
    Operator,
    /// Everything.
    Administrator,
}

/// What a call needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Permission {
    /// Read what holds no payload.
    Look,
    /// Claim and record.
    Act,
    /// Read payloads and settle incidents.
    Decide,
    /// Prune.
    Administer,
}

impl Role {
    const ALL: [Self; 4] = [Self::Reader, Self::Caller, Self::Operator, Self::Administrator];

    /// The name in store and shell.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Reader => "reader",
            Self::Caller => "caller",
            Self::Operator => "operator",
            Self::Administrator => "administrator",
        }
    }

    pub(crate) fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.as_str() == text)
    }

    /// Whether it may.
    pub(crate) const fn may(self, permission: Permission) -> bool {
        match permission {
            Permission::Look => true,
            Permission::Act => !matches!(self, Self::Reader),
            Permission::Decide => matches!(self, Self::Operator | Self::Administrator),
            Permission::Administer => matches!(self, Self::Administrator),
        }
    }
}

/// Who calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Identity {
    pub(crate) name: Arc<str>,
    pub(crate) role: Role,
    pub(crate) tenant: Tenant,
}

impl Identity {
    /// Anyone who may open the database's file.
    pub(crate) fn owner() -> Self {
        Self { name: Arc::from("owner"), role: Role::Administrator, tenant: Tenant::default() }
    }
}

/// A new secret, and its digest.
pub(crate) fn new_secret() -> Result<(String, [u8; 32])> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes)
        .map_err(|_| Error::new(CONFIGURATION_INVALID, "the system gives no random bytes for a token"))?;
    let secret = format!("onefold_{}", URL_SAFE_NO_PAD.encode(bytes));
    let digest = digest(&secret);
    Ok((secret, digest))
}

fn digest(secret: &str) -> [u8; 32] {
    Sha256::digest(secret.as_bytes()).into()
}

/// Reads the first token, making it if there is none. The file is readable by its owner alone.
///
/// It appears whole or not at all: a half-written one would keep the server from ever starting again.
pub(crate) fn first_token(path: &Path) -> Result<String> {
    if !path.exists() {
        let (secret, _) = new_secret()?;
        appear(path, &secret).map_err(|cause| {
            Error::new(CONFIGURATION_INVALID, format!("the token file {} cannot be used: {cause}", path.display()))
                .hint("name another with --token-file, or set ONEFOLD_TOKEN")
        })?;
    }
    read_token(path)
}

/// Writes the token beside its place and links it there, unless another process was first.
fn appear(path: &Path, secret: &str) -> std::io::Result<()> {
    use std::io::{ErrorKind, Write as _};
    use std::os::unix::fs::OpenOptionsExt as _;
    let mut beside = path.as_os_str().to_owned();
    beside.push(format!(".{}", std::process::id()));
    let mut file = std::fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&beside)?;
    file.write_all(format!("{secret}\n").as_bytes())?;
    file.sync_all()?;
    match std::fs::hard_link(&beside, path) {
        // Some file systems have no links.
        Err(cause) if cause.kind() != ErrorKind::AlreadyExists => std::fs::rename(&beside, path),
        Ok(()) | Err(_) => std::fs::remove_file(&beside),
    }
}

/// The token in a file.
pub(crate) fn read_token(path: &Path) -> Result<String> {
    let wrong = |why: String| {
        Error::new(CONFIGURATION_INVALID, format!("the token file {} {why}", path.display()))
            .hint("write one line with a token of 16 to 512 characters, or delete it so that a new one is made")
    };
    let text = std::fs::read_to_string(path).map_err(|cause| wrong(format!("cannot be read: {cause}")))?;
    let token = text.trim();
    if !(16..=512).contains(&token.len()) || token.contains(char::is_whitespace) {
        return Err(wrong("holds no token".to_owned()));
    }
    Ok(token.to_owned())
}

/// Every credential that is let in; looked up again each second, so that none needs a restart.
pub(crate) struct Credentials {
    store: Database,
    first: FirstToken,
    known: Mutex<TokenCache>,
}

/// Where the first token is.
enum FirstToken {
    Given([u8; 32]),
    File(PathBuf),
}

#[derive(Default)]
struct TokenCache {
    at: Option<Instant>,
    by_digest: HashMap<[u8; 32], Identity>,
}

impl Credentials {
    pub(crate) fn new(store: Database, token: Option<&str>, file: &Path) -> Self {
        let first = token.map_or_else(|| FirstToken::File(file.to_owned()), |token| FirstToken::Given(digest(token)));
        Self { store, first, known: Mutex::default() }
    }

    /// Whose secret it is.
    pub(crate) async fn identify(&self, secret: Option<&str>) -> Result<Identity> {
        let Some(secret) = secret else {
            return Err(unidentified("the request carries no bearer token"));
        };
        self.refresh().await?;
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        // Looked up by digest: how long it takes says nothing of the secret.
        known.by_digest.get(&digest(secret)).cloned().ok_or_else(|| unidentified("this token is not known here"))
    }

    async fn refresh(&self) -> Result<()> {
        let fresh = |known: &TokenCache| known.at.is_some_and(|at| at.elapsed() < REFRESH_EVERY);
        if fresh(&self.known.lock().unwrap_or_else(PoisonError::into_inner)) {
            return Ok(());
        }
        let tokens = self.store.tokens().await?;
        let first = match &self.first {
            FirstToken::Given(digest) => Some(*digest),
            FirstToken::File(path) => read_token(path).ok().map(|token| digest(&token)),
        };
        let mut by_digest: HashMap<[u8; 32], Identity> =
            tokens.iter().filter_map(|token| Some((token.digest, identity(token)?))).collect();
        by_digest.extend(first.map(|digest| (digest, Identity::owner())));
        *self.known.lock().unwrap_or_else(PoisonError::into_inner) = TokenCache { at: Some(Instant::now()), by_digest };
        Ok(())
    }

    /// Who calls, as log lines name them.
    pub(crate) fn pseudonym(&self, who: &Identity) -> String {
        self.store.keyring().pseudonym(&who.name)
    }

    /// Whether anyone but the owner of the file has a token.
    pub(crate) async fn any_named(&self) -> Result<bool> {
        Ok(!self.store.tokens().await?.is_empty())
    }
}

fn unidentified(what: &str) -> Error {
    Error::new(AUTHENTICATION_REQUIRED, what)
        .hint("send `Authorization: Bearer TOKEN`; `onefold token show` prints where the token is")
}

fn identity(token: &ApiToken) -> Option<Identity> {
    Some(Identity { name: Arc::clone(&token.name), role: Role::parse(&token.role)?, tenant: token.tenant.clone() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn roles_may_what_the_table_says() {
        use Permission::{Act, Administer, Decide, Look};
        let table = [
            (Role::Reader, [true, false, false, false]),
            (Role::Caller, [true, true, false, false]),
            (Role::Operator, [true, true, true, false]),
            (Role::Administrator, [true, true, true, true]),
        ];
        for (role, row) in table {
            assert_eq!([Look, Act, Decide, Administer].map(|permission| role.may(permission)), row, "{role:?}");
            assert_eq!(Role::parse(role.as_str()), Some(role));
        }
    }

    #[test]
    fn the_first_token_is_made_once_and_is_its_owners_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("onefold.token");
        let made = first_token(&path).unwrap();
        assert_eq!(first_token(&path).unwrap(), made);
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        std::fs::write(&path, "short\n").unwrap();
        assert_eq!(first_token(&path).unwrap_err().code(), CONFIGURATION_INVALID);
    }
}
