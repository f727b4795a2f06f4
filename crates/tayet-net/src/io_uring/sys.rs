//! The ring, its memory, and what the kernel may touch of ours.
//!
//! Here and nowhere else are pointers given to the kernel. They are to memory that the [`Ring`] owns: the buffers that it
//! receives into, and the sends that are under way. Either comes out only by a completion, or is kept until the ring is
//! closed.
#![allow(unsafe_code, reason = "shares memory with the kernel; each block says why it is sound")]

use std::alloc::{self, Layout};
use std::collections::VecDeque;
use std::io;
use std::panic::resume_unwind;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU16, Ordering};
use std::thread;
use std::time::Duration;

use io_uring::types::{BufRingEntry, Fd, SubmitArgs, Timespec};
use io_uring::{cqueue, opcode, squeue};
use rustix::fd::{AsRawFd, BorrowedFd};
use rustix::io::Errno;

use super::abilities::Abilities;
use super::operation::{Epoch, Operation};
use super::surroundings::Surroundings;
use super::unavailable::Unavailable;
use crate::{BatchedSend, Outgoing, Token};

/// Operations that are handed to the kernel in one go.
const SUBMISSIONS: u32 = 256;

/// Completions that the kernel can lay down before they are taken; it keeps those beyond.
pub(super) const COMPLETIONS: u32 = 4_096;

/// Buffers that the kernel may fill before one is given back, to begin with.
pub(crate) const RECEIVE_BUFFERS: u16 = 256;

/// The same where these did not suffice: each time they are doubled, up to this. A power of two.
///
/// A connection that finds none is received from once more, which costs a tenth of a request or more. Buffers that nothing was received
/// into take no memory, so that a loop's take as much as came at once, 64 MiB at most.
pub(crate) const MOST_RECEIVE_BUFFERS: u16 = 4_096;

/// Bytes of one such buffer.
pub(crate) const RECEIVE_BUFFER_BYTES: usize = 16 * 1024;

/// From one to the next. Short requests lie in their first lines: if these were a power of two apart, they would have but few places
/// in the processor's caches.
const BUFFER_STRIDE_BYTES: usize = RECEIVE_BUFFER_BYTES + 2 * 64;

/// Most bytes of one part of a send; the rest follows in another send.
const MAX_SEND_BYTES: usize = 1 << 30;

const BUFFER_GROUP: u16 = 0;
const PAGE_BYTES: usize = 4_096;

/// A ring, with all memory that it shares with the kernel.
pub(super) struct Ring {
    ring: io_uring::IoUring,
    buffers: Buffers,
    /// Operations for the kernel's next look.
    queued: Vec<squeue::Entry>,
    /// Sends by their number; each has its place in memory as long as the ring lives.
    #[expect(clippy::vec_box, reason = "the kernel is given their addresses")]
    sends: Vec<Box<Send>>,
    free_sends: Vec<u32>,
    queued_sends: usize,
    /// A batch that is being put together.
    batched: Vec<squeue::Entry>,
    /// The last batch's number.
    batch: Epoch,
    /// Bytes of batches that the kernel refused, and may yet look at.
    stranded: Vec<Vec<u8>>,
}

/// A send that is under way, or the place for one.
struct Send {
    slot: u32,
    outgoing: Outgoing,
    parts: [libc::iovec; 2],
    message: libc::msghdr,
}

/// What a completion says.
#[derive(Debug)]
pub(super) struct Event {
    pub(super) operation: Operation,
    result: i32,
    flags: u32,
}

/// A buffer that the kernel has filled. It is given back with [`Ring::give_back`].
#[derive(Debug)]
#[must_use = "a buffer that is not given back is lost to the ring"]
pub(super) struct Filled {
    id: u16,
    length: usize,
}

impl Ring {
    /// A ring that no living thread has made: when a ring is closed, the kernel interrupts those that have used it, and who
    /// only made it for another should not find a system call of its own cut short.
    pub(super) fn open() -> Result<Self, Unavailable> {
        thread::scope(|scope| {
            let opening = thread::Builder::new().spawn_scoped(scope, Self::open_here);
            opening.map_err(Unavailable::Other)?.join().unwrap_or_else(|panic| resume_unwind(panic))
        })
    }

