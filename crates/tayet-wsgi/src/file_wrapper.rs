//! `wsgi.file_wrapper` (PEP 3333, "Optional Platform-Specific File Handling").

use std::fs::File;
use std::io;

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use tayet::Body;

/// Bytes that are read of a file at once when it is iterated over, unless the application says otherwise.
const DEFAULT_BLOCK_BYTES: usize = 8 * 1024;

/// A file as an iterable of its blocks. When the application returns it as it is and it has a real file within, the file is
/// sent without Python.
#[pyclass(frozen, module = "tayet")]
pub(crate) struct FileWrapper {
    file: Py<PyAny>,
    block_bytes: usize,
}

impl FileWrapper {
    /// The real file from where Python's stands, and how many bytes are left of it. `None` where it is no regular file.
    pub(crate) fn rest(&self, py: Python<'_>) -> Option<FileRest> {
        let file = self.file.bind(py);
        let descriptor = file.call_method0(intern!(py, "fileno")).ok()?.extract::<i32>().ok()?;
        let position = file.call_method0(intern!(py, "tell")).ok()?.extract::<u64>().ok()?;
        FileRest::new(descriptor, position).ok().flatten()
    }
}

#[pymethods]
impl FileWrapper {
    #[new]
    #[pyo3(signature = (filelike, block_size=DEFAULT_BLOCK_BYTES, /))]
    fn new(filelike: Py<PyAny>, block_size: usize) -> Self {
        Self { file: filelike, block_bytes: block_size.max(1) }
    }

    fn __iter__(this: Bound<'_, Self>) -> Bound<'_, Self> {
        this
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let block = self.file.bind(py).call_method1(intern!(py, "read"), (self.block_bytes,))?;
        let block = block.cast_into::<PyBytes>()?;
        Ok((!block.as_bytes().is_empty()).then_some(block))
    }

    /// Closes the file, if it can be closed.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        match self.file.bind(py).getattr_opt(intern!(py, "close"))? {
            Some(close) => close.call0().map(drop),
            None => Ok(()),
        }
    }
}

/// A regular file from a position on.
pub(crate) struct FileRest {
    file: File,
    position: u64,
    /// Bytes from there to the end.
    pub(crate) length: u64,
}

impl FileRest {
    fn new(descriptor: i32, position: u64) -> io::Result<Option<Self>> {
        // Opened anew: the application's descriptor stays the application's, to close and to seek in as it likes.
        let file = File::open(format!("/proc/self/fd/{descriptor}"))?;
        let metadata = file.metadata()?;
        let length = metadata.len().saturating_sub(position);
        Ok(metadata.is_file().then_some(Self { file, position, length }))
    }

    /// The first `length` bytes.
    pub(crate) fn body(self, length: u64) -> Body {
        Body::from_file(self.file, self.position..self.position.saturating_add(length))
    }
}
