//! Keys that tokens are checked with: from a file or an address, cached, read again when they may have changed.

use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::http::{Request, StatusCode, Uri};
use http_body_util::{BodyExt as _, Limited};
use jsonwebtoken::jwk::{AlgorithmParameters, EllipticCurve, Jwk, JwkSet, PublicKeyUse};
use jsonwebtoken::{Algorithm, DecodingKey};
use onefold_config::{Jwks, JwtDeclaration};
use onefold_core::error::{CONFIGURATION_INVALID, DECLARATION_INVALID, DOWNSTREAM_UNAVAILABLE};
use onefold_core::{Error, Result};
use tokio::sync::{Mutex, MutexGuard};

use onefold_http::client::{Connect, HttpClient};

/// Bytes that a set of keys may have.
const BYTES_MAX: usize = 1024 * 1024;

/// After this time keys are read again, so that one that was withdrawn ends.
const AGE_MAX: Duration = Duration::from_mins(5);

/// Keys that could not be read again for this long are not believed any more.
const STALE_MAX: Duration = Duration::from_hours(1);

/// How long reading keys may take.
const WITHIN: Duration = Duration::from_secs(5);

/// Where keys come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeysFrom {
    /// A file with a JSON Web Key Set.
    File(PathBuf),
    /// An address that answers with one.
    Url(String),
    /// A file with the secret of HS256; nothing else is accepted then.
    Secret(PathBuf),
}

impl KeysFrom {
    /// Where a declaration says that they come from.
    pub fn declared(jwt: &JwtDeclaration) -> Result<Self> {
        match (&jwt.jwks, &jwt.hs256) {
            (Some(Jwks::File(file)), None) => Ok(Self::File(file.clone())),
            (Some(Jwks::Url(url)), None) => Ok(Self::Url(url.clone())),
            (None, Some(file)) => Ok(Self::Secret(file.clone())),
            (Some(_), Some(_)) | (None, None) => {
                Err(Error::new(DECLARATION_INVALID, "tokens are checked with `jwks` or with `hs256`"))
            }
        }
    }

    /// Whether it is a file, which may have changed since it was read.
    pub fn is_file(&self) -> bool {
        matches!(self, Self::File(_) | Self::Secret(_))
    }
}

/// One key, and what it may check.
pub(super) struct VerifyingKey {
    id: Option<String>,
    algorithms: Vec<Algorithm>,
    pub(super) decoding: DecodingKey,
}

#[derive(Clone)]
struct CachedKeys {
    keys: Arc<[VerifyingKey]>,
    at: Instant,
}

/// Keys that tokens are checked with.
pub struct Keys {
    source: Source,
    cached: RwLock<Option<CachedKeys>>,
    /// When they were last asked for, whatever came of it.
    asked: Mutex<Option<Instant>>,
    again_after: Duration,
    age_max: Duration,
}

enum Source {
    File(PathBuf),
    Url(Uri, Box<HttpClient<Body>>),
    Secret(PathBuf),
}

impl Keys {
    /// The keys of this place. A file must be readable now; an address is asked when the first token comes.
    pub fn open(from: &KeysFrom, connect: &Connect) -> Result<Self> {
        let source = match from {
            KeysFrom::File(path) => Source::File(path.clone()),
            KeysFrom::Secret(path) => Source::Secret(path.clone()),
            KeysFrom::Url(url) => {
                let uri: Option<Uri> = url.parse().ok();
                let http = uri.filter(|uri| uri.host().is_some() && matches!(uri.scheme_str(), Some("http" | "https")));
                let wrong = || Error::new(DECLARATION_INVALID, format!("{url:?} is not an http address of keys"));
                Source::Url(http.ok_or_else(wrong)?, Box::new(connect.client()?))
            }
        };
        let cached = match &source {
            Source::File(path) => Some(set(&read(path)?, &path.display().to_string())?),
            Source::Secret(path) => Some(secret(&read(path)?, path)?),
            Source::Url(..) => None,
        };
        let cached = cached.map(|keys| CachedKeys { keys, at: Instant::now() });
        Ok(Self {
            source,
            cached: RwLock::new(cached),
            asked: Mutex::new(None),
            again_after: Duration::from_mins(1),
            age_max: AGE_MAX,
        })
    }