    fn open_here() -> Result<Self, Unavailable> {
        let refused =
            |what| move |error| Unavailable::from_refusal(error, what, &Surroundings::of_current_thread());
        let ring: io_uring::IoUring = io_uring::IoUring::builder()
            .setup_cqsize(COMPLETIONS)
            .setup_submit_all()
            .setup_coop_taskrun()
            .build(SUBMISSIONS)
            .map_err(refused("cooperative task running"))?;
        let mut probe = io_uring::Probe::new();
        ring.submitter().register_probe(&mut probe).map_err(refused("list of its operations"))?;
        let abilities = Abilities {
            waits_with_timeout: ring.params().is_feature_ext_arg(),
            keeps_completions: ring.params().is_feature_nodrop(),
            knows_operation: &|code| probe.is_supported(code),
        };
        if let Some(missing) = abilities.missing() {
            return Err(Unavailable::TooOld { missing });
        }
        let buffers = Buffers::new().map_err(Unavailable::Other)?;
        // SAFETY: the address is of live memory for MOST_RECEIVE_BUFFERS entries, which is freed only after the kernel has let
        // go of it (see `Drop`).
        unsafe {
            ring.submitter().register_buf_ring_with_flags(
                buffers.ring_address(),
                MOST_RECEIVE_BUFFERS,
                BUFFER_GROUP,
                0,
            )
        }
        .map_err(refused("rings of buffers"))?;
        // Nothing is submitted yet: whether this may be called at all is to be known now.
        ring.submit().map_err(refused("way to be entered"))?;
        Ok(Self {
            ring,
            buffers,
            queued: Vec::new(),
            sends: Vec::new(),
            free_sends: Vec::new(),
            queued_sends: 0,
            batched: Vec::new(),
            batch: Epoch::default(),
            stranded: Vec::new(),
        })
    }

    /// Watches an eventfd or a listener until that is cancelled or fails: an event for each time that something comes.
    pub(super) fn watch(&mut self, fd: BorrowedFd<'_>, operation: Operation) {
        let entry = opcode::PollAdd::new(Fd(fd.as_raw_fd()), libc::POLLIN as u32).multi(true).build();
        self.queue(entry, operation);
    }

    /// Receives until it is cancelled, fails, ends, or there are no buffers left.
    ///
    /// The descriptor must stay open until the last event of the operation; another connection's bytes might come else.
    pub(super) fn receive(&mut self, fd: BorrowedFd<'_>, slot: u32, epoch: Epoch) {
        let entry = opcode::RecvMulti::new(Fd(fd.as_raw_fd()), BUFFER_GROUP).build();
        self.queue(entry, Operation::Receive { slot, epoch });
    }

    /// Tells once when a connection takes more. The descriptor must stay open until then.
    pub(super) fn await_writable(&mut self, fd: BorrowedFd<'_>, slot: u32) {
        let entry = opcode::PollAdd::new(Fd(fd.as_raw_fd()), libc::POLLOUT as u32).build();
        self.queue(entry, Operation::Writable { slot });
    }

    /// Sends what the connection takes at once. The descriptor must stay open until the event.
    pub(super) fn send(&mut self, fd: BorrowedFd<'_>, slot: u32, outgoing: Outgoing) {
        let number = self.free_sends.pop().unwrap_or_else(|| {
            self.sends.push(Send::place());
            (self.sends.len() - 1) as u32
        });
        let entry = self.sends[number as usize].begin(fd, slot, outgoing);
        self.queue(entry, Operation::Send { number });
        self.queued_sends += 1;
    }

    /// Sends that the kernel has not been told of.
    pub(super) fn queued_sends(&self) -> usize {
        self.queued_sends
    }

    /// Ends an operation that goes on by itself. Its last event tells when it has ended.
    pub(super) fn cancel(&mut self, operation: Operation) {
        let entry = opcode::AsyncCancel::new(operation.to_bits()).build();
        self.queue(entry.flags(squeue::Flags::SKIP_SUCCESS), Operation::Cancel);
    }

    fn queue(&mut self, entry: squeue::Entry, operation: Operation) {
        self.queued.push(entry.user_data(operation.to_bits()));
    }

    /// Tells the kernel what is queued. Events are taken by the next [`Ring::enter`].
    pub(super) fn submit(&mut self) -> io::Result<()> {
        while self.fill_submissions() {
            match self.ring.submit() {
                Err(error) if is_passing(&error) => return Ok(()),
                result => drop(result?),
            }
        }
        Ok(())
    }

