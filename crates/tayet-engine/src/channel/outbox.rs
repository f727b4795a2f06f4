//! What waits to be sent on a channel, and whose turn it is to send it.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;

use bytes::Bytes;
use smallvec::SmallVec;
use tayet_net::{Outgoing, Socket};
use tayet_websocket::{CloseFrame, Codec, Message, Sender};

use crate::publication::Publication;
use crate::sync::Condvar;
use crate::topics::Topic;

/// Small frames that wait are gathered into pieces of up to this size.
const MAX_PIECE_BYTES: usize = 64 * 1024;

/// A frame that many share is copied below this, so that small ones go out together.
const MIN_SHARED_BYTES: usize = 4 * 1024;

/// A channel's sending side.
pub(crate) struct Outbox {
    /// `None` once the channel has ended, so that who keeps a handle keeps no descriptor.
    socket: Option<Arc<dyn Socket>>,
    framing: Framing,
    state: State,
    writer: Writer,
    /// What the loop sends next.
    queue: Queue,
    /// Bytes that the kernel has not taken yet.
    pending_bytes: usize,
    /// Rung when the kernel has taken some, for those who wait for room.
    room: Option<Arc<Condvar>>,
    pub(crate) subscriptions: SmallVec<[Arc<Topic>; 1]>,
}

/// How what is sent is delimited.
#[derive(Debug)]
pub(crate) enum Framing {
    WebSocket(Sender),
    /// A stream of events as a chunked body.
    Chunked,
    /// A stream of events that ends with the connection.
    UntilClose,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Open,
    /// The goodbye is sent, or waits to be.
    Closing,
    /// Nothing more can be sent.
    Ended,
}

/// Who may write to the socket.
#[derive(Debug)]
enum Writer {
    /// Whoever has something to send: nothing waits.
    Anyone,
    /// Nobody: the loop is with this connection and will send what has gathered.
    Corked(Vec<u8>),
    /// The loop, which is sending or has been told to.
    Loop,
}

/// Pieces in order. `None` while there are none, as is mostly so.
#[derive(Debug, Default)]
#[expect(
    clippy::box_collection,
    reason = "a hundred thousand sockets have one, and it is empty in nearly all"
)]
struct Queue(Option<Box<VecDeque<Piece>>>);

#[derive(Debug)]
enum Piece {
    Gathered(Vec<u8>),
    Shared(Bytes),
}

/// What became of something to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Written {
    /// The loop sends it by and by.
    Gathered,
    /// The kernel has it.
    Sent { bytes: usize },
    /// The kernel has so much of it; the loop must be told to send the rest.
    Begun { bytes: usize },
    /// The connection is broken.
    Broken,
}

/// What the loop has to send when it leaves a connection.
pub(crate) enum Uncorked {
    /// Nothing; the buffer is given back.
    Nothing(Vec<u8>),
    Something(Outgoing),
    /// The loop is sending already.
    Sending,
}

impl Outbox {
    /// One whose loop is with its connection: `gathered` goes first.
    pub(crate) fn corked(socket: Arc<dyn Socket>, framing: Framing, gathered: Vec<u8>) -> Self {
        Self {
            socket: Some(socket),
            framing,
            state: State::Open,
            pending_bytes: gathered.len(),
            writer: Writer::Corked(gathered),
            queue: Queue::default(),
            room: None,
            subscriptions: SmallVec::new(),
        }
    }

    pub(crate) fn is_open(&self) -> bool {
        self.state == State::Open
    }

    pub(crate) fn pending_bytes(&self) -> usize {
        self.pending_bytes
    }

    pub(crate) fn has_room(&self, length: usize, limit_bytes: usize) -> bool {
        self.pending_bytes == 0 || self.pending_bytes.saturating_add(length) <= limit_bytes
    }

    /// Nothing is sent after what is sent next. `false` if that was so already.
    pub(crate) fn begin_closing(&mut self) -> bool {
        let was_open = self.is_open();
        if was_open {
            self.state = State::Closing;
        }
        was_open
    }

    /// Nothing more is sent; those who wait for room go away.
    pub(crate) fn end(&mut self) {
        self.state = State::Ended;
        self.socket = None;
        self.queue = Queue::default();
        self.pending_bytes = 0;
        self.ring();
    }

