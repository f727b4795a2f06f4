//! What a collection's methods return.

use std::future::Future;

use crate::db::Work;
use crate::{Db, Later, Result};

/// How a [`Collection`](crate::Collection)'s methods answer: [`Waiting`] or [`Returning`].
pub trait Mode: Sealed {
    /// What a method returns that finds an `R`.
    type Answer<R>;
}

/// Methods wait for the server, on the handler's thread, and return a [`Result`]: what [`Db::collection`] makes.
#[derive(Debug)]
pub enum Waiting {}

/// Methods return a [`Later`] at once, which is for the handler to return: what [`Collection::later`](crate::Collection::later)
/// makes.
#[derive(Debug)]
pub enum Returning {}

impl Mode for Waiting {
    type Answer<R> = Result<R>;
}

impl Mode for Returning {
    type Answer<R> = Later<R>;
}

/// What the two modes do about the same work.
pub trait Sealed: Sized {
    /// Has the driver do `work`; `read` makes the answer of what came of it.
    fn perform<F, R, U>(
        db: &Db,
        operation: &'static str,
        work: impl FnOnce(Work) -> F + Send + 'static,
        read: impl FnOnce(R) -> Result<U> + Send + 'static,
    ) -> <Self as Mode>::Answer<U>
    where
        Self: Mode,
        F: Future<Output = Result<R>> + Send + 'static,
        R: Send + 'static,
        U: Send + 'static;

    /// There is no work to be done.
    fn answer<R: Send + 'static>(result: Result<R>) -> <Self as Mode>::Answer<R>
    where
        Self: Mode;
}

impl Sealed for Waiting {
    fn perform<F, R, U>(
        db: &Db,
        operation: &'static str,
        work: impl FnOnce(Work) -> F + Send + 'static,
        read: impl FnOnce(R) -> Result<U> + Send + 'static,
    ) -> Result<U>
    where
        F: Future<Output = Result<R>> + Send + 'static,
        R: Send + 'static,
    {
        db.run(operation, work).and_then(read)
    }

    fn answer<R>(result: Result<R>) -> Result<R> {
        result
    }
}

impl Sealed for Returning {
    fn perform<F, R, U>(
        db: &Db,
        operation: &'static str,
        work: impl FnOnce(Work) -> F + Send + 'static,
        read: impl FnOnce(R) -> Result<U> + Send + 'static,
    ) -> Later<U>
    where
        F: Future<Output = Result<R>> + Send + 'static,
        R: Send + 'static,
        U: Send + 'static,
    {
        db.later(operation, work, read)
    }

    fn answer<R: Send + 'static>(result: Result<R>) -> Later<R> {
        Later::ready(result.map_err(Into::into))
    }
}