    /// Tells the kernel what is queued, waits up to `timeout` (`None` is for ever) if no event is there, and takes the
    /// events.
    pub(super) fn enter(
        &mut self,
        timeout: Option<Duration>,
        events: &mut VecDeque<Event>,
    ) -> io::Result<()> {
        loop {
            self.fill_submissions();
            let waits = self.queued.is_empty() && events.is_empty() && timeout != Some(Duration::ZERO);
            let result = if waits { self.wait(timeout) } else { self.ring.submit() };
            let before = events.len();
            self.take_events(events);
            match result {
                Err(error) if is_passing(&error) && (waits || events.len() > before) => {}
                result => drop(result?),
            }
            if self.has_told_all() {
                return Ok(());
            }
        }
    }

    /// Sends what goes at once of each of these, by one system call, with what else is queued; and takes the events that there are.
    ///
    /// An error is the ring's own, as when the kernel is out of memory. Some of them may be sent later then, or in part: the connections
    /// are of no use any more.
    pub(super) fn send_batch<'a>(
        &mut self,
        batch: &mut [BatchedSend],
        socket_of: impl Fn(Token) -> Option<BorrowedFd<'a>>,
        events: &mut VecDeque<Event>,
    ) -> io::Result<()> {
        self.batched.clear();
        self.batch = self.batch.next();
        for (place, send) in (0..).zip(batch.iter_mut()) {
            let Some(socket) = socket_of(send.token) else { continue };
            let bytes = &send.bytes[..send.bytes.len().min(MAX_SEND_BYTES)];
            let operation = Operation::BatchedSend { place, batch: self.batch };
            self.batched.push(batched_send(socket, bytes, operation));
            // Unless an event tells otherwise.
            send.sent = bytes.len();
        }
        self.queued.append(&mut self.batched);
        loop {
            self.fill_submissions();
            let result = self.ring.submit();
            let before = events.len();
            self.take_events(events);
            note_failures(events, before, self.batch, batch);
            if self.has_told_all() {
                return Ok(());
            }
            match result {
                Err(error) if !is_passing(&error) => {
                    self.stranded.extend(batch.iter_mut().map(|send| std::mem::take(&mut send.bytes)));
                    return Err(error);
                }
                _ => {}
            }
        }
    }

    /// Whether the kernel knows of all that is queued, and has told all that it has to tell.
    fn has_told_all(&mut self) -> bool {
        let submissions = self.ring.submission();
        self.queued.is_empty() && submissions.is_empty() && !submissions.cq_overflow()
    }

    fn wait(&self, timeout: Option<Duration>) -> io::Result<usize> {
        let Some(timeout) = timeout else { return self.ring.submit_and_wait(1) };
        let timespec = Timespec::from(timeout);
        self.ring.submitter().submit_with_args(1, &SubmitArgs::new().timespec(&timespec))
    }

    /// Moves what is queued to where the kernel looks. Gives whether there is anything for it.
    fn fill_submissions(&mut self) -> bool {
        let mut submissions = self.ring.submission();
        let count = self.queued.len().min(submissions.capacity() - submissions.len());
        // SAFETY: the entries are those of this file. The memory that they point to is the ring's: a send's place and the
        // bytes that it holds stay where they are until its event is taken, for which the kernel must have seen it. Or it is a
        // batch's: `send_batch` returns when the kernel has done with it, since those sends do not wait, or keeps it.
        let pushed = unsafe { submissions.push_multiple(&self.queued[..count]) };
        debug_assert!(pushed.is_ok(), "there was room");
        self.queued.drain(..count);
        if self.queued.is_empty() {
            self.queued_sends = 0;
        }
        !submissions.is_empty()
    }

    fn take_events(&mut self, events: &mut VecDeque<Event>) {
        events.extend(self.ring.completion().map(|completion| Event {
            operation: Operation::from_bits(completion.user_data()),
            result: completion.result(),
            flags: completion.flags(),
        }));
    }

    /// Whose send this was, and what was to be sent: for whom its event has come.
    pub(super) fn take_send(&mut self, number: u32) -> (u32, Outgoing) {
        let send = &mut self.sends[number as usize];
        self.free_sends.push(number);
        (send.slot, std::mem::take(&mut send.outgoing))
    }

    /// What the kernel laid into a buffer.
    pub(super) fn bytes(&self, filled: &Filled) -> &[u8] {
        self.buffers.bytes(filled)
    }

    /// Has the kernel fill more buffers before one is given back, if there may be more.
    pub(super) fn provide_more(&mut self) {
        self.buffers.extend_to(MOST_RECEIVE_BUFFERS.min(2 * self.buffers.count));
    }

    /// How many it has or may have.
    #[cfg(test)]
    pub(super) fn buffers_in_all(&self) -> u16 {
        self.buffers.count
    }

    /// Lets the kernel fill a buffer anew.
    #[expect(clippy::needless_pass_by_value, reason = "it is gone for who gives it back")]
    pub(super) fn give_back(&mut self, filled: Filled) {
        self.buffers.provide(filled.id);
    }
}

