//! A connection between a client and the server, with what the kernels of both hold.

use std::collections::VecDeque;
use std::io;
use std::time::Duration;

use tayet_net::Outgoing;

use crate::client::{Client, Step};
use crate::{End, Reading, Transcript};

/// One connection.
#[derive(Debug)]
pub(crate) struct Wire {
    /// What the client does next.
    pub(crate) steps: VecDeque<Step>,
    pub(crate) is_awaiting_answers: bool,
    pub(crate) reading: Reading,
    pub(crate) is_read_scheduled: bool,
    pub(crate) transcript: Transcript,
    pub(crate) resets_after_bytes: Option<usize>,
    client_side: ClientSide,
    /// Sent by the client, with no room at the server.
    outbox: VecDeque<u8>,
    /// At the server, not received.
    inbound: VecDeque<u8>,
    receive_window_bytes: usize,
    /// Sent by the server, not read by the client.
    outbound: VecDeque<u8>,
    send_buffer_bytes: usize,
    server_side: ServerSide,
    pub(crate) closed_at: Option<Duration>,
    pub(crate) is_receiving: bool,
    /// Others than the driver receive.
    pub(crate) is_lent: bool,
    /// The end, or an error, has been told.
    pub(crate) is_finished: bool,
    /// The driver's send that has not finished.
    pub(crate) pending: Option<Outgoing>,
    /// The driver is to tell when something can be sent.
    pub(crate) is_awaited: bool,
    /// Given to the server so far.
    pub(crate) delivered_bytes: usize,
    /// How much of that others than the driver have received.
    pub(crate) lent_bytes: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ClientSide {
    Open,
    /// Sends no more.
    Ended,
    /// Neither sends nor reads.
    Closed,
    Reset,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ServerSide {
    Open,
    /// Sends no more.
    Ended,
    Closed,
}

/// What there is to receive.
pub(crate) enum Incoming {
    Bytes(Vec<u8>),
    Ended,
    Reset,
    Nothing,
}

impl Wire {
    pub(crate) fn new(client: Client) -> Self {
        Self {
            steps: client.steps,
            is_awaiting_answers: false,
            reading: client.reading,
            is_read_scheduled: false,
            transcript: Transcript::default(),
            resets_after_bytes: client.resets_after_bytes,
            client_side: ClientSide::Open,
            outbox: VecDeque::new(),
            inbound: VecDeque::new(),
            receive_window_bytes: client.receive_window_bytes,
            outbound: VecDeque::new(),
            send_buffer_bytes: client.send_buffer_bytes,
            server_side: ServerSide::Open,
            closed_at: None,
            is_receiving: true,
            is_lent: false,
            is_finished: false,
            pending: None,
            is_awaited: false,
            delivered_bytes: 0,
            lent_bytes: 0,
        }
    }

    // The client's side.

    pub(crate) fn client_send(&mut self, now: Duration, bytes: Vec<u8>) {
        match (self.client_side, self.server_side) {
            (ClientSide::Open, ServerSide::Closed) => self.refuse_bytes(now),
            (ClientSide::Open, _) => {
                self.outbox.extend(bytes);
                self.fill_window();
            }
            _ => {}
        }
    }

    pub(crate) fn client_half_close(&mut self) {
        if self.client_side == ClientSide::Open {
            self.client_side = ClientSide::Ended;
        }
    }

    pub(crate) fn client_close(&mut self) {
        if self.outbound.is_empty() && self.client_side != ClientSide::Reset {
            self.client_side = ClientSide::Closed;
        } else {
            self.client_reset(false);
        }
    }

    /// Resets; what the server has not received may be lost.
    pub(crate) fn client_reset(&mut self, loses_unreceived: bool) {
        self.client_side = ClientSide::Reset;
        self.outbox.clear();
        self.outbound.clear();
        if loses_unreceived {
            self.inbound.clear();
        }
    }

    /// Whether there are bytes for the client to read, or an end that it has not seen.
    pub(crate) fn has_unread(&self) -> bool {
        let has_unseen_end = self.server_side != ServerSide::Open && self.transcript.end.is_none();
        self.is_reading() && (!self.outbound.is_empty() || has_unseen_end)
    }

    fn is_reading(&self) -> bool {
        matches!(self.client_side, ClientSide::Open | ClientSide::Ended)
    }

    /// The client reads up to `max_bytes`, and the end if there is nothing before it.
    pub(crate) fn client_read(&mut self, now: Duration, max_bytes: usize) {
        if !self.is_reading() {
            return;
        }
        let count = self.outbound.len().min(max_bytes);
        if count > 0 {
            self.transcript.receive(now, self.outbound.drain(..count));
        }
        if self.outbound.is_empty() && self.server_side != ServerSide::Open {
            self.transcript.end.get_or_insert(End::Ended(now));
        }
        if self.resets_after_bytes.is_some_and(|bytes| self.transcript.bytes.len() >= bytes) {
            self.resets_after_bytes = None;
            self.client_reset(false);
        }
    }

    /// The server's kernel takes no more bytes: it answers them with a reset, and what the client has not read is lost.
    fn refuse_bytes(&mut self, now: Duration) {
        self.outbound.clear();
        self.outbox.clear();
        self.client_side = ClientSide::Reset;
        self.transcript.end.get_or_insert(End::Reset(now));
    }

    // The server's side.

    pub(crate) fn is_closed(&self) -> bool {
        self.server_side == ServerSide::Closed
    }

    pub(crate) fn has_incoming(&self) -> bool {
        self.is_receiving && !self.is_finished && self.is_readable()
    }

    pub(crate) fn incoming_bytes(&self) -> usize {
        self.inbound.len()
    }

    pub(crate) fn receive(&mut self, max_bytes: usize) -> Incoming {
        if !self.inbound.is_empty() {
            let count = self.inbound.len().min(max_bytes);
            self.delivered_bytes += count;
            let bytes = self.inbound.drain(..count).collect();
            self.fill_window();
            return Incoming::Bytes(bytes);
        }
        match self.client_side {
            ClientSide::Reset => Incoming::Reset,
            ClientSide::Ended | ClientSide::Closed if self.outbox.is_empty() => Incoming::Ended,
            _ if self.is_closed() => Incoming::Ended,
            _ => Incoming::Nothing,
        }
    }

    /// Whether receiving would not block.
    pub(crate) fn is_readable(&self) -> bool {
        let is_at_end = self.outbox.is_empty() && self.client_side != ClientSide::Open;
        !self.inbound.is_empty() || is_at_end || self.is_closed()
    }

    /// Whether the driver's user has a send under way.
    pub(crate) fn is_sending(&self) -> bool {
        self.pending.is_some() || self.is_awaited
    }

    /// Whether a send would not block, be it that it fails.
    pub(crate) fn is_writable(&self) -> bool {
        self.room() > 0 || self.client_side == ClientSide::Reset || self.is_closed()
    }

    pub(crate) fn room(&self) -> usize {
        self.send_buffer_bytes.saturating_sub(self.outbound.len())
    }

    /// The server sends up to `max_bytes` of both.
    pub(crate) fn send(&mut self, head: &[u8], tail: &[u8], max_bytes: usize) -> io::Result<usize> {
        match (self.server_side, self.client_side) {
            (ServerSide::Open, ClientSide::Reset) => Err(io::ErrorKind::ConnectionReset.into()),
            (ServerSide::Open, ClientSide::Closed) => {
                self.client_reset(false);
                Ok((head.len() + tail.len()).min(max_bytes))
            }
            (ServerSide::Open, _) if self.room() == 0 => Err(io::ErrorKind::WouldBlock.into()),
            (ServerSide::Open, _) => {
                let count = (head.len() + tail.len()).min(self.room()).min(max_bytes);
                self.outbound.extend(head.iter().chain(tail).take(count));
                Ok(count)
            }
            (ServerSide::Ended, _) => panic!("bytes are sent behind the end of the sending direction"),
            (ServerSide::Closed, _) => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }

    pub(crate) fn shutdown_send(&mut self) {
        assert!(!self.is_sending(), "the sending direction is ended while a send is under way");
        if self.server_side == ServerSide::Open {
            self.server_side = ServerSide::Ended;
        }
    }

    /// The server closes. With unreceived bytes, that resets the connection, and takes with it what the client has not
    /// read.
    pub(crate) fn close(&mut self, now: Duration) {
        self.server_side = ServerSide::Closed;
        self.closed_at.get_or_insert(now);
        self.pending = None;
        self.is_awaited = false;
        if !self.inbound.is_empty() || !self.outbox.is_empty() {
            self.inbound.clear();
            self.refuse_bytes(now);
        }
    }

    fn fill_window(&mut self) {
        let room = self.receive_window_bytes.saturating_sub(self.inbound.len()).min(self.outbox.len());
        self.inbound.extend(self.outbox.drain(..room));
    }
}
