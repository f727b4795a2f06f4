//! As little as can be put between a loop and io_uring.
#![allow(
    unsafe_code,
    reason = "gives the kernel memory to read and to fill; each block says why it is sound"
)]

use std::alloc::{Layout, alloc_zeroed, handle_alloc_error};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicU16, Ordering};

use io_uring::squeue::Flags;
use io_uring::types::{BufRingEntry, Fd};
use io_uring::{IoUring, cqueue, opcode, squeue};
use rustix::io::Errno;

/// Larger than any batch of requests that the loads send.
pub const RECEIVE_BYTES: usize = 2048;
/// As many as connections may be ready at once; a power of two.
const BUFFERS: u16 = 4096;
const BUFFER_GROUP: u16 = 0;
const PAGE_BYTES: usize = 4096;
const SUBMISSIONS: u32 = 4096;

/// A ring for the thread that makes it.
pub struct Ring {
    ring: IoUring,
    listener: Fd,
    buffers: Buffers,
    completions: Vec<cqueue::Entry>,
}

/// What has happened. A connection's index is its descriptor.
pub enum Event {
    Accepted(OwnedFd),
    Received {
        index: usize,
        count: usize,
    },
    /// Nothing comes any more.
    Ended {
        index: usize,
    },
}

/// What an operation is, in the word that the kernel gives back, beside the descriptor.
#[derive(Clone, Copy)]
enum Kind {
    Accept = 0,
    Receive = 1,
    Send = 2,
}

impl Ring {
    /// Accepts from `listener`, until the process ends.
    pub fn new(listener: &OwnedFd) -> io::Result<Self> {
        let ring = IoUring::builder().setup_single_issuer().setup_defer_taskrun().build(SUBMISSIONS)?;
        let buffers = Buffers::new();
        // SAFETY: the entries are as many as is said, and are never freed.
        unsafe {
            ring.submitter().register_buf_ring_with_flags(
                buffers.entries as u64,
                BUFFERS,
                BUFFER_GROUP,
                0,
            )?;
        }
        let listener = Fd(listener.as_raw_fd());
        let mut ring = Self { ring, listener, buffers, completions: Vec::new() };
        ring.accept()?;
        Ok(ring)
    }

    /// Receives from a connection until it ends.
    pub fn receive(&mut self, index: usize) -> io::Result<()> {
        let fd = index as i32;
        self.push(opcode::RecvMulti::new(Fd(fd), BUFFER_GROUP).build(), Kind::Receive, fd)
    }

    /// Sends `bytes`, for which there must be room. Nothing is said of it.
    pub fn send(&mut self, index: usize, bytes: &'static [u8]) -> io::Result<()> {
        let send = send(index as i32, bytes).flags(Flags::SKIP_SUCCESS);
        self.push(send, Kind::Send, index as i32)
    }

    /// The same, and nothing will follow.
    pub fn send_last(&mut self, index: usize, bytes: &'static [u8]) -> io::Result<()> {
        let fd = index as i32;
        self.push(send(fd, bytes).flags(Flags::SKIP_SUCCESS | Flags::IO_LINK), Kind::Send, fd)?;
        let shutdown = opcode::Shutdown::new(Fd(fd), libc::SHUT_RDWR).build();
        self.push(shutdown.flags(Flags::SKIP_SUCCESS), Kind::Send, fd)
    }

    /// Tells the kernel what is to be done, and waits until something has happened.
    pub fn wait(&mut self) -> io::Result<()> {
        self.buffers.publish();
        match self.ring.submit_and_wait(1) {
            // A tracer that attaches interrupts the wait.
            Err(error) if error.raw_os_error() == Some(Errno::INTR.raw_os_error()) => {}
            result => drop(result?),
        }
        self.completions.extend(self.ring.completion());
        self.completions.reverse();
        Ok(())
    }

    /// What has happened next.
    pub fn next(&mut self) -> io::Result<Option<Event>> {
        while let Some(completion) = self.completions.pop() {
            if let Some(event) = self.look_at(&completion)? {
                return Ok(Some(event));
            }
        }
        Ok(None)
    }

