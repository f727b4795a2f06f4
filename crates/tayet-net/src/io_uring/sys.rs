//! The ring, its memory, and what the kernel may touch of ours.
//!
//! Here and nowhere else are pointers given to the kernel. They are to memory that the [`Ring`] owns: the buffers that it
//! receives into, and the sends that are under way. Either comes out only by a completion, or is kept until the ring is
//! closed.
//!
//! The kernel does an operation's work inside a call by which the ring is entered, and nowhere else: that is what
//! `IORING_SETUP_DEFER_TASKRUN` says. It refuses that call to any thread but the one that the ring is of. So nothing of ours is touched
//! while somebody else has the [`Ring`], nor once it is closed: what goes on then is cancelled.
#![allow(unsafe_code, reason = "shares memory with the kernel; each block says why it is sound")]

use std::alloc::{self, Layout};
use std::collections::{HashSet, VecDeque};
use std::io;
use std::panic::resume_unwind;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU16, Ordering};
use std::thread;
use std::time::Duration;

use io_uring::types::{BufRingEntry, Fd, SubmitArgs, Timespec};
use io_uring::{EnterFlags, cqueue, opcode, squeue};
use rustix::fd::{AsRawFd, BorrowedFd};
use rustix::io::Errno;

use super::abilities::Abilities;
use super::operation::{Epoch, Operation};
use super::surroundings::Surroundings;
use super::unavailable::Unavailable;
use crate::{BatchedSend, Outgoing, Token};

/// Operations that are handed to the kernel in one go.
pub(super) const SUBMISSIONS: u32 = 256;

/// Completions that the kernel can lay down before they are taken; it keeps those beyond.
pub(super) const COMPLETIONS: u32 = 4_096;

/// Buffers that the kernel may fill before one is given back, to begin with.
pub(crate) const RECEIVE_BUFFERS: u16 = 64;

