//! The iterable that an application returns.

use std::io::{self, Write};
use std::time::{Duration, Instant};

use pyo3::exceptions::PyTypeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyIterator, PyList, PyTuple};
use tayet::{BodyWriter, Bytes};

use crate::attachment::attached;
use crate::log::print_exception;

/// Blocks up to this size are copied, which costs less than to hold them.
const MAX_COPIED_BLOCK_BYTES: usize = 16 * 1024;

/// Blocks up to this size are sent without leaving the GIL where the client takes them at once: some microseconds each.
const MAX_SMALL_BLOCK_BYTES: usize = 32 * 1024;

/// An application that makes blocks in less than this may have the small ones sent together.
const FAST_BLOCK: Duration = Duration::from_micros(100);

/// So much is sent before others may have the GIL. Python itself changes threads every 5 ms, but not in iterators written in C.
const MAX_HELD_BYTES: usize = 1024 * 1024;

/// What an application has returned, to be closed exactly once: when it is used up, or dropped before.
pub(crate) struct Iterable {
    object: Py<PyAny>,
    iterator: Option<Py<PyIterator>>,
    is_closed: bool,
}

impl Iterable {
    pub(crate) fn new(object: Bound<'_, PyAny>) -> Self {
        Self { object: object.unbind(), iterator: None, is_closed: false }
    }

    /// What the application returned.
    pub(crate) fn object<'py>(&self, py: Python<'py>) -> &Bound<'py, PyAny> {
        self.object.bind(py)
    }

    /// The whole body where it lies in a list or a tuple, which have nothing to close.
    pub(crate) fn listed(&mut self, py: Python<'_>) -> PyResult<Option<Bytes>> {
        let object = self.object.bind(py);
        let body = if let Ok(list) = object.cast_exact::<PyList>() {
            joined(list.iter())
        } else if let Ok(tuple) = object.cast_exact::<PyTuple>() {
            joined(tuple.iter())
        } else {
            return Ok(None);
        };
        self.is_closed = true;
        body.map(Some)
    }

    /// The next block that is not empty.
    pub(crate) fn next<'py>(&mut self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyBytes>>> {
        if self.iterator.is_none() {
            self.iterator = Some(self.object.bind(py).try_iter()?.unbind());
        }
        let Some(iterator) = &self.iterator else { return Ok(None) };
        for block in iterator.bind(py).clone() {
            let block = checked(block?)?;
            if !block.as_bytes().is_empty() {
                return Ok(Some(block));
            }
        }
        Ok(None)
    }

    /// Whether a first block is all there is: the iterable has a length, and that is one.
    pub(crate) fn is_single(&self, py: Python<'_>) -> bool {
        let object = self.object.bind(py);
        object.cast::<PyIterator>().is_err() && object.len().is_ok_and(|length| length == 1)
    }

    /// Sends `first` and what follows, at most `left` bytes. Each block is on its way before the next one is asked for; the
    /// GIL is held only while one is.
    pub(crate) fn send(
        mut self,
        first: PyBackedBytes,
        left: u64,
        out: &mut BodyWriter<'_>,
    ) -> io::Result<()> {
        let sent = self.send_all(first, &mut Wire { out, left });
        attached(|py| self.close(py));
        sent
    }

    fn send_all(&mut self, first: PyBackedBytes, wire: &mut Wire<'_, '_>) -> io::Result<()> {
        let mut large = Some(first);
        loop {
            if let Some(block) = &large {
                wire.write(block)?;
            }
            wire.out.flush()?;
            let next = attached(|py| {
                drop(large.take());
                self.send_small(py, wire)
            })?;
            large = match next {
                Next::End => return Ok(()),
                Next::Flush => None,
                Next::Large(block) => Some(block),
            };
        }
    }

    /// Sends blocks without leaving the GIL, for as long as they are small and the client takes them at once: to leave and take
    /// it costs more than that.
    fn send_small(&mut self, py: Python<'_>, wire: &mut Wire<'_, '_>) -> io::Result<Next> {
        let mut sent_bytes = 0;
        let mut made_before = Instant::now();
        while wire.left > 0 {
            let block = self.next(py).map_err(|error| {
                print_exception(py, "the application failed amid its answer", &error);
                io::Error::other("the application failed")
            })?;
            let Some(block) = block else { return Ok(Next::End) };
            sent_bytes += block.as_bytes().len();
            if block.as_bytes().len() > MAX_SMALL_BLOCK_BYTES {
                return Ok(Next::Large(block.into()));
            }
            let made_at = Instant::now();
            let is_fast = made_at.duration_since(made_before) < FAST_BLOCK;
            made_before = made_at;
            if !wire.write_small(block.as_bytes(), is_fast)? || sent_bytes > MAX_HELD_BYTES {
                return Ok(Next::Flush);
            }
        }
        Ok(Next::End)
    }

    /// Tells the application that its iterable is done with.
    pub(crate) fn close(&mut self, py: Python<'_>) {
        if std::mem::replace(&mut self.is_closed, true) {
            return;
        }
        let closed = match self.object.bind(py).getattr_opt(intern!(py, "close")) {
            Ok(Some(close)) => close.call0().map(drop),
            Ok(None) => Ok(()),
            Err(error) => Err(error),
        };
        if let Err(error) = closed {
            print_exception(py, "close() of the application's iterable failed", &error);
        }
    }
}

