//! `tayet.topics` and `tayet.publish`.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pyo3::exceptions::{PyTimeoutError, PyValueError};
use pyo3::prelude::*;
use tayet::Message;

use crate::relay::{Relay, RelayError};
use crate::web_socket::{parse_message, topic_error};

/// A server's topics, and the way to those of the other worker processes, if there are any.
pub(crate) struct Hub {
    pub(crate) topics: tayet::Topics,
    pub(crate) relay: Option<Relay>,
}

/// The hubs of the servers that run in this process: one, as a rule.
static HUBS: Mutex<Vec<Arc<Hub>>> = Mutex::new(Vec::new());

/// A server runs.
pub(crate) fn join(hub: Arc<Hub>) {
    lock().push(hub);
}

/// A server runs no longer.
pub(crate) fn leave(hub: &Arc<Hub>) {
    lock().retain(|known| !Arc::ptr_eq(known, hub));
}

/// The topics of the servers that run in this process: `tayet.topics`.
#[pyclass(frozen, module = "tayet")]
pub(crate) struct Topics;

#[pymethods]
impl Topics {
    #[new]
    fn new() -> Self {
        Self
    }

    /// Sends a message to all that are in a topic, in the other worker processes too; returns how many of them this process
    /// has.
    fn publish(&self, py: Python<'_>, topic: &str, message: &Bound<'_, PyAny>) -> PyResult<usize> {
        let message = parse_message(message)?;
        py.detach(|| {
            // A relay may have to wait.
            let hubs = lock().clone();
            hubs.iter().map(|hub| hub.publish(topic, &message)).sum()
        })
    }

    /// How many sockets of this process are in a topic.
    fn members(&self, py: Python<'_>, topic: &str) -> usize {
        py.detach(|| lock().iter().map(|hub| hub.topics.members(topic)).sum())
    }

    /// The topics in which sockets of this process are.
    fn names(&self, py: Python<'_>) -> Vec<String> {
        let mut names: Vec<_> = py.detach(|| lock().iter().flat_map(|hub| hub.topics.names()).collect());
        names.sort();
        names.dedup();
        names
    }
}

impl Hub {
    fn publish(&self, topic: &str, message: &Message) -> PyResult<usize> {
        let members = self.topics.publish(topic, message.clone()).map_err(topic_error)?;
        match self.relay.as_ref().map(|relay| relay.publish(topic, message)) {
            None | Some(Ok(())) => Ok(members),
            Some(Err(error @ RelayError::TooLarge)) => Err(PyValueError::new_err(error.to_string())),
            Some(Err(error @ RelayError::Stalled)) => Err(PyTimeoutError::new_err(error.to_string())),
        }
    }
}

fn lock() -> MutexGuard<'static, Vec<Arc<Hub>>> {
    HUBS.lock().unwrap_or_else(PoisonError::into_inner)
}