    fn look_at(&mut self, completion: &cqueue::Entry) -> io::Result<Option<Event>> {
        let (result, more) = (completion.result(), cqueue::more(completion.flags()));
        let (kind, index) = read_word(completion.user_data());
        match kind {
            Kind::Accept => {
                if !more {
                    self.accept()?;
                }
                if result < 0 {
                    return Err(io::Error::from_raw_os_error(-result));
                }
                // SAFETY: the kernel has just opened it for us.
                Ok(Some(Event::Accepted(unsafe { OwnedFd::from_raw_fd(result) })))
            }
            Kind::Receive => {
                if let Some(buffer) = cqueue::buffer_select(completion.flags()) {
                    self.buffers.provide(buffer);
                }
                let is_out_of_buffers = result == -Errno::NOBUFS.raw_os_error();
                if result > 0 || is_out_of_buffers {
                    if !more {
                        self.receive(index)?;
                    }
                    return Ok((result > 0).then_some(Event::Received { index, count: result as usize }));
                }
                Ok(Some(Event::Ended { index }))
            }
            // It has gone, which its receiving will tell.
            Kind::Send => Ok(None),
        }
    }

    fn accept(&mut self) -> io::Result<()> {
        self.push(opcode::AcceptMulti::new(self.listener).build(), Kind::Accept, self.listener.0)
    }

    fn push(&mut self, entry: squeue::Entry, kind: Kind, fd: i32) -> io::Result<()> {
        let entry = entry.user_data((kind as u64) << 32 | fd as u64);
        // SAFETY: sends are of bytes that live for ever, and what is received goes to the buffers, which do, too.
        while unsafe { self.ring.submission().push(&entry) }.is_err() {
            self.ring.submit()?;
        }
        Ok(())
    }
}

fn send(fd: i32, bytes: &'static [u8]) -> squeue::Entry {
    opcode::Send::new(Fd(fd), bytes.as_ptr(), bytes.len() as u32).flags(libc::MSG_NOSIGNAL).build()
}

fn read_word(word: u64) -> (Kind, usize) {
    let kind = match word >> 32 {
        0 => Kind::Accept,
        1 => Kind::Receive,
        _ => Kind::Send,
    };
    (kind, word as u32 as usize)
}

/// What is received into, one buffer behind the other, and the ring by which the kernel is told which are free.
struct Buffers {
    entries: *mut BufRingEntry,
    bytes: *mut u8,
    /// So many were provided so far; it wraps.
    tail: u16,
}

impl Buffers {
    fn new() -> Self {
        let mut buffers = Self {
            entries: allocate(BUFFERS as usize * size_of::<BufRingEntry>()).cast(),
            bytes: allocate(BUFFERS as usize * RECEIVE_BYTES),
            tail: 0,
        };
        (0..BUFFERS).for_each(|id| buffers.provide(id));
        buffers.publish();
        buffers
    }

    /// Lets the kernel fill a buffer, when that is published.
    fn provide(&mut self, id: u16) {
        let position = self.tail & (BUFFERS - 1);
        // SAFETY: both are within what was allocated, and the kernel reads the entry only when it is published.
        unsafe {
            let entry = &mut *self.entries.add(position as usize);
            entry.set_addr(self.bytes.add(id as usize * RECEIVE_BYTES) as u64);
            entry.set_len(RECEIVE_BYTES as u32);
            entry.set_bid(id);
        }
        self.tail = self.tail.wrapping_add(1);
    }

    fn publish(&mut self) {
        // SAFETY: it is the first entry of the ring, of which the kernel reads this word while we write it.
        let tail = unsafe { AtomicU16::from_ptr(BufRingEntry::tail(self.entries).cast_mut()) };
        tail.store(self.tail, Ordering::Release);
    }
}

/// Zeros, aligned to a page, that are never freed: the kernel may use them as long as there is a ring.
fn allocate(bytes: usize) -> *mut u8 {
    let layout = Layout::from_size_align(bytes, PAGE_BYTES).expect("pages are no more than memory");
    // SAFETY: nobody asks for no bytes.
    let address = unsafe { alloc_zeroed(layout) };
    if address.is_null() {
        handle_alloc_error(layout);
    }
    address
}