impl Drop for Iterable {
    fn drop(&mut self) {
        if !self.is_closed {
            attached(|py| self.close(py));
        }
    }
}

/// Where the blocks go.
struct Wire<'a, 'b> {
    out: &'a mut BodyWriter<'b>,
    /// Bytes that the application's `Content-Length` leaves room for.
    left: u64,
}

impl Wire<'_, '_> {
    /// Writes a block, or as much of it as there is room for.
    fn write(&mut self, block: &[u8]) -> io::Result<()> {
        let bytes = self.take(block);
        self.out.write_all(bytes)
    }

    /// The same with a small one, which is sent with the next few where the application makes them fast. `false` when the client
    /// does not take it.
    fn write_small(&mut self, block: &[u8], is_fast: bool) -> io::Result<bool> {
        let bytes = self.take(block);
        Ok(self.out.write_soon(bytes)? && (is_fast || self.out.flush_now()?))
    }

    /// As much of a block as there is room for.
    fn take<'c>(&mut self, block: &'c [u8]) -> &'c [u8] {
        let bytes = &block[..block.len().min(usize::try_from(self.left).unwrap_or(usize::MAX))];
        self.left -= bytes.len() as u64;
        bytes
    }
}

/// What is to be done without the GIL.
enum Next {
    End,
    /// Waiting for the client, or letting others have the GIL.
    Flush,
    Large(PyBackedBytes),
}

/// Blocks as one; most often there is only one.
fn joined<'py>(mut blocks: impl ExactSizeIterator<Item = Bound<'py, PyAny>>) -> PyResult<Bytes> {
    if blocks.len() == 1
        && let Some(only) = blocks.next()
    {
        return checked(only).map(block_bytes);
    }
    let blocks = blocks.map(checked).collect::<PyResult<Vec<_>>>()?;
    Ok(blocks.iter().map(|block| block.as_bytes()).collect::<Vec<_>>().concat().into())
}

/// A block as what is sent: a small one is copied; of a large one Python's own memory is, which is let go at the next call.
pub(crate) fn block_bytes(block: Bound<'_, PyBytes>) -> Bytes {
    if block.as_bytes().len() <= MAX_COPIED_BLOCK_BYTES {
        return Bytes::copy_from_slice(block.as_bytes());
    }
    Bytes::from_owner(PyBackedBytes::from(block))
}

fn checked(block: Bound<'_, PyAny>) -> PyResult<Bound<'_, PyBytes>> {
    block.cast_into::<PyBytes>().map_err(|error| {
        let kind = error.into_inner().get_type().to_string();
        PyTypeError::new_err(format!("the application's iterable must give bytes, not {kind}"))
    })
}
