//! What a thread has been doing: running, waiting for a core, or blocked.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// A thread of this process, seen from another: the state that the kernel's scheduler gives it and the CPU time it had.
///
/// Reading costs a few microseconds, so ask it of suspects only.
#[derive(Debug)]
pub struct ThreadActivity {
    stat: File,
    schedstat: File,
}

/// A reading of [`ThreadActivity`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThreadState {
    /// It sleeps in the kernel: blocked.
    pub is_blocked: bool,
    /// CPU time so far, in nanoseconds.
    pub cpu_ns: u64,
}

impl ThreadActivity {
    /// Of the calling thread.
    ///
    /// # Errors
    ///
    /// Where /proc is not mounted.
    pub fn of_current() -> io::Result<Self> {
        let task = format!("/proc/self/task/{}", rustix::thread::gettid().as_raw_nonzero());
        Ok(Self {
            stat: File::open(format!("{task}/stat"))?,
            schedstat: File::open(format!("{task}/schedstat"))?,
        })
    }

    /// What it is doing now.
    ///
    /// # Errors
    ///
    /// When the thread has ended.
    pub fn read(&self) -> io::Result<ThreadState> {
        let mut text = [0; 512];
        let read = self.stat.read_at(&mut text, 0)?;
        let stat = &text[..read];
        // "tid (name) S ...": the name may hold anything, so the state is found behind the last parenthesis.
        let state = stat.iter().rposition(|&byte| byte == b')').and_then(|at| stat.get(at + 2)).copied();
        let is_blocked = matches!(state, Some(b'S' | b'D'));
        let read = self.schedstat.read_at(&mut text, 0)?;
        let cpu_ns = std::str::from_utf8(&text[..read])
            .ok()
            .and_then(|fields| fields.split_ascii_whitespace().next()?.parse().ok())
            .ok_or(io::ErrorKind::InvalidData)?;
        Ok(ThreadState { is_blocked, cpu_ns })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn a_thread_that_waits_is_blocked_and_one_that_reads_itself_runs() {
        let own = ThreadActivity::of_current().unwrap();
        assert!(!own.read().unwrap().is_blocked);

        let (handle_out, handle_in) = mpsc::channel();
        let (release, released) = mpsc::channel::<()>();
        let waiting = std::thread::spawn(move || {
            handle_out.send(ThreadActivity::of_current().unwrap()).unwrap();
            let _ = released.recv();
        });
        let activity = handle_in.recv().unwrap();
        while !activity.read().unwrap().is_blocked {
            std::thread::yield_now();
        }
        drop(release);
        waiting.join().unwrap();
        // Who joins is woken before the kernel has let go of the thread.
        while activity.read().is_ok() {
            std::thread::yield_now();
        }
    }
}