    /// Frames something and writes it to the socket if anyone may, else puts it behind what waits.
    pub(crate) fn write(
        &mut self,
        scratch: &mut Vec<u8>,
        frame: impl FnOnce(&mut Framing, &mut Vec<u8>) -> Option<Bytes>,
    ) -> Written {
        let Some(socket) = &self.socket else { return Written::Broken };
        if let Writer::Anyone = self.writer {
            let tail = frame(&mut self.framing, scratch).unwrap_or_default();
            let sent = socket.send(scratch, &tail);
            return self.note_written(sent, scratch, tail);
        }
        let buffer = match &mut self.writer {
            Writer::Corked(buffer) => buffer,
            _ => self.queue.last_gathered(),
        };
        let length_before = buffer.len();
        let tail = frame(&mut self.framing, buffer).unwrap_or_default();
        self.pending_bytes += buffer.len() - length_before + tail.len();
        if tail.len() < MIN_SHARED_BYTES {
            buffer.extend_from_slice(&tail);
            return Written::Gathered;
        }
        if let Writer::Corked(buffer) = &mut self.writer {
            self.queue.push_back(Piece::Gathered(std::mem::take(buffer)));
        }
        self.queue.push_back(Piece::Shared(tail));
        Written::Gathered
    }

    /// Takes the right to write for the loop, if what has gathered would else wait for the loop to come back. `true` if
    /// the loop must be told.
    pub(crate) fn hand_to_loop(&mut self) -> bool {
        let Writer::Corked(buffer) = &mut self.writer else { return false };
        let buffer = std::mem::take(buffer);
        self.queue.push_back(Piece::Gathered(buffer));
        self.writer = Writer::Loop;
        true
    }

    /// The loop's, when it comes to the connection: lends its buffer. `false`, with the buffer still there, if the loop is
    /// sending already.
    pub(crate) fn cork(&mut self, buffer: &mut Vec<u8>) -> bool {
        let may_cork = matches!(self.writer, Writer::Anyone);
        if may_cork {
            self.writer = Writer::Corked(std::mem::take(buffer));
        }
        may_cork
    }

    /// The loop's, when it leaves the connection.
    pub(crate) fn uncork(&mut self) -> Uncorked {
        let Writer::Corked(buffer) = &mut self.writer else { return Uncorked::Sending };
        let buffer = std::mem::take(buffer);
        if self.queue.is_empty() && buffer.is_empty() {
            self.writer = Writer::Anyone;
            return Uncorked::Nothing(buffer);
        }
        self.writer = Writer::Loop;
        if self.queue.is_empty() {
            return Uncorked::Something(Outgoing { head: buffer, tail: Bytes::new(), sent: 0 });
        }
        self.queue.push_back(Piece::Gathered(buffer));
        self.next_outgoing().map_or(Uncorked::Sending, Uncorked::Something)
    }

    /// The loop's: so much has been sent.
    pub(crate) fn note_sent(&mut self, bytes: usize) {
        self.pending_bytes = self.pending_bytes.saturating_sub(bytes);
        self.ring();
    }

    /// The loop's: what it is to send next. `None` when all is sent: then anyone may send again.
    pub(crate) fn next_outgoing(&mut self) -> Option<Outgoing> {
        let mut outgoing = Outgoing::default();
        while outgoing.tail.is_empty() {
            match self.queue.pop_front() {
                Some(Piece::Gathered(head)) if outgoing.head.is_empty() => outgoing.head = head,
                Some(Piece::Gathered(head)) => {
                    self.queue.push_front(Piece::Gathered(head));
                    break;
                }
                Some(Piece::Shared(tail)) => outgoing.tail = tail,
                None => break,
            }
        }
        if outgoing.remaining() > 0 {
            return Some(outgoing);
        }
        if let Writer::Loop = self.writer {
            self.queue = Queue::default();
            self.writer = Writer::Anyone;
        }
        None
    }

    /// Whether nothing waits, neither for the loop nor with it.
    pub(crate) fn is_flushed(&self) -> bool {
        matches!(self.writer, Writer::Anyone)
    }