// SAFETY: the pointers are to memory that the ring owns and nobody else has; they go with it.
unsafe impl std::marker::Send for Ring {}

impl Drop for Ring {
    fn drop(&mut self) {
        // An operation that another thread has armed might be just now filling a buffer; once this is done none can. Sends
        // need no such care: they do not wait, and are over when the kernel has taken them.
        if self.ring.submitter().unregister_buf_ring(BUFFER_GROUP).is_err() {
            self.buffers.leak();
        }
    }
}

impl Send {
    fn place() -> Box<Self> {
        let parts = [libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 }; 2];
        // SAFETY: all zeros is a message header without address, parts and control data.
        let message = unsafe { std::mem::zeroed() };
        Box::new(Self { slot: 0, outgoing: Outgoing::default(), parts, message })
    }

    fn begin(&mut self, fd: BorrowedFd<'_>, slot: u32, outgoing: Outgoing) -> squeue::Entry {
        self.slot = slot;
        self.outgoing = outgoing;
        let fd = Fd(fd.as_raw_fd());
        let flags = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL;
        let (head, tail) = self.outgoing.rest();
        if head.is_empty() || tail.is_empty() {
            let part = if tail.is_empty() { head } else { tail };
            let length = part.len().min(MAX_SEND_BYTES) as u32;
            return opcode::Send::new(fd, part.as_ptr(), length).flags(flags).build();
        }
        self.parts = [head, tail].map(|part| libc::iovec {
            iov_base: part.as_ptr().cast_mut().cast(),
            iov_len: part.len().min(MAX_SEND_BYTES),
        });
        self.message.msg_iov = self.parts.as_mut_ptr();
        self.message.msg_iovlen = self.parts.len();
        opcode::SendMsg::new(fd, &raw const self.message).flags(flags as u32).build()
    }
}

/// Sends all that goes at once. There is an event for it only where that is not all.
fn batched_send(socket: BorrowedFd<'_>, bytes: &[u8], operation: Operation) -> squeue::Entry {
    let flags = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL | libc::MSG_WAITALL;
    let fd = Fd(socket.as_raw_fd());
    let send = opcode::Send::new(fd, bytes.as_ptr(), bytes.len() as u32).flags(flags).build();
    send.flags(squeue::Flags::SKIP_SUCCESS).user_data(operation.to_bits())
}

/// Takes those of the events from this one on that are about a batch, and notes how little of this one was sent.
fn note_failures(events: &mut VecDeque<Event>, from: usize, number: Epoch, sends: &mut [BatchedSend]) {
    let is_about_it = |event: &Event| matches!(event.operation, Operation::BatchedSend { .. });
    if !events.range(from..).any(is_about_it) {
        return;
    }
    for event in events.range(from..) {
        if let Operation::BatchedSend { place, batch } = event.operation
            && batch == number
        {
            sends[place as usize].sent = event.count().unwrap_or(0);
        }
    }
    events.retain(|event| !is_about_it(event));
}

impl Event {
    /// Whether the operation goes on.
    pub(super) fn more(&self) -> bool {
        cqueue::more(self.flags)
    }

    /// How much was received or sent.
    pub(super) fn count(&self) -> Result<usize, Errno> {
        if self.result < 0 {
            return Err(Errno::from_raw_os_error(-self.result));
        }
        Ok(self.result as usize)
    }

    /// Where what was received lies; `None` is the end.
    pub(super) fn filled(self) -> Result<Option<Filled>, Errno> {
        let length = self.count()?;
        Ok(cqueue::buffer_select(self.flags).map(|id| Filled { id, length }))
    }
}

