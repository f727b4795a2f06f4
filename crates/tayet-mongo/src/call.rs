//! Waiting for the driver on a thread that may wait.

use std::future::Future;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant};

use tayet::ClientWatch;
use tokio::runtime::Handle;
use tokio::task::JoinHandle;
use tokio::time::{timeout, timeout_at};

use crate::admission::Ticket;
use crate::{MongoError, MongoErrorKind, Result};

/// When somebody who waits first looks whether its client is still there. Each look costs a switch of threads, so that they
/// come ever more rarely, up to [`MAX_CLIENT_CHECK_MS`].
const FIRST_CLIENT_CHECK_MS: u64 = 50;
const MAX_CLIENT_CHECK_MS: u64 = 400;

/// How long the driver has to end by itself what nobody waits for any longer. Then it is made to: its connection may never
/// answer. 10 s: twice what its own look at a server that has gone silent takes.
const DRIVER_GRACE: Duration = Duration::from_secs(10);

/// Until when, and for whom, a query is worth waiting.
#[derive(Clone, Debug, Default)]
pub(crate) struct Patience {
    /// The request's deadline.
    pub(crate) due: Option<Instant>,
    pub(crate) client: Option<ClientWatch>,
}

impl Patience {
    /// How long a query that begins now may take.
    pub(crate) fn left(&self, query_timeout: Duration) -> Result<Duration> {
        let left = self.due.map(|due| due.saturating_duration_since(Instant::now()));
        match left {
            Some(Duration::ZERO) => Err(MongoError::of_kind(MongoErrorKind::TimedOut)),
            Some(left) => Ok(left.min(query_timeout)),
            None => Ok(query_timeout),
        }
    }

    fn is_client_gone(&self) -> bool {
        self.client.as_ref().is_some_and(ClientWatch::is_disconnected)
    }
}

/// What the driver is to do, let through to it.
///
/// Its futures are better not dropped half-way: it then closes the connection, with all that this costs. So what nobody waits for
/// any longer runs on to its end, for [`DRIVER_GRACE`] at most, and keeps its ticket until then.
///
/// They are also large, some kilobytes each: so they are made where they run, and boxed. What is handed to the driver's thread
/// is only what makes one.
pub(crate) struct Call<W> {
    pub(crate) runtime: Handle,
    pub(crate) ticket: Ticket,
    pub(crate) due: Instant,
    pub(crate) begin: W,
}

impl<T, F, W> Call<W>
where
    T: Send + 'static,
    F: Future<Output = Result<T>> + Send + 'static,
    W: FnOnce() -> F + Send + 'static,
{
    /// Waits for it on this thread, while it is worth it.
    pub(crate) fn wait(self, patience: &Patience) -> Result<T> {
        let Self { runtime, ticket, due, begin } = self;
        let ticket = Arc::new(ticket);
        let (sender, receiver) = sync_channel(1);
        let with_the_driver = Arc::clone(&ticket);
        let task = runtime.spawn(async move {
            let result = Box::pin(begin()).await;
            with_the_driver.ended(result.as_ref().is_err_and(MongoError::blames_server));
            drop(with_the_driver);
            // Whoever asked may have given up.
            let _ = sender.send(result);
        });
        match receive(&receiver, patience, due) {
            Ok(result) => result,
            Err(kind) => {
                if kind == MongoErrorKind::TimedOut {
                    ticket.given_up();
                }
                runtime.spawn(end(task, ticket));
                Err(MongoError::of_kind(kind))
            }
        }
    }

    /// Waits for it on the driver's own thread, and makes of it what is wanted.
    pub(crate) async fn outcome<U>(self, read: impl FnOnce(Result<T>) -> U) -> U {
        let Self { ticket, due, begin, .. } = self;
        let mut work = Box::pin(begin());
        let result = match timeout_at(due.into(), &mut work).await {
            Ok(result) => {
                ticket.ended(result.as_ref().is_err_and(MongoError::blames_server));
                result
            }
            Err(_) => {
                ticket.given_up();
                tokio::spawn(async move {
                    _ = timeout(DRIVER_GRACE, work).await;
                    drop(ticket);
                });
                Err(MongoError::of_kind(MongoErrorKind::TimedOut))
            }
        };
        read(result)
    }
}

/// Sees to it that what nobody waits for ends.
async fn end(mut task: JoinHandle<()>, ticket: Arc<Ticket>) {
    if timeout(DRIVER_GRACE, &mut task).await.is_err() {
        ticket.given_up();
        task.abort();
    }
}

/// The driver's answer, or why it is not waited for any longer.
fn receive<T>(
    receiver: &Receiver<Result<T>>,
    patience: &Patience,
    due: Instant,
) -> Result<Result<T>, MongoErrorKind> {
    let mut check = Duration::from_millis(FIRST_CLIENT_CHECK_MS);
    loop {
        let left = due.saturating_duration_since(Instant::now());
        match receiver.recv_timeout(left.min(check)) {
            Ok(result) => return Ok(result),
            Err(RecvTimeoutError::Disconnected) => {
                return Ok(Err(MongoError::because(MongoErrorKind::Failed, "the driver has panicked")));
            }
            Err(RecvTimeoutError::Timeout) if left <= check => return Err(MongoErrorKind::TimedOut),
            Err(RecvTimeoutError::Timeout) if patience.is_client_gone() => {
                return Err(MongoErrorKind::ClientGone);
            }
            Err(RecvTimeoutError::Timeout) => {
                check = (check * 2).min(Duration::from_millis(MAX_CLIENT_CHECK_MS));
            }
        }
    }
}