    /// The same, but a key that is not known makes them be read again at most this often.
    #[must_use]
    pub fn again_after(mut self, wait: Duration) -> Self {
        self.again_after = wait;
        self
    }

    /// The keys that may check a token with this id and algorithm; none if there is no such key.
    pub(super) async fn fitting(&self, id: Option<&str>, algorithm: Algorithm) -> Result<Vec<DecodingKey>> {
        match self.cached().map(|cached| cached.at.elapsed()) {
            Some(age) if age < self.age_max => {}
            // Somebody is reading them already; until then these are believed.
            Some(age) if age < STALE_MAX => {
                if let Ok(asked) = self.asked.try_lock() {
                    self.refresh(asked).await;
                }
            }
            Some(_) | None => self.refresh(self.asked.lock().await).await,
        }
        let mut fitting = self.pick(id, algorithm)?;
        if fitting.is_empty() {
            self.refresh(self.asked.lock().await).await;
            fitting = self.pick(id, algorithm)?;
        }
        Ok(fitting)
    }

    fn pick(&self, id: Option<&str>, algorithm: Algorithm) -> Result<Vec<DecodingKey>> {
        let cached = self.cached().filter(|cached| cached.at.elapsed() < STALE_MAX);
        let cached = cached.ok_or_else(|| Error::new(DOWNSTREAM_UNAVAILABLE, "the keys of tokens cannot be read"))?;
        let fits =
            |key: &&VerifyingKey| key.algorithms.contains(&algorithm) && (id.is_none() || key.id.as_deref() == id);
        // A secret has no id; a token may carry one all the same.
        let only = |key: &&VerifyingKey| key.algorithms.contains(&algorithm) && key.algorithms == [Algorithm::HS256];
        Ok(cached.keys.iter().filter(|key| fits(key) || only(key)).map(|key| key.decoding.clone()).collect())
    }

