//! A connection that has left request and response behind: anyone may send on it at any time.
//!
//! A WebSocket is one, and so is a stream of server-sent events. The threads that send share the [`Channel`]; what its
//! loop alone knows of it is in `session.rs`.

pub(crate) mod outbox;

use std::any::Any;
use std::cell::RefCell;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use once_cell::race::OnceBox;
use tayet_net::{PeerAddress, Token};
use tayet_websocket::{CloseFrame, Codec, Message};

use self::outbox::{Framing, Outbox, Written};
use crate::fan_out::TopicWork;
use crate::home::Home;
use crate::mailbox::{Message as Mail, SessionMail};
use crate::publication::Publication;
use crate::sync::{Mutex, MutexGuard, lock, wait_timeout};
use crate::web_socket::WebSocketHandler;
use crate::{Limits, SendError, SendPolicy, TopicError, Topics, WebSocketOptions};

/// What the threads that send on a connection share.
pub(crate) struct Channel {
    pub(crate) id: u64,
    pub(crate) token: Token,
    pub(crate) remote: PeerAddress,
    pub(crate) home: Arc<Home>,
    pub(crate) settings: Arc<ChannelSettings>,
    /// `None` for streams of events, which hear nothing.
    pub(crate) handler: Option<Arc<dyn WebSocketHandler>>,
    pub(crate) data: Data,
    outbox: Mutex<Outbox>,
    /// The loop has an event for the handler as soon as it is free; see [`Channel::set_awaited`].
    awaited: AtomicBool,
    /// The handler wants no further message for now; see [`WebSocket::pause`](crate::WebSocket::pause).
    is_paused: AtomicBool,
}

/// A value that is kept with a socket. One word where there is none, as in most.
pub(crate) type Data = OnceBox<Box<dyn Any + Send + Sync>>;

/// What a channel may cost, and what it does when that is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ChannelSettings {
    pub(crate) max_message_bytes: usize,
    pub(crate) max_send_queue_bytes: usize,
    pub(crate) send_policy: SendPolicy,
    pub(crate) ping_interval_ms: u64,
    pub(crate) pong_timeout_ms: u64,
    pub(crate) close_timeout_ms: u64,
    pub(crate) write_stall_timeout_ms: u64,
    pub(crate) max_subscriptions: usize,
}

impl ChannelSettings {
    pub(crate) fn of_web_socket(limits: &Limits, options: &WebSocketOptions) -> Self {
        Self {
            max_message_bytes: options.max_message_bytes.unwrap_or(limits.max_message_bytes),
            max_send_queue_bytes: options.max_send_queue_bytes.unwrap_or(limits.max_send_queue_bytes),
            send_policy: options.send_policy,
            ping_interval_ms: options.ping_interval_ms.unwrap_or(limits.ping_interval_ms),
            pong_timeout_ms: limits.pong_timeout_ms,
            close_timeout_ms: limits.close_timeout_ms,
            write_stall_timeout_ms: limits.write_stall_timeout_ms,
            max_subscriptions: limits.max_subscriptions,
        }
    }

    pub(crate) fn of_events(limits: &Limits) -> Self {
        let options = WebSocketOptions {
            ping_interval_ms: Some(limits.heartbeat_interval_ms),
            send_policy: SendPolicy::Block,
            ..WebSocketOptions::default()
        };
        Self::of_web_socket(limits, &options)
    }
}

/// What a thread needs to frame messages.
struct Tools {
    codec: Codec,
    scratch: Vec<u8>,
}

thread_local! {
    static TOOLS: RefCell<Tools> = RefCell::new(Tools { codec: Codec::default(), scratch: Vec::new() });
}

/// A thread's buffer for frames is let go above this.
const MAX_KEPT_SCRATCH_BYTES: usize = 64 * 1024;

static NEXT_ID: AtomicU64 = AtomicU64::new(1);

impl Channel {
    pub(crate) fn new(
        token: Token,
        remote: PeerAddress,
        home: Arc<Home>,
        settings: Arc<ChannelSettings>,
        handler: Option<Arc<dyn WebSocketHandler>>,
        outbox: Outbox,
    ) -> Self {
        Self {
            id: NEXT_ID.fetch_add(1, Ordering::Relaxed),
            token,
            remote,
            home,
            settings,
            handler,
            data: Data::new(),
            outbox: Mutex::new(outbox),
            awaited: AtomicBool::new(false),
            is_paused: AtomicBool::new(false),
        }
    }

