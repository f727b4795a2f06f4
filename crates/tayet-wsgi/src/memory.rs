//! What a process keeps of its start without needing it.
#![allow(unsafe_code, reason = "the C library's calls have no safe interface")]

use std::fs;
use std::io::{self, BufRead, BufReader};

use pyo3::prelude::*;

/// Gives the system back what loading needed and serving does not: what is free in the C library's heap, which would be kept
/// for later, and the pages of programs and libraries. What of those is needed again comes from the system's cache of files,
/// for a fault of some microseconds.
#[pyfunction]
pub(crate) fn give_back_memory(py: Python<'_>) {
    py.detach(|| {
        trim();
        // Where it cannot be told what is mapped, everything stays.
        let _ = let_go_of_program();
    });
}

#[cfg(target_env = "gnu")]
fn trim() {
    // SAFETY: it may be called by any thread at any time, takes a number of bytes to keep, and touches only what is free.
    unsafe { libc::malloc_trim(0) };
}

/// Other C libraries give it back by themselves, or have no call for it.
#[cfg(not(target_env = "gnu"))]
fn trim() {}

/// Unmaps the pages of files that this process only reads, for the kernel to map them again one by one.
fn let_go_of_program() -> io::Result<()> {
    if fs::read_dir("/proc/self/task")?.count() != 1 {
        // Another thread may put something else in their place at any time.
        return Ok(());
    }
    let mappings = unchanged_mappings(BufReader::new(fs::File::open("/proc/self/smaps")?))?;
    for Mapping { start, end } in mappings {
        // SAFETY: the mapping is private, has never been written to and cannot be, so that every page of it is as it is in its
        // file, from where the kernel takes it again. It is still there: before it was looked up, this was already the
        // process's only thread.
        unsafe { libc::madvise(start as *mut libc::c_void, end - start, libc::MADV_DONTNEED) };
    }
    Ok(())
}

/// A range of addresses.
struct Mapping {
    start: usize,
    end: usize,
}

/// The mappings, of those that proc_pid_smaps(5) lists, whose every page is as it is in its file: that are read-only, and have
/// no page of their own in memory nor among what is swapped out.
fn unchanged_mappings(list: impl BufRead) -> io::Result<Vec<Mapping>> {
    let mut found = Vec::new();
    let mut candidate = None;
    for line in list.lines() {
        let line = line?;
        let Some((name, value)) = line.split_once(':').filter(|(name, _)| !name.contains(' ')) else {
            candidate = read_only_file(&line);
            continue;
        };
        match name {
            "Anonymous" => candidate = candidate.filter(|_| is_nothing(value)),
            "Swap" => found.extend(candidate.take().filter(|_| is_nothing(value))),
            _ => {}
        }
    }
    Ok(found)
}

/// Of the line that a mapping begins with.
fn read_only_file(line: &str) -> Option<Mapping> {
    let mut fields = line.split_ascii_whitespace();
    let (start, end) = fields.next()?.split_once('-')?;
    let permissions = fields.next()?;
    let is_file = fields.nth(3).is_some_and(|path| path.starts_with('/'));
    let is_read_only = permissions.starts_with("r-") && permissions.ends_with('p');
    if !is_file || !is_read_only {
        return None;
    }
    let address = |text| usize::from_str_radix(text, 16).ok();
    Some(Mapping { start: address(start)?, end: address(end)? })
}

fn is_nothing(size: &str) -> bool {
    size.trim() == "0 kB"
}
