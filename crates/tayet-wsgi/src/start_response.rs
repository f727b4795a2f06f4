//! `start_response`, and the `write` that it returns.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pyo3::exceptions::{PyRuntimeError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};
use tayet::{Request, Response};

use crate::loan::Loan;
use crate::response_head::{LastContentType, ResponseHead};
use crate::write_queue::WriteQueue;

/// What an application has said of its answer.
#[pyclass(frozen, module = "tayet")]
pub(crate) struct Answer {
    /// For `write`, which must answer before the application returns.
    request: Loan<Request>,
    progress: Mutex<Progress>,
    last_type: LastContentType,
}

enum Progress {
    /// Not called yet.
    Idle,
    /// Called; it may still be taken back, for the head has not been sent.
    Started(ResponseHead),
    /// The head is on its way.
    Sent,
    /// The head is on its way, and the body comes by `write`.
    Writing(Arc<WriteQueue>),
    /// The connection is a WebSocket.
    Upgraded,
    /// It was one while the application was called, whose answer is nobody's.
    UpgradeOver,
}

impl Answer {
    pub(crate) fn new() -> Self {
        Self {
            request: Loan::none(),
            progress: Mutex::new(Progress::Idle),
            last_type: LastContentType::default(),
        }
    }

    /// Forgets it all, for the next call.
    pub(crate) fn forget(&self) {
        let before = std::mem::replace(&mut *self.progress(), Progress::Idle);
        drop(before);
    }

    /// Runs `f` while `write` may answer `request`.
    pub(crate) fn lend<R>(&self, request: &mut Request, f: impl FnOnce() -> R) -> R {
        self.request.lend(request, f)
    }

    /// Takes the head, which from here on counts as sent.
    ///
    /// # Errors
    ///
    /// When the application has not given one.
    pub(crate) fn take_head(&self) -> PyResult<ResponseHead> {
        let before = std::mem::replace(&mut *self.progress(), Progress::Sent);
        match before {
            Progress::Started(head) => Ok(head),
            Progress::Upgraded | Progress::UpgradeOver => {
                *self.progress() = Progress::UpgradeOver;
                Err(PyRuntimeError::new_err("the connection is a WebSocket"))
            }
            _ => {
                Err(PyRuntimeError::new_err("the application gave a body and has not called start_response"))
            }
        }
    }

    /// Where the body goes, if the application has called `write`.
    pub(crate) fn write_queue(&self) -> Option<Arc<WriteQueue>> {
        match &*self.progress() {
            Progress::Writing(queue) => Some(Arc::clone(queue)),
            _ => None,
        }
    }

    /// Answers with what begins a WebSocket.
    ///
    /// # Errors
    ///
    /// When another answer has begun, or the application has returned.
    pub(crate) fn upgrade(&self, answer: Response) -> PyResult<()> {
        let mut progress = self.progress();
        if !matches!(*progress, Progress::Idle | Progress::Started(_)) {
            return Err(PyRuntimeError::new_err("accept() is called once another answer has begun"));
        }
        let begun = self.request.with(|request| request.detach().respond(answer));
        begun.ok_or_else(|| {
            PyRuntimeError::new_err("accept() is called after the application has returned")
        })?;
        *progress = Progress::Upgraded;
        Ok(())
    }

    /// Whether the connection is a WebSocket.
    pub(crate) fn is_upgraded(&self) -> bool {
        matches!(*self.progress(), Progress::Upgraded | Progress::UpgradeOver)
    }

    /// Whether the application has returned as it should after a WebSocket.
    pub(crate) fn is_upgrade_over(&self) -> bool {
        matches!(*self.progress(), Progress::UpgradeOver)
    }

    /// Has the head, and what is written from here on, sent by another thread.
    fn begin_writing(&self) -> PyResult<Arc<WriteQueue>> {
        let mut progress = self.progress();
        if let Progress::Writing(queue) = &*progress {
            return Ok(Arc::clone(queue));
        }
        let Progress::Started(head) = std::mem::replace(&mut *progress, Progress::Sent) else {
            return Err(PyRuntimeError::new_err("write() is called once the body has begun otherwise"));
        };
        let queue = Arc::new(WriteQueue::default());
        let length = head.content_length();
        let response = head.with_body(queue.body(length));
        let begun = self.request.with(|request| request.defer().respond(response));
        begun
            .ok_or_else(|| PyRuntimeError::new_err("write() is called after the application has returned"))?;
        *progress = Progress::Writing(Arc::clone(&queue));
        Ok(queue)
    }

    /// Begins it, or begins it anew with an `exc_info`.
    fn start(
        &self,
        status: &Bound<'_, PyAny>,
        headers: &Bound<'_, PyAny>,
        exc_info: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let head = ResponseHead::new(status, headers, &self.last_type);
        let mut progress = self.progress();
        match (&*progress, exc_info) {
            (Progress::Idle | Progress::Started(_), Some(_)) | (Progress::Idle, None) => {
                *progress = Progress::Started(head?);
                Ok(())
            }
            // A framework may well answer something once its view is done with the socket.
            (Progress::Upgraded | Progress::UpgradeOver, _) => Ok(()),
            (Progress::Sent | Progress::Writing(_), Some(exc_info)) => Err(raised(exc_info)?),
            (_, None) => {
                let reason = "start_response is called for the second time, and without exc_info";
                Err(PyRuntimeError::new_err(reason))
            }
        }
    }

    fn progress(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl Answer {
    /// Sends a part of the body. Waits, without the GIL, while too much of it is still to be sent.
    fn write(&self, py: Python<'_>, block: &Bound<'_, PyAny>) -> PyResult<()> {
        let block = block.cast::<PyBytes>().map_err(|_| PyTypeError::new_err("write() takes bytes"))?;
        let queue = self.begin_writing()?;
        let bytes = block.as_bytes().to_vec();
        Ok(py.detach(|| queue.push(bytes))?)
    }
}

/// The callable by which an application begins its answer (PEP 3333, "The start_response() Callable"): its method is.
#[pyclass(frozen, module = "tayet")]
pub(crate) struct StartResponse {
    answer: Py<Answer>,
    write: Py<PyAny>,
}

impl StartResponse {
    /// For an answer, and with its bound method `write`.
    pub(crate) fn new(answer: Py<Answer>, write: Py<PyAny>) -> Self {
        Self { answer, write }
    }

    pub(crate) fn write(&self) -> &Py<PyAny> {
        &self.write
    }
}

#[pymethods]
impl StartResponse {
    #[pyo3(signature = (status, headers, exc_info=None, /))]
    fn start_response(
        &self,
        py: Python<'_>,
        status: &Bound<'_, PyAny>,
        headers: &Bound<'_, PyAny>,
        exc_info: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Py<PyAny>> {
        self.answer.get().start(status, headers, exc_info)?;
        Ok(self.write.clone_ref(py))
    }
}

/// The exception of an `exc_info` triple.
fn raised(exc_info: &Bound<'_, PyAny>) -> PyResult<PyErr> {
    let triple = exc_info.cast::<PyTuple>().map_err(|_| PyTypeError::new_err("exc_info must be a tuple"))?;
    Ok(PyErr::from_value(triple.get_item(1)?))
}
