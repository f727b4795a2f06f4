//! What the connections of one loop share with the threads that answer and send on them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};

use crate::clock::Clock;
use crate::mailbox::Mailbox;
use crate::topics::Topics;

/// A loop, as other threads see it. Apart from other loops'.
#[derive(Debug)]
#[repr(align(128))]
pub(crate) struct Home {
    pub(crate) index: usize,
    pub(crate) mailbox: Arc<Mailbox>,
    pub(crate) topics: Topics,
    pub(crate) clock: Clock,
    /// The loop has let the workers come first, and is about to look what they have done: it does nothing else meanwhile.
    /// A hint: who has just read it may come too late, and the loop is then woken, or looks behind the call that it has begun.
    pub(crate) takes_answers: AtomicBool,
    /// The server stops: answers from now on are their connections' last.
    pub(crate) is_draining: AtomicBool,
    /// Connections that other loops have given to this one and it has not taken in yet.
    pub(crate) coming_connections: AtomicUsize,
    /// Whether a thread that sends may wait for room: not where handlers run on the loop and nobody takes over.
    pub(crate) may_block: bool,
    /// Messages sent, by whatever thread.
    pub(crate) sent_messages: AtomicU64,
    /// Messages that found no room in their socket's queue.
    pub(crate) dropped_messages: AtomicU64,
    /// Bytes sent past the loop, by the thread that had them.
    pub(crate) pushed_bytes: AtomicU64,
}

impl Home {
    pub(crate) fn new(index: usize, mailbox: Arc<Mailbox>, topics: Topics, may_block: bool) -> Self {
        Self {
            index,
            mailbox,
            topics,
            clock: Clock::default(),
            is_draining: AtomicBool::new(false),
            takes_answers: AtomicBool::new(false),
            coming_connections: AtomicUsize::new(0),
            may_block,
            sent_messages: AtomicU64::new(0),
            dropped_messages: AtomicU64::new(0),
            pushed_bytes: AtomicU64::new(0),
        }
    }
}
