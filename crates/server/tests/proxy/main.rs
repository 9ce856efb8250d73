//! The gateway as a proxy, attacked over raw sockets through the real binary.
//!
//! | room | what it promises |
//! |---|---|
//! | `requests` | a table of requests: which are refused, and what an upstream sees of the others |
//! | `answers` | a table of upstream answers: which are refused, and what a client sees of the others |
//! | `headers` | what a client may not say of itself, and an upstream not of us |
//! | `spellings` | no way around a guard by spelling its path differently |
//! | `held` | no client keeps a connection for ever, and none cancels a call by losing its own |
//! | `upstream`, `client`, `http2` | how the tests reach all that |
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on fails where it stands")]

mod answers;
mod client;
#[path = "../shared/description.rs"]
#[allow(dead_code, reason = "shared with the tests of the API")]
mod description;
#[path = "../shared/fixture.rs"]
#[allow(dead_code, reason = "shared with the tests of the API")]
mod fixture;
mod headers;
mod held;
mod http2;
mod requests;
mod spellings;
mod upstream;
#[path = "../shared/wire.rs"]
#[allow(dead_code, reason = "shared with the tests of the API")]
mod wire;