/// The same where these did not suffice and there are more connections: each time they are doubled, up to this. A power of two.
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
    // Closed before the memory is freed.
    open: Option<io_uring::IoUring>,
    buffers: Buffers,
    /// Operations that the kernel has not taken.
    queued: Vec<squeue::Entry>,
    /// So many of them, the first, lie where it looks.
    laid_down: usize,
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
    /// A ring of no thread yet. Nor has a living one made it: when a ring is closed, the kernel interrupts those that have used it, and
    /// who only made it for another should not find a system call of its own cut short.
    pub(super) fn open() -> Result<Self, Unavailable> {
        thread::scope(|scope| {
            let opening = thread::Builder::new().spawn_scoped(scope, Self::open_here);
            opening.map_err(Unavailable::Other)?.join().unwrap_or_else(|panic| resume_unwind(panic))
        })
    }

    fn open_here() -> Result<Self, Unavailable> {
        let buffers = Buffers::new().map_err(Unavailable::Other)?;
        let ring = open_for(&buffers)?;
        Ok(Self {
            open: Some(ring),
            buffers,
            queued: Vec::new(),
            laid_down: 0,
            sends: Vec::new(),
            free_sends: Vec::new(),
            queued_sends: 0,
            batched: Vec::new(),
            batch: Epoch::default(),
            stranded: Vec::new(),
        })
    }

    /// Makes it the calling thread's, which it stays. After an error there is none.
    pub(super) fn enable(&mut self) -> io::Result<()> {
        let result = self.opened().and_then(|ring| ring.submitter().register_enable_rings());
        if result.is_err() {
            self.open = None;
        }
        result
    }

    /// Goes on with another ring, of the calling thread.
    ///
    /// What the kernel has told by the earlier one is among the `events`: it tells only when it is called, and each call takes what it
    /// tells. Sends that it had not taken find no room; of all else that it had not told the end of, nothing comes any more. Buffers are given back, but those of `events` and `kept`.
    ///
    /// After an error there is no ring, and this is to be called again.
    pub(super) fn renew<'a>(
        &mut self,
        events: &mut VecDeque<Event>,
        kept: impl Iterator<Item = &'a Filled>,
    ) -> Result<(), Unavailable> {
        // Its descriptor may be the last that there was.
        self.open = None;
        for entry in self.queued.drain(..) {
            let operation = Operation::from_bits(entry.get_user_data());
            if matches!(operation, Operation::Send { .. }) {
                events.push_back(Event { operation, result: -Errno::AGAIN.raw_os_error(), flags: 0 });
            }
        }
        (self.laid_down, self.queued_sends) = (0, 0);
        let in_events = events.iter().filter_map(|event| cqueue::buffer_select(event.flags));
        self.buffers.provide_all_but(in_events.chain(kept.map(|filled| filled.id)).collect());
        self.open = Some(open_for(&self.buffers)?);
        self.enable().map_err(Unavailable::Other)
    }

    pub(super) fn is_open(&self) -> bool {
        self.open.is_some()
    }

    fn opened(&self) -> io::Result<&io_uring::IoUring> {
        self.open.as_ref().ok_or_else(|| io::ErrorKind::NotConnected.into())
    }

    /// Watches an eventfd or a listener until that is cancelled or fails: an event for each time that something comes.
    pub(super) fn watch(&mut self, fd: BorrowedFd<'_>, operation: Operation) {
        let entry = opcode::PollAdd::new(Fd(fd.as_raw_fd()), libc::POLLIN as u32).multi(true).build();
        self.queue(entry, operation);
    }

    /// Receives until it is cancelled, fails, ends, or there are no buffers left.
    ///
    /// The descriptor must stay open until the last event of the operation; another connection's bytes might come else.
    pub(super) fn receive(&mut self, fd: BorrowedFd<'_>, slot: u32) {
        let entry = opcode::RecvMulti::new(Fd(fd.as_raw_fd()), BUFFER_GROUP).build();
        self.queue(entry, Operation::Receive { slot });
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

    /// Tells the kernel what is queued, waits up to `timeout` (`None` is for ever) if no event is there, and takes the
    /// events.
    pub(super) fn enter(
        &mut self,
        timeout: Option<Duration>,
        events: &mut VecDeque<Event>,
    ) -> io::Result<()> {
        loop {
            let waits = self.queued.is_empty() && events.is_empty() && timeout != Some(Duration::ZERO);
            let result = self.hand_over(if waits { Wait::UpTo(timeout) } else { Wait::None });
            let before = events.len();
            self.take_events(events);
            match result {
                Err(error) if is_passing(&error) && (waits || events.len() > before) => {}
                result => result?,
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
            let result = self.hand_over(Wait::None);
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
        let overflows = |ring: &mut io_uring::IoUring| ring.submission().cq_overflow();
        self.queued.is_empty() && !self.open.as_mut().is_some_and(overflows)
    }

    /// Tells the kernel of as much as it looks at in one go, has it do what has become due, and waits for an event.
    fn hand_over(&mut self, wait: Wait) -> io::Result<()> {
        self.lay_down()?;
        let result = self.call(wait);
        self.forget_taken()?;
        result
    }

    fn call(&self, wait: Wait) -> io::Result<()> {
        let ring = self.opened()?;
        let result = match wait {
            Wait::UpTo(Some(timeout)) => {
                let timespec = Timespec::from(timeout);
                ring.submitter().submit_with_args(1, &SubmitArgs::new().timespec(&timespec))
            }
            Wait::UpTo(None) => ring.submit_and_wait(1),
            Wait::None => {
                let flags = EnterFlags::GETEVENTS.bits();
                // SAFETY: what was laid down is sound to be taken (`lay_down`), and it is no more than this.
                unsafe { ring.submitter().enter::<libc::sigset_t>(self.laid_down as u32, 0, flags, None) }
            }
        };
        result.map(drop)
    }

    /// Moves what is queued to where the kernel looks, as far as there is room.
    fn lay_down(&mut self) -> io::Result<()> {
        let Self { open: Some(ring), queued, laid_down, .. } = self else {
            return Err(io::ErrorKind::NotConnected.into());
        };
        let mut submissions = ring.submission();
        let room = submissions.capacity() - submissions.len();
        let end = queued.len().min(*laid_down + room);
        // SAFETY: the entries are those of this file. The memory that they point to is the ring's: a send's place and the
        // bytes that it holds stay where they are until its event is taken, for which the kernel must have seen it. Or it is a
        // batch's: `send_batch` returns when the kernel has done with it, since those sends do not wait, or keeps it.
        let pushed = unsafe { submissions.push_multiple(&queued[*laid_down..end]) };
        debug_assert!(pushed.is_ok(), "there was room");
        *laid_down = end;
        Ok(())
    }

    /// Lets go of what the kernel has taken.
    fn forget_taken(&mut self) -> io::Result<()> {
        let Self { open: Some(ring), queued, laid_down, .. } = self else {
            return Err(io::ErrorKind::NotConnected.into());
        };
        let left = ring.submission().len();
        queued.drain(..*laid_down - left);
        *laid_down = left;
        if queued.is_empty() {
            self.queued_sends = 0;
        }
        Ok(())
    }

    fn take_events(&mut self, events: &mut VecDeque<Event>) {
        let Some(ring) = &mut self.open else { return };
        events.extend(ring.completion().map(|completion| Event {
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

    /// How many buffers it has or may have.
    pub(super) fn buffers(&self) -> usize {
        self.buffers.count.into()
    }

    /// Lets the kernel fill a buffer anew.
    #[expect(clippy::needless_pass_by_value, reason = "it is gone for who gives it back")]
    pub(super) fn give_back(&mut self, filled: Filled) {
        self.buffers.provide(filled.id);
    }
}

// SAFETY: the pointers are to memory that the ring owns and nobody else has; they go with it.
unsafe impl std::marker::Send for Ring {}

/// How long a call by which the ring is entered may take.
enum Wait {
    None,
    /// Until there is an event, or this time is up, if it is one.
    UpTo(Option<Duration>),
}

/// A ring that receives into these buffers, and may be used by none but the thread that enables it.
fn open_for(buffers: &Buffers) -> Result<io_uring::IoUring, Unavailable> {
    let refused =
        |what| move |error| Unavailable::from_refusal(error, what, &Surroundings::of_current_thread());
    let ring: io_uring::IoUring = io_uring::IoUring::builder()
        .setup_cqsize(COMPLETIONS)
        .setup_submit_all()
        .setup_single_issuer()
        .setup_defer_taskrun()
        .setup_r_disabled()
        .build(SUBMISSIONS)
        .map_err(refused("deferred task running"))?;
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
    // SAFETY: the address is of live memory for MOST_RECEIVE_BUFFERS entries, which the `Ring` frees only when this is closed.
    unsafe {
        ring.submitter().register_buf_ring_with_flags(
            buffers.ring_address(),
            MOST_RECEIVE_BUFFERS,
            BUFFER_GROUP,
            0,
        )
    }
    .map_err(refused("rings of buffers"))?;
    // Whether this may be called at all is to be known now; for a ring that is not enabled it has an error of its own.
    match ring.submit() {
        Err(error) if Errno::from_io_error(&error) != Some(Errno::BADFD) => {
            Err(refused("way to be entered")(error))
        }
        _ => Ok(ring),
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

    /// Where what was received lies, of a receiving that goes on.
    #[inline]
    pub(super) fn filled_further(&self) -> Option<Filled> {
        if self.result <= 0 || !self.more() {
            return None;
        }
        cqueue::buffer_select(self.flags).map(|id| Filled { id, length: self.result as usize })
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
    /// How often one was provided to the ring; it wraps.
    tail: u16,
}

impl Buffers {
    fn new() -> io::Result<Self> {
        // SAFETY: neither layout is empty.
        let entries =
            NonNull::new(unsafe { alloc::alloc_zeroed(Self::ENTRIES) }).ok_or(io::ErrorKind::OutOfMemory)?;
        // SAFETY: the same. What is not written is not read, so that pages which no message reaches cost nothing.
        let bytes = NonNull::new(unsafe { alloc::alloc(Self::BYTES) }).ok_or(io::ErrorKind::OutOfMemory)?;
        let entries = entries.cast::<BufRingEntry>();
        let mut buffers = Self { entries, bytes, count: 0, tail: 0 };
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

    /// Provides to a new ring what is not among `kept`.
    fn provide_all_but(&mut self, kept: HashSet<u16>) {
        self.tail = 0;
        (0..self.count).filter(|id| !kept.contains(id)).for_each(|id| self.provide(id));
        self.tell_tail();
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
        self.tell_tail();
    }

    fn tell_tail(&self) {
        // SAFETY: the tail lies within the first entry, in a place that none of an entry's setters writes, and is aligned.
        let tail = unsafe { AtomicU16::from_ptr(BufRingEntry::tail(self.entries.as_ptr()).cast_mut()) };
        // Release: the kernel sees the entries before it sees the tail.
        tail.store(self.tail, Ordering::Release);
    }

    fn bytes(&self, filled: &Filled) -> &[u8] {
        // SAFETY: the kernel has filled this many bytes of it, and touches it no more until it is provided again, for which
        // `filled` is given up.
        unsafe { std::slice::from_raw_parts(self.address_of(filled.id), filled.length) }
    }
}

impl Drop for Buffers {
    fn drop(&mut self) {
        // SAFETY: allocated with these layouts, and the ring that was told of them is closed: it was dropped before, and the kernel
        // does nothing for it any more (see the head of this file).
        unsafe {
            alloc::dealloc(self.entries.as_ptr().cast(), Self::ENTRIES);
            alloc::dealloc(self.bytes.as_ptr(), Self::BYTES);
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
