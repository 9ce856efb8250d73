//! Standard input, line by line; its end tells a child to stop.

use tokio::sync::mpsc;

/// Lines that were read and not yet taken at most.
const LINES_MAX: usize = 64;

/// The lines of standard input; none any more when it is closed.
pub(super) fn lines() -> mpsc::Receiver<String> {
    let (said, heard) = mpsc::channel(LINES_MAX);
    // A thread of its own: a read of standard input cannot be cut short.
    std::thread::spawn(move || {
        for line in std::io::stdin().lines().map_while(Result::ok) {
            if said.blocking_send(line).is_err() {
                return;
            }
        }
    });
    heard
}
