//! The ledger inside the user's own transaction.

use std::time::Duration;

use super::BoxFuture;
use super::store::Store;
use crate::error::Result;
use crate::ledger::{Completion, OnceDecision, OnceRequest};

/// A store whose ledger can be written in the user's own transaction.
pub trait Transact: Store {
    /// A connection with a transaction open.
    type Connection: Send;

    /// Checks an operation; where it is to be performed, a savepoint is open when this returns.
    fn enter<'a>(
        &'a self,
        connection: &'a mut Self::Connection,
        request: &'a OnceRequest,
        wait: Duration,
    ) -> BoxFuture<'a, Result<OnceEntry>>;

    /// Ends the savepoint: with the operation's entry, or with nothing of what was done in it.
    fn leave<'a>(
        &'a self,
        connection: &'a mut Self::Connection,
        request: &'a OnceRequest,
        performed: Option<Completion>,
    ) -> BoxFuture<'a, Result<()>>;
}

/// What a transaction finds when it enters an operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OnceEntry {
    /// The rule's answer.
    Once(OnceDecision),
    /// Another transaction is at it.
    InFlight {
        /// When trying again makes sense.
        retry_after: Duration,
    },
}

/// A value whose transaction is committed: what may only come afterwards takes this token.
///
/// It may be lost in a crash, so it is only for what the source brings again.
#[derive(Debug)]
pub struct Committed<T>(T);

impl<T> Committed<T> {
    /// Called by a store, right after the commit was acknowledged.
    pub fn after_commit(value: T) -> Self {
        Self(value)
    }

    /// Another value of the same commit.
    pub fn with<U>(self, value: U) -> Committed<U> {
        Committed(value)
    }

    /// The value.
    pub fn into_inner(self) -> T {
        self.0
    }
}

impl<T> std::ops::Deref for Committed<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.0
    }
}