    fn cached(&self) -> Option<CachedKeys> {
        self.cached.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Reads the keys again, unless that was just done. Where it fails, the old ones stay.
    async fn refresh(&self, mut asked: MutexGuard<'_, Option<Instant>>) {
        let wait =
            if self.cached().is_none() { self.again_after.min(Duration::from_secs(1)) } else { self.again_after };
        if asked.is_some_and(|asked| asked.elapsed() < wait) {
            return;
        }
        *asked = Some(Instant::now());
        let read = match &self.source {
            Source::File(path) => read(path).and_then(|text| set(&text, &path.display().to_string())),
            Source::Secret(path) => read(path).and_then(|text| secret(&text, path)),
            Source::Url(url, web) => fetch(web, url).await,
        };
        match read {
            Ok(keys) => {
                let cached = CachedKeys { keys, at: Instant::now() };
                *self.cached.write().unwrap_or_else(PoisonError::into_inner) = Some(cached);
            }
            Err(error) => tracing::warn!(error = %error, "the keys of tokens could not be read again"),
        }
    }
}

fn read(path: &Path) -> Result<Vec<u8>> {
    std::fs::read(path).map_err(|cause| {
        Error::new(CONFIGURATION_INVALID, format!("{} cannot be read: {cause}", path.display()))
            .hint("name a file with keys that this user can read")
    })
}

async fn fetch(web: &HttpClient<Body>, url: &Uri) -> Result<Arc<[VerifyingKey]>> {
    let unavailable =
        |what: &str| Error::new(DOWNSTREAM_UNAVAILABLE, format!("{what} at {}", url.host().unwrap_or("?")));
    let request = Request::get(url.clone()).header("accept", "application/json").body(Body::empty());
    let request = request.map_err(|_| unavailable("no request can be made for the keys"))?;
    let asking = async {
        let response = web.request(request).await.map_err(|_| unavailable("no answer came"))?;
        if response.status() != StatusCode::OK {
            return Err(unavailable("there are no keys"));
        }
        let body = Limited::new(response.into_body(), BYTES_MAX).collect().await;
        body.map(http_body_util::Collected::to_bytes).map_err(|_| unavailable("the answer with the keys ended early"))
    };
    let bytes = tokio::time::timeout(WITHIN, asking).await.map_err(|_| unavailable("no answer came in time"))??;
    set(&bytes, url.host().unwrap_or("?"))
}

/// The keys of a set that can check a signature; symmetric keys are left out: a reader of the set could sign with them.
fn set(text: &[u8], place: &str) -> Result<Arc<[VerifyingKey]>> {
    let read: JwkSet = serde_json::from_slice(text)
        .map_err(|_| Error::new(CONFIGURATION_INVALID, format!("{place} does not hold a JSON Web Key Set")))?;
    let keys: Vec<VerifyingKey> = read.keys.iter().filter_map(key).collect();
    if keys.is_empty() {
        let what = format!("{place} holds no public key that can check a token");
        return Err(Error::new(CONFIGURATION_INVALID, what).hint("give RSA, P-256, P-384 or Ed25519 keys"));
    }
    Ok(keys.into())
}

fn key(jwk: &Jwk) -> Option<VerifyingKey> {
    let signs = jwk.common.public_key_use.as_ref().is_none_or(|usage| *usage == PublicKeyUse::Signature);
    let possible: &[Algorithm] = match &jwk.algorithm {
        AlgorithmParameters::RSA(_) => &[
            Algorithm::RS256,
            Algorithm::RS384,
            Algorithm::RS512,
            Algorithm::PS256,
            Algorithm::PS384,
            Algorithm::PS512,
        ],
        AlgorithmParameters::EllipticCurve(curve) => on_curve(&curve.curve),
        AlgorithmParameters::OctetKeyPair(pair) => on_curve(&pair.curve),
        // A secret, or a sort of key that is newer than this.
        AlgorithmParameters::OctetKey(_) | AlgorithmParameters::Other(_) | _ => &[],
    };
    let said = jwk.common.key_algorithm.map(|algorithm| algorithm.to_string());
    let fits = |algorithm: &&Algorithm| said.as_ref().is_none_or(|said| *said == format!("{algorithm:?}"));
    let algorithms: Vec<Algorithm> = possible.iter().filter(fits).copied().collect();
    let usable = signs && !algorithms.is_empty();
    let decoding = DecodingKey::from_jwk(jwk).ok().filter(|_| usable)?;
    Some(VerifyingKey { id: jwk.common.key_id.clone(), algorithms, decoding })
}

fn on_curve(curve: &EllipticCurve) -> &'static [Algorithm] {
    match curve {
        EllipticCurve::P256 => &[Algorithm::ES256],
        EllipticCurve::P384 => &[Algorithm::ES384],
        EllipticCurve::Ed25519 => &[Algorithm::EdDSA],
        EllipticCurve::P521 | _ => &[],
    }
}

/// A secret is too long to be guessed.
fn secret(text: &[u8], path: &Path) -> Result<Arc<[VerifyingKey]>> {
    let text = text.trim_ascii();
    if text.len() < 32 {
        let what = format!("{} holds fewer than 32 bytes", path.display());
        return Err(Error::new(CONFIGURATION_INVALID, what).hint("HS256 needs a secret of at least 32 random bytes"));
    }
    let decoding = DecodingKey::from_secret(text);
    Ok([VerifyingKey { id: None, algorithms: vec![Algorithm::HS256], decoding }].into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn keys_that_are_known_wait_for_nobody_who_reads_them_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("secret.key");
        std::fs::write(&path, "0123456789abcdef0123456789abcdef").unwrap();
        let mut keys = Keys::open(&KeysFrom::Secret(path), &Connect::default()).unwrap();
        keys.age_max = Duration::ZERO;
        let slow = keys.asked.lock().await;
        let known = keys.fitting(None, Algorithm::HS256);
        assert_eq!(tokio::time::timeout(Duration::from_secs(5), known).await.unwrap().unwrap().len(), 1);
        let unknown = keys.fitting(Some("new"), Algorithm::ES256);
        assert!(
            tokio::time::timeout(Duration::from_millis(50), unknown).await.is_err(),
            "a new key may be in the answer"
        );
        drop(slow);
    }
}
