//! A session of the server's, in which a transaction runs.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};

use mongodb::ClientSession;
use mongodb::error::TRANSIENT_TRANSACTION_ERROR;
use tokio::sync::Mutex;

use crate::MongoError;

/// Has an action run in a transaction's session, if there is one.
macro_rules! perform {
    ($session:expr, $action:expr) => {
        match &$session {
            None => $action.await,
            Some(session) => {
                let mut session = session.lock().await;
                $action.session(&mut *session).await
            }
        }
    };
}

/// A session, which whoever works in it has for himself meanwhile.
pub(crate) struct Session {
    session: Mutex<ClientSession>,
    /// Something failed that may succeed when all of the transaction is done again.
    is_worth_another_try: AtomicBool,
}

impl Session {
    pub(crate) fn new(session: ClientSession) -> Self {
        Self { session: Mutex::new(session), is_worth_another_try: AtomicBool::new(false) }
    }

    pub(crate) async fn lock(&self) -> tokio::sync::MutexGuard<'_, ClientSession> {
        self.session.lock().await
    }

    pub(crate) fn note(&self, error: &MongoError) {
        if error.driver_error().is_some_and(|error| error.contains_label(TRANSIENT_TRANSACTION_ERROR)) {
            self.is_worth_another_try.store(true, Ordering::Relaxed);
        }
    }

    pub(crate) fn take_worth_another_try(&self) -> bool {
        self.is_worth_another_try.swap(false, Ordering::Relaxed)
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").finish_non_exhaustive()
    }
}
