//! A body that was read whole: in memory while it is small, in an unlinked file beyond that.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, Write as _};
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderMap, header};
use bytes::{Bytes, BytesMut};
use http_body::{Body as HttpBody, Frame, SizeHint};
use http_body_util::BodyExt as _;
use onefold_core::Error;
use onefold_core::error::{REQUEST_BODY_INVALID, REQUEST_TOO_LARGE, REQUEST_TOO_SLOW, TOO_BUSY};
use sha2::{Digest as _, Sha256};

/// Bytes of a body that are held in memory.
const MEMORY_BYTES_MAX: usize = 64 * 1024;
/// Bytes that are read from a file at once.
const CHUNK_BYTES: usize = 64 * 1024;

/// Bytes of all bodies that this process holds at once.
const BUFFERED_BYTES_MAX: usize = 256 * 1024 * 1024;

/// How bodies are read.
#[derive(Debug, Clone, Copy)]
pub(super) struct BodyLimits {
    /// Bytes a body may have.
    pub(super) bytes_max: usize,
    /// How long it may take to arrive.
    read_within: Duration,
    /// Bytes of all bodies that this process holds at once.
    buffered_bytes_max: usize,
}

impl BodyLimits {
    /// What a route allows the body of a request.
    pub(super) fn of_request(bytes_max: usize, read_within: Duration) -> Self {
        Self { bytes_max, read_within, buffered_bytes_max: BUFFERED_BYTES_MAX }
    }

    /// Refuses a body that says itself that it is too large, before it is waited for.
    pub(super) fn announced(&self, headers: &HeaderMap) -> Result<(), Error> {
        let length = headers.get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
        if length.is_some_and(|length| length > self.bytes_max as u64) { Err(too_large(self)) } else { Ok(()) }
    }
}

/// Bytes that bodies of this process hold.
static BUFFERED: AtomicUsize = AtomicUsize::new(0);

/// Bytes set aside for a body; given back when dropped.
#[derive(Debug, Default)]
struct BufferReservation(usize);

impl BufferReservation {
    fn grow(&mut self, bytes: usize, bytes_max: usize) -> Result<(), Error> {
        let before = BUFFERED.fetch_add(bytes, Ordering::Relaxed);
        self.0 += bytes;
        if before + bytes > bytes_max {
            return Err(Error::new(TOO_BUSY, "the request bodies in this process have reached buffered_bytes_max"));
        }
        Ok(())
    }
}

impl Drop for BufferReservation {
    fn drop(&mut self) {
        BUFFERED.fetch_sub(self.0, Ordering::Relaxed);
    }
}

/// A body that was read whole.
#[derive(Debug)]
pub(crate) struct BufferedBody {
    storage: BufferStorage,
    length: u64,
    sha256: [u8; 32],
    trailers: Option<HeaderMap>,
    _reservation: BufferReservation,
}

#[derive(Debug)]
enum BufferStorage {
    Memory(Bytes),
    File(File),
}

impl BufferedBody {
    /// Bytes that are in memory anyway.
    pub(crate) fn memory(bytes: Bytes, trailers: Option<HeaderMap>) -> Self {
        let length = bytes.len() as u64;
        // Nobody asks for the digest of what is sent.
        Self {
            storage: BufferStorage::Memory(bytes),
            length,
            sha256: [0; 32],
            trailers,
            _reservation: BufferReservation::default(),
        }
    }

    /// Reads a request's body.
    pub(crate) async fn read(headers: &HeaderMap, body: Body, limits: &BodyLimits) -> Result<Self, Error> {
        limits.announced(headers)?;
        let read = tokio::time::timeout(limits.read_within, Self::read_all(body, limits)).await;
        read.unwrap_or_else(|_| {
            let what = format!("the body did not arrive within {} s", limits.read_within.as_secs());
            Err(Error::new(REQUEST_TOO_SLOW, what))
        })
    }

    async fn read_all(mut body: Body, limits: &BodyLimits) -> Result<Self, Error> {
        let (mut reservation, mut hasher, mut length, mut trailers) =
            (BufferReservation::default(), Sha256::new(), 0_usize, None);
        let (mut memory, mut file) = (BytesMut::new(), None);
        while let Some(frame) = body.frame().await {
            let frame = frame
                .map_err(|cause| Error::new(REQUEST_BODY_INVALID, "the body did not arrive whole").caused_by(cause))?;
            let data = match frame.into_data() {
                Ok(data) => data,
                Err(other) => {
                    trailers = other.into_trailers().ok();
                    continue;
                }
            };
            length += data.len();
            if length > limits.bytes_max {
                return Err(too_large(limits));
            }
            reservation.grow(data.len(), limits.buffered_bytes_max)?;
            hasher.update(&data);
            if file.is_none() && length > MEMORY_BYTES_MAX {
                file = Some(spill(&memory)?);
                memory = BytesMut::new();
            }
            match &mut file {
                None => memory.extend_from_slice(&data),
                Some(file) => file.write_all(&data).map_err(no_disk_space)?,
            }
        }
        let storage = match file {
            None => BufferStorage::Memory(memory.freeze()),
            Some(mut file) => {
                file.rewind().map_err(no_disk_space)?;
                BufferStorage::File(file)
            }
        };
        Ok(Self {
            storage,
            length: length as u64,
            sha256: hasher.finalize().into(),
            trailers,
            _reservation: reservation,
        })
    }

