//! The log of one test.

use std::io::Write;
use std::sync::{Arc, Mutex, Once};

use tracing_subscriber::filter::LevelFilter;

/// Makes every line wanted, whichever test reaches it first: called by every test that answers an error.
///
/// A line that is first reached where nobody listens counts as unwanted, and a test that begins to listen right then
/// would miss it.
pub(crate) fn want_every_line() {
    static WANTED: Once = Once::new();
    WANTED.call_once(|| tracing::subscriber::set_global_default(tracing_subscriber::registry()).unwrap());
}

/// What was logged.
#[derive(Clone, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    /// Takes what this thread logs, at its most talkative, until the guard goes.
    pub(crate) fn take(&self) -> tracing::subscriber::DefaultGuard {
        want_every_line();
        let lines = self.clone();
        let subscriber = tracing_subscriber::fmt()
            .with_max_level(LevelFilter::TRACE)
            .with_writer(move || lines.clone())
            .with_ansi(false)
            .finish();
        tracing::subscriber::set_default(subscriber)
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.lock().unwrap()).into_owned()
    }
}

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