impl Filled {
    pub(super) fn len(&self) -> usize {
        self.length
    }
}

/// The memory that is received into, and the ring by which the kernel is told which of it is free.
struct Buffers {
    entries: NonNull<BufRingEntry>,
    bytes: NonNull<u8>,
    /// Buffers that are the kernel's or filled.
    count: u16,
    /// How often one was provided; it wraps.
    tail: u16,
    is_leaked: bool,
}

impl Buffers {
    fn new() -> io::Result<Self> {
        // SAFETY: neither layout is empty.
        let entries =
            NonNull::new(unsafe { alloc::alloc_zeroed(Self::ENTRIES) }).ok_or(io::ErrorKind::OutOfMemory)?;
        // SAFETY: the same. What is not written is not read, so that pages which no message reaches cost nothing.
        let bytes = NonNull::new(unsafe { alloc::alloc(Self::BYTES) }).ok_or(io::ErrorKind::OutOfMemory)?;
        let entries = entries.cast::<BufRingEntry>();
        let mut buffers = Self { entries, bytes, count: 0, tail: 0, is_leaked: false };
        buffers.extend_to(RECEIVE_BUFFERS);
        Ok(buffers)
    }

    const ENTRIES: Layout = page_aligned(MOST_RECEIVE_BUFFERS as usize * size_of::<BufRingEntry>());
    const BYTES: Layout = page_aligned(MOST_RECEIVE_BUFFERS as usize * BUFFER_STRIDE_BYTES);

    fn ring_address(&self) -> u64 {
        self.entries.as_ptr() as u64
    }

    fn address_of(&self, id: u16) -> *mut u8 {
        // SAFETY: ids are those that `new` gave out, so that this lies within the allocation.
        unsafe { self.bytes.as_ptr().add(usize::from(id) * BUFFER_STRIDE_BYTES) }
    }

    /// Provides more, so that there are so many.
    fn extend_to(&mut self, count: u16) {
        (self.count..count).for_each(|id| self.provide(id));
        self.count = count;
    }

    fn provide(&mut self, id: u16) {
        let address = self.address_of(id) as u64;
        let at = usize::from(self.tail & (MOST_RECEIVE_BUFFERS - 1));
        // SAFETY: within the allocation, as the tail is masked. The kernel reads entries only up to the tail that it was
        // told, and this one lies behind it: there are no fewer entries than buffers.
        let entry = unsafe { &mut *self.entries.as_ptr().add(at) };
        entry.set_addr(address);
        entry.set_len(RECEIVE_BUFFER_BYTES as u32);
        entry.set_bid(id);
        self.tail = self.tail.wrapping_add(1);
        // SAFETY: the tail lies within the first entry, in a place that none of the setters above writes, and is aligned.
        let tail = unsafe { AtomicU16::from_ptr(BufRingEntry::tail(self.entries.as_ptr()).cast_mut()) };
        // Release: the kernel sees the entry before it sees the tail.
        tail.store(self.tail, Ordering::Release);
    }

    fn bytes(&self, filled: &Filled) -> &[u8] {
        // SAFETY: the kernel has filled this many bytes of it, and touches it no more until it is provided again, for which
        // `filled` is given up.
        unsafe { std::slice::from_raw_parts(self.address_of(filled.id), filled.length) }
    }

    /// Never frees the memory.
    fn leak(&mut self) {
        self.is_leaked = true;
    }
}

impl Drop for Buffers {
    fn drop(&mut self) {
        if !self.is_leaked {
            // SAFETY: allocated with these layouts, and the kernel has let go of them: see `Drop` of `Ring`.
            unsafe {
                alloc::dealloc(self.entries.as_ptr().cast(), Self::ENTRIES);
                alloc::dealloc(self.bytes.as_ptr(), Self::BYTES);
            }
        }
    }
}

const fn page_aligned(bytes: usize) -> Layout {
    match Layout::from_size_align(bytes, PAGE_BYTES) {
        Ok(layout) => layout,
        Err(_) => panic!("a layout of constants"),
    }
}

/// Whether an enter only ended early: the time was up, a signal came, or completions must be taken first.
fn is_passing(error: &io::Error) -> bool {
    matches!(Errno::from_io_error(error), Some(Errno::TIME | Errno::INTR | Errno::BUSY))
}