    /// Its bytes where they are in memory, or are wanted whatever it costs.
    pub(crate) fn bytes(&mut self) -> Result<Bytes, Error> {
        match &mut self.storage {
            BufferStorage::Memory(bytes) => Ok(bytes.clone()),
            BufferStorage::File(file) => {
                let mut all = Vec::with_capacity(usize::try_from(self.length).unwrap_or(0));
                file.read_to_end(&mut all).and_then(|_| file.rewind()).map_err(no_disk_space)?;
                Ok(all.into())
            }
        }
    }

    /// Its bytes where they are in memory.
    pub(crate) fn in_memory(&self) -> Option<&Bytes> {
        match &self.storage {
            BufferStorage::Memory(bytes) => Some(bytes),
            BufferStorage::File(_) => None,
        }
    }

    /// What its bytes hash to.
    pub(crate) fn sha256(&self) -> [u8; 32] {
        self.sha256
    }

    /// Whether it has no byte.
    pub(crate) fn is_empty(&self) -> bool {
        self.length == 0
    }
}

fn too_large(limits: &BodyLimits) -> Error {
    Error::new(REQUEST_TOO_LARGE, format!("the body has more than {} bytes", limits.bytes_max))
}

fn spill(memory: &[u8]) -> Result<File, Error> {
    // It has no name: a crash leaves nothing behind.
    let mut file = tempfile::tempfile().map_err(no_disk_space)?;
    file.write_all(memory).map_err(no_disk_space)?;
    Ok(file)
}

fn no_disk_space(cause: io::Error) -> Error {
    Error::new(TOO_BUSY, "the body cannot be kept while it is sent on")
        .hint("free space in the folder for temporary files")
        .caused_by(cause)
}

impl HttpBody for BufferedBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        if self.length > 0 {
            let chunk = match &mut self.storage {
                BufferStorage::Memory(bytes) => std::mem::take(bytes),
                // A file that was written a moment ago is in the system's memory: reading it does not wait.
                BufferStorage::File(file) => {
                    let mut chunk = vec![0; CHUNK_BYTES];
                    match file.read(&mut chunk) {
                        Ok(0) => return Poll::Ready(Some(Err(io::ErrorKind::UnexpectedEof.into()))),
                        Ok(read) => chunk.truncate(read),
                        Err(cause) => return Poll::Ready(Some(Err(cause))),
                    }
                    chunk.into()
                }
            };
            self.length = self.length.saturating_sub(chunk.len() as u64);
            return Poll::Ready(Some(Ok(Frame::data(chunk))));
        }
        Poll::Ready(self.trailers.take().map(|trailers| Ok(Frame::trailers(trailers))))
    }

    fn is_end_stream(&self) -> bool {
        self.length == 0 && self.trailers.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        // With trailers the length must stay open: HTTP/1.1 sends them behind chunks only.
        if self.trailers.is_some() { SizeHint::default() } else { SizeHint::with_exact(self.length) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usual() -> BodyLimits {
        BodyLimits::of_request(1024 * 1024, Duration::from_secs(30))
    }

    async fn read(body: Vec<u8>, limits: &BodyLimits) -> Result<BufferedBody, Error> {
        BufferedBody::read(&HeaderMap::new(), Body::from(body), limits).await
    }

    #[tokio::test]
    async fn a_body_comes_out_as_it_came_in_whatever_its_size() {
        for size in [0, 1, MEMORY_BYTES_MAX, MEMORY_BYTES_MAX + 1, 300_000] {
            let sent: Vec<u8> = (0..size).map(|at| u8::try_from(at % 251).unwrap()).collect();
            let mut whole = read(sent.clone(), &usual()).await.unwrap();
            assert_eq!(whole.bytes().unwrap(), sent);
            assert_eq!(whole.sha256(), <[u8; 32]>::from(Sha256::digest(&sent)));
            assert_eq!(whole.size_hint().exact(), Some(size as u64));
            assert_eq!(Body::new(whole).collect().await.unwrap().to_bytes(), sent);
        }
    }

    #[tokio::test]
    async fn too_large_too_slow_and_too_much_are_refused_each_by_its_name() {
        let limits = BodyLimits { bytes_max: 10, ..usual() };
        assert_eq!(read(vec![0; 11], &limits).await.unwrap_err().code(), REQUEST_TOO_LARGE);
        let mut headers = HeaderMap::new();
        headers.insert(header::CONTENT_LENGTH, 11.into());
        let early = BufferedBody::read(&headers, Body::empty(), &limits).await.unwrap_err();
        assert_eq!(early.code(), REQUEST_TOO_LARGE);
        let limits = BodyLimits { buffered_bytes_max: 0, ..usual() };
        assert_eq!(read(vec![0; 1], &limits).await.unwrap_err().code(), TOO_BUSY);
        let never = Body::new(Never);
        let limits = BodyLimits { read_within: Duration::from_millis(5), ..usual() };
        let slow = BufferedBody::read(&HeaderMap::new(), never, &limits).await.unwrap_err();
        assert_eq!(slow.code(), REQUEST_TOO_SLOW);
    }

    struct Never;

    impl HttpBody for Never {
        type Data = Bytes;
        type Error = io::Error;
        fn poll_frame(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
            Poll::Pending
        }
    }
}
