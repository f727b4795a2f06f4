//! Several writes, all or none.

use std::future::Future;
use std::sync::Arc;

use mongodb::error::UNKNOWN_TRANSACTION_COMMIT_RESULT;

use crate::db::Work;
use crate::session::Session;
use crate::{Db, MongoError, MongoErrorKind, Result};

/// How often a transaction is tried that collides with others, and how often its end is told to a server that may not have
/// heard it.
pub const MAX_TRANSACTION_ATTEMPTS: usize = 5;

impl Db {
    /// Does what `work` does with the database that it is given as one transaction: when it returns an error, nothing of it has
    /// happened. Where it collides with other transactions it is called again, up to [`MAX_TRANSACTION_ATTEMPTS`] times.
    ///
    /// It takes a replica set, or a sharded cluster.
    ///
    /// ```no_run
    /// use tayet_mongo::{Db, Document, Result, doc};
    ///
    /// fn pay(db: &Db, from: &str, to: &str, cents: i64) -> Result<()> {
    ///     db.transaction(|db| {
    ///         let accounts = db.collection::<Document>("accounts");
    ///         accounts.update_one(doc! { "_id": from }, doc! { "$inc": { "cents": -cents } })?;
    ///         accounts.update_one(doc! { "_id": to }, doc! { "$inc": { "cents": cents } })?;
    ///         Ok(())
    ///     })
    /// }
    /// ```
    ///
    /// # Errors
    ///
    /// That of `work`; [`MongoErrorKind::Unsupported`] (501) where the server has no transactions;
    /// [`MongoErrorKind::WriteConflict`] (409) when it has collided each time.
    pub fn transaction<T, E: From<MongoError>>(
        &self,
        mut work: impl FnMut(&Self) -> Result<T, E>,
    ) -> Result<T, E> {
        if self.is_in_session() {
            return Err(MongoError::because(MongoErrorKind::Failed, "a transaction within another").into());
        }
        let session = self.run("transaction", |work| async move {
            Ok(Arc::new(Session::new(work.database.client().start_session().await?)))
        })?;
        let db = self.in_session(Arc::clone(&session));
        for _ in 0..MAX_TRANSACTION_ATTEMPTS {
            db.in_own_session(|session| async move { Ok(session.lock().await.start_transaction().await?) })?;
            match work(&db) {
                Ok(value) => match db.commit() {
                    Err(_) if session.take_worth_another_try() => {}
                    Err(error) => return Err(error.into()),
                    Ok(()) => return Ok(value),
                },
                Err(error) => {
                    let again = session.take_worth_another_try();
                    // The server forgets a transaction that is not ended; there is nobody to tell.
                    _ = db.in_own_session(|session| async move {
                        Ok(session.lock().await.abort_transaction().await?)
                    });
                    if !again {
                        return Err(error);
                    }
                }
            }
        }
        Err(MongoError::of_kind(MongoErrorKind::WriteConflict).into())
    }

    fn commit(&self) -> Result<()> {
        let mut attempt = 1;
        loop {
            let result =
                self.in_own_session(
                    |session| async move { Ok(session.lock().await.commit_transaction().await?) },
                );
            match result {
                Err(error) if attempt < MAX_TRANSACTION_ATTEMPTS && may_be_unheard(&error) => attempt += 1,
                result => return result,
            }
        }
    }

    fn in_own_session<F>(&self, act: impl FnOnce(Arc<Session>) -> F + Send + 'static) -> Result<()>
    where
        F: Future<Output = Result<()>> + Send + 'static,
    {
        self.run("transaction", |work: Work| act(work.session.expect("only called within a transaction")))
    }
}

fn may_be_unheard(error: &MongoError) -> bool {
    error.driver_error().is_some_and(|error| error.contains_label(UNKNOWN_TRANSACTION_COMMIT_RESULT))
}