    pub(crate) fn is_paused(&self) -> bool {
        self.is_paused.load(Ordering::Relaxed)
    }

    pub(crate) fn pause(&self) {
        self.is_paused.store(true, Ordering::Relaxed);
    }

    /// The loop learns of it by its mailbox, whose lock orders the flag before it.
    pub(crate) fn resume(&self) {
        if self.is_paused.swap(false, Ordering::Relaxed) {
            self.tell_loop(SessionMail::Resumed);
        }
    }

    pub(crate) fn outbox(&self) -> MutexGuard<'_, Outbox> {
        lock(&self.outbox)
    }

    /// Sends a message; what does not go at once waits, within the channel's limit.
    pub(crate) fn send(&self, message: &Message) -> Result<(), SendError> {
        let outbox = self.admit(self.outbox(), message.len(), self.may_block())?;
        self.write(outbox, |framing, codec, out| framing.message(message, codec, out))
    }

    /// Sends bytes that are framed already, such as an event of a stream.
    pub(crate) fn send_framed(&self, frame: &[u8]) -> Result<(), SendError> {
        let outbox = self.admit(self.outbox(), frame.len(), self.may_block())?;
        self.write(outbox, |framing, _, out| {
            framing.bytes(frame, out);
            None
        })
    }

    /// The loop's: sends a publication. It never blocks: where the channel's policy would, the channel is closed.
    pub(crate) fn publish(&self, publication: &Publication) -> Result<(), SendError> {
        let outbox = self.admit(self.outbox(), publication.len(), false)?;
        self.write(outbox, |framing, codec, _| Some(framing.publication(publication, codec)))
    }

    pub(crate) fn ping(&self, payload: &[u8]) -> Result<(), SendError> {
        let outbox = self.admit(self.outbox(), payload.len(), self.may_block())?;
        self.write(outbox, |framing, _, out| {
            framing.ping(payload, out);
            None
        })
    }

    /// Answers a ping, unless so much waits to be sent that the answer would be late anyway.
    pub(crate) fn pong(&self, payload: &[u8]) {
        let outbox = self.outbox();
        if outbox.is_open() && outbox.pending_bytes() < self.settings.max_send_queue_bytes {
            // A failure is met by whoever sends next.
            let _ = self.write(outbox, |framing, _, out| {
                framing.pong(payload, out);
                None
            });
        }
    }

    /// Says goodbye behind what waits to be sent; nothing can be sent after it. `false` if that was said before.
    pub(crate) fn say_goodbye(&self, frame: Option<&CloseFrame>) -> bool {
        let mut outbox = self.outbox();
        if !outbox.begin_closing() {
            return false;
        }
        // If the connection is broken, its loop will know.
        let _ = self.write(outbox, |framing, _, out| {
            framing.goodbye(frame, out);
            None
        });
        true
    }

    /// Closes from outside the loop, which is told so that it waits no longer than it may for the other end's answer.
    pub(crate) fn close(&self, frame: Option<&CloseFrame>) {
        if self.say_goodbye(frame) {
            self.tell_loop(SessionMail::Closing);
        }
    }

    /// Joins a topic; publications from before are replayed as `replay` says, and no later one is missed.
    pub(crate) fn subscribe(&self, topic: &str, replay: crate::Replay) -> Result<(), TopicError> {
        let mut outbox = self.outbox();
        if !outbox.is_open() {
            return Err(TopicError::Closed);
        }
        if outbox.subscriptions.iter().any(|joined| joined.name() == topic) {
            return Ok(());
        }
        if outbox.subscriptions.len() >= self.settings.max_subscriptions {
            return Err(TopicError::TooManySubscriptions { limit: self.settings.max_subscriptions });
        }
        let joined = self.home.topics.join(topic, self.token, self.home.index, replay)?;
        outbox.subscriptions.push(joined);
        Ok(())
    }

    /// Leaves a topic; `false` if it was not in it.
    pub(crate) fn unsubscribe(&self, topic: &str) -> bool {
        let mut outbox = self.outbox();
        let Some(at) = outbox.subscriptions.iter().position(|joined| joined.name() == topic) else {
            return false;
        };
        let left = outbox.subscriptions.swap_remove(at);
        self.home.topics.leave(&left, self.home.index);
        self.home.mailbox.post(Mail::Topic(TopicWork::Leave { token: self.token, topic: left }));
        true
    }

    pub(crate) fn subscriptions(&self) -> Vec<String> {
        self.outbox().subscriptions.iter().map(|topic| topic.name().to_owned()).collect()
    }

    pub(crate) fn topics(&self) -> &Topics {
        &self.home.topics
    }

    /// The loop's: leaves all topics.
    pub(crate) fn leave_topics(&self) {
        let left = std::mem::take(&mut self.outbox().subscriptions);
        left.iter().for_each(|topic| self.home.topics.leave(topic, self.home.index));
    }

    /// The loop's: whether it waits for the handler to be done. Ordered by the mailbox's lock as for requests.
    pub(crate) fn set_awaited(&self, awaited: bool) {
        self.awaited.store(awaited, Ordering::Relaxed);
    }

    /// Tells the loop that the handler is done: now if the loop waits for that, else when it next looks.
    pub(crate) fn tell_handled(&self, waited_ns: Option<u64>) {
        let mail = Mail::Session(self.token, SessionMail::Handled { waited_ns });
        self.home.mailbox.post_unless(mail, |_| !self.awaited.load(Ordering::Relaxed));
    }

    fn tell_loop(&self, mail: SessionMail) {
        self.home.mailbox.post(Mail::Session(self.token, mail));
    }

    fn may_block(&self) -> bool {
        self.home.may_block && self.settings.send_policy == SendPolicy::Block
    }

    /// Sees to it that there is room for `length` bytes more. A single message always has room when nothing waits.
    fn admit<'a>(
        &'a self,
        mut outbox: MutexGuard<'a, Outbox>,
        length: usize,
        may_block: bool,
    ) -> Result<MutexGuard<'a, Outbox>, SendError> {
        let limit = self.settings.max_send_queue_bytes;
        let stall_timeout = Duration::from_millis(self.settings.write_stall_timeout_ms);
        loop {
            if !outbox.is_open() {
                return Err(SendError::Closed);
            }
            if outbox.has_room(length, limit) {
                return Ok(outbox);
            }
            if self.settings.send_policy == SendPolicy::Drop {
                self.home.dropped_messages.fetch_add(1, Ordering::Relaxed);
                // The handler is to be told when there is room again, also if what fills the queue is sent at one go.
                self.tell_loop(SessionMail::Flush);
                return Err(SendError::QueueFull);
            }
            if may_block {
                if outbox.hand_to_loop() {
                    self.tell_loop(SessionMail::Flush);
                }
                let pending_bytes = outbox.pending_bytes();
                let room = outbox.room();
                let (back, has_timed_out) = wait_timeout(&room, outbox, stall_timeout);
                outbox = back;
                if !has_timed_out || outbox.pending_bytes() < pending_bytes {
                    continue;
                }
            }
            outbox.end();
            self.tell_loop(SessionMail::Overflowed);
            return Err(SendError::QueueFull);
        }
    }

    /// Frames something and sends it, or leaves it for the loop to send.
    fn write(
        &self,
        mut outbox: MutexGuard<'_, Outbox>,
        frame: impl FnOnce(&mut Framing, &mut Codec, &mut Vec<u8>) -> Option<Bytes>,
    ) -> Result<(), SendError> {
        let written = TOOLS.with_borrow_mut(|Tools { codec, scratch }| {
            let written = outbox.write(scratch, |framing, out| frame(framing, codec, out));
            scratch.clear();
            scratch.shrink_to(MAX_KEPT_SCRATCH_BYTES);
            written
        });
        drop(outbox);
        match written {
            Written::Gathered => {}
            Written::Sent { bytes } => self.note_pushed(bytes),
            Written::Begun { bytes } => {
                self.note_pushed(bytes);
                self.tell_loop(SessionMail::Flush);
            }
            Written::Broken => return Err(SendError::Closed),
        }
        self.home.sent_messages.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    fn note_pushed(&self, bytes: usize) {
        self.home.pushed_bytes.fetch_add(bytes as u64, Ordering::Relaxed);
    }
}

impl fmt::Debug for Channel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Channel").field("id", &self.id).field("remote", &self.remote).finish_non_exhaustive()
    }
}
