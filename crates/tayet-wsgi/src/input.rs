//! `wsgi.input`.

use std::io::{self, BufRead, BufReader, Read};
use std::sync::{Mutex, MutexGuard, PoisonError};

use memchr::memchr;
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};
use tayet::{BodyError, Bytes, Request, RequestBody};

/// Bytes that are taken from an arriving body at once.
const READ_BUFFER_BYTES: usize = 64 * 1024;

/// A request's body as the application reads it: a file that ends where the body does.
///
/// Reading waits for what has not arrived, without the GIL; what is not read holds the client back.
#[pyclass(frozen, module = "tayet")]
pub(crate) struct Input {
    source: Source,
    failure: Mutex<Option<BodyError>>,
}

enum Source {
    /// All there, what has been read cut off.
    Whole(Mutex<Bytes>),
    /// On its way. The lock is taken without the GIL only, since its holder waits for the client.
    Arriving(Mutex<BufReader<RequestBody>>),
}

impl From<Source> for Input {
    fn from(source: Source) -> Self {
        Self { source, failure: Mutex::new(None) }
    }
}

impl Input {
    /// The body of all requests that have none: since nothing about it ever changes, they need none of their own.
    pub(crate) fn empty() -> Self {
        Self::from(Source::Whole(Mutex::default()))
    }

    /// Takes a request's body; `None` if it has none.
    pub(crate) fn of<'py>(py: Python<'py>, request: &mut Request) -> PyResult<Option<Bound<'py, Self>>> {
        if request.content_length() == Some(0) {
            return Ok(None);
        }
        let mut body = request.take_body();
        let source = if body.is_whole() {
            Source::Whole(Mutex::new(body.read_whole(usize::MAX).unwrap_or_default()))
        } else {
            Source::Arriving(Mutex::new(BufReader::with_capacity(READ_BUFFER_BYTES, body)))
        };
        Bound::new(py, Self::from(source)).map(Some)
    }

    /// Why the body could not be read to its end, if the application has met that.
    pub(crate) fn failure(&self) -> Option<BodyError> {
        *lock(&self.failure)
    }

    /// Takes up to `limit` bytes: of a whole body those that `part` counts, of an arriving one what `read` reads.
    fn take<'py>(
        &self,
        py: Python<'py>,
        limit: Option<i64>,
        part: impl FnOnce(&[u8]) -> usize,
        read: impl FnOnce(&mut dyn BufRead, &mut Vec<u8>) -> io::Result<usize> + Send,
    ) -> PyResult<Bound<'py, PyBytes>> {
        // Python's way to say "all" is a negative size, or none.
        let limit = limit.and_then(|limit| u64::try_from(limit).ok()).unwrap_or(u64::MAX);
        match &self.source {
            Source::Whole(rest) => {
                let mut rest = lock(rest);
                let limited = &rest[..rest.len().min(usize::try_from(limit).unwrap_or(usize::MAX))];
                let length = part(limited);
                let taken = rest.split_to(length);
                drop(rest);
                Ok(PyBytes::new(py, &taken))
            }
            Source::Arriving(reader) => {
                let mut bytes = Vec::new();
                let outcome = py.detach(|| read(&mut (&mut *lock(reader)).take(limit), &mut bytes));
                outcome.map(|_| PyBytes::new(py, &bytes)).map_err(|error| self.fail(error))
            }
        }
    }

    fn fail(&self, error: io::Error) -> PyErr {
        if let Some(failure) = error.get_ref().and_then(|inner| inner.downcast_ref::<BodyError>()) {
            *lock(&self.failure) = Some(*failure);
        }
        match error.kind() {
            io::ErrorKind::TimedOut | io::ErrorKind::ConnectionAborted => error.into(),
            _ => PyOSError::new_err(error.to_string()),
        }
    }
}

#[pymethods]
impl Input {
    /// Reads `size` bytes, fewer only at the end; without a size, or with a negative one, all.
    #[pyo3(signature = (size=None, /))]
    fn read<'py>(&self, py: Python<'py>, size: Option<i64>) -> PyResult<Bound<'py, PyBytes>> {
        self.take(py, size, <[u8]>::len, |reader, bytes| reader.read_to_end(bytes))
    }

    /// Reads up to the end of the line, or `size` bytes.
    #[pyo3(signature = (size=None, /))]
    fn readline<'py>(&self, py: Python<'py>, size: Option<i64>) -> PyResult<Bound<'py, PyBytes>> {
        let line = |rest: &[u8]| memchr(b'\n', rest).map_or(rest.len(), |end| end + 1);
        self.take(py, size, line, |reader, bytes| reader.read_until(b'\n', bytes))
    }

    /// Reads the lines that are left; with a hint, no more lines once they have so many bytes.
    #[pyo3(signature = (hint=None, /))]
    fn readlines<'py>(&self, py: Python<'py>, hint: Option<i64>) -> PyResult<Bound<'py, PyList>> {
        let lines = PyList::empty(py);
        let limit = hint.and_then(|hint| usize::try_from(hint).ok()).filter(|&hint| hint > 0);
        let mut total = 0;
        loop {
            let line = self.readline(py, None)?;
            total += line.as_bytes().len();
            if line.as_bytes().is_empty() {
                return Ok(lines);
            }
            lines.append(line)?;
            if limit.is_some_and(|limit| total >= limit) {
                return Ok(lines);
            }
        }
    }

    fn __iter__(this: Bound<'_, Self>) -> Bound<'_, Self> {
        this
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let line = self.readline(py, None)?;
        Ok((!line.as_bytes().is_empty()).then_some(line))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