    /// Gives memory back that is not needed between messages.
    pub(crate) fn release_idle(&mut self) {
        if let Framing::WebSocket(sender) = &mut self.framing {
            sender.release_idle();
        }
    }

    fn note_written(&mut self, sent: io::Result<usize>, head: &[u8], mut tail: Bytes) -> Written {
        let sent = match sent {
            Ok(sent) => sent,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => 0,
            Err(_) => {
                self.end();
                return Written::Broken;
            }
        };
        let total = head.len() + tail.len();
        if sent == total {
            return Written::Sent { bytes: sent };
        }
        if let Some(rest) = head.get(sent..).filter(|rest| !rest.is_empty()) {
            self.queue.push_back(Piece::Gathered(rest.to_vec()));
        }
        let tail = tail.split_off(sent.saturating_sub(head.len()));
        if !tail.is_empty() {
            self.queue.push_back(Piece::Shared(tail));
        }
        self.pending_bytes = total - sent;
        self.writer = Writer::Loop;
        Written::Begun { bytes: sent }
    }

    /// What is rung when the kernel has taken something.
    pub(crate) fn room(&mut self) -> Arc<Condvar> {
        Arc::clone(self.room.get_or_insert_with(|| Arc::new(Condvar::new())))
    }

    fn ring(&mut self) {
        if let Some(room) = self.room.take() {
            room.notify_all();
        }
    }
}

impl Queue {
    fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    fn push_back(&mut self, piece: Piece) {
        self.0.get_or_insert_default().push_back(piece);
    }

    fn push_front(&mut self, piece: Piece) {
        self.0.get_or_insert_default().push_front(piece);
    }

    fn pop_front(&mut self) -> Option<Piece> {
        let piece = self.0.as_mut()?.pop_front();
        self.0.take_if(|pieces| pieces.is_empty());
        piece
    }

    /// The piece at the end that more can be gathered into.
    fn last_gathered(&mut self) -> &mut Vec<u8> {
        let pieces = self.0.get_or_insert_default();
        if !matches!(pieces.back(), Some(Piece::Gathered(piece)) if piece.len() < MAX_PIECE_BYTES) {
            pieces.push_back(Piece::Gathered(Vec::new()));
        }
        match pieces.back_mut() {
            Some(Piece::Gathered(piece)) => piece,
            Some(Piece::Shared(_)) | None => unreachable!("just pushed"),
        }
    }
}

impl Framing {
    /// Frames a message. Streams of events have publications only.
    pub(crate) fn message(
        &mut self,
        message: &Message,
        codec: &mut Codec,
        out: &mut Vec<u8>,
    ) -> Option<Bytes> {
        match self {
            Self::WebSocket(sender) => sender.message(message, codec, out),
            Self::Chunked | Self::UntilClose => {
                self.bytes(message.as_bytes(), out);
                None
            }
        }
    }

    pub(crate) fn publication(&mut self, publication: &Publication, codec: &mut Codec) -> Bytes {
        match self {
            Self::WebSocket(sender) => {
                let frame = publication.web_socket_frame(sender.deflate(), codec);
                sender.sent_shared();
                frame
            }
            Self::Chunked => publication.event_chunk(),
            Self::UntilClose => publication.event_bytes(),
        }
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        if let Self::Chunked = self {
            tayet_http1::encode_chunk(out, bytes);
        } else {
            out.extend_from_slice(bytes);
        }
    }

    pub(crate) fn ping(&mut self, payload: &[u8], out: &mut Vec<u8>) {
        match self {
            Self::WebSocket(sender) => sender.ping(payload, out),
            Self::Chunked | Self::UntilClose => self.bytes(crate::event_stream::HEARTBEAT, out),
        }
    }

    pub(crate) fn pong(&mut self, payload: &[u8], out: &mut Vec<u8>) {
        if let Self::WebSocket(sender) = self {
            sender.pong(payload, out);
        }
    }

    /// The end of what is sent, in its own terms.
    pub(crate) fn goodbye(&mut self, frame: Option<&CloseFrame>, out: &mut Vec<u8>) {
        match self {
            Self::WebSocket(sender) => sender.close(frame, out),
            Self::Chunked => tayet_http1::encode_last_chunk(out, None),
            Self::UntilClose => {}
        }
    }
}
