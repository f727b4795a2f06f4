//! What comes for a session: from bytes to events, to the end of what its peer says.

use tayet_net::Token;
use tayet_websocket::{CloseFrame, Event as Frame};

use super::{Ending, Stage};
use crate::event_loop::{Current, Loop};
use crate::exchange::Progress;
use crate::socket_event::SocketEvent;
use crate::{Closed, WebSocketError};

impl Loop {
    /// Bytes came for a session.
    pub(super) fn begin_session_input(&mut self, token: Token, length: usize) {
        let Some(session) = self.connections.session(token) else { return };
        if session.has_backlog() {
            session.waiting().backlog.extend_from_slice(self.driver.received());
            return;
        }
        session.channel.outbox().cork(&mut self.out.head);
        self.current = Some(Current::received(token, length));
    }

    /// Takes the next step with the current connection, if it is a session: an event for its handler, or something of its input.
    pub(super) fn read_session(&mut self, token: Token) -> Option<Progress> {
        let max_waiting_bytes = self.shared.limits.pipeline_buffer_bytes;
        let session = self.connections.session(token)?;
        if session.may_call() {
            if let Some(event) = session.pop() {
                return Some(self.begin_event(token, event));
            }
            if let Some(ending) = session.waiting.as_mut().and_then(|waiting| waiting.ending.take()) {
                self.meet_ending(token, ending);
                return Some(Progress::Again);
            }
            if session.stage == Stage::Gone {
                self.current = None;
                self.connections.remove_session(token);
                return Some(Progress::Done);
            }
        }
        Some(match session.stage {
            Stage::Gone => Progress::Done,
            _ if session.has_ending() => self.discard_session_input(token),
            Stage::Lingering { .. } => self.discard_session_input(token),
            Stage::Open | Stage::Closing if session.may_decode(max_waiting_bytes) => self.decode(token),
            Stage::Open | Stage::Closing => Progress::Done,
        })
    }

    /// The peer has ended its sending direction.
    pub(super) fn session_ended(&mut self, token: Token) {
        let Some(session) = self.connections.session(token) else { return };
        session.has_ended = true;
        if !session.has_backlog() {
            self.session_met_end(token);
        }
    }

    fn decode(&mut self, token: Token) -> Progress {
        let Some(current) = &mut self.current else { return Progress::Done };
        let Some(session) = self.connections.session(token) else { return Progress::Done };
        let input = current.input.rest(self.driver.received(), current.read);
        if input.is_empty() {
            return Progress::Done;
        }
        session.received_ms = self.now_ms;
        session.is_pinged = false;
        let Some(receiver) = &mut session.receiver else {
            current.read += input.len();
            return Progress::Done;
        };
        let mut rest = input;
        let received =
            receiver.receive(&mut rest, session.channel.settings.max_message_bytes, &mut self.codec);
        current.read += input.len() - rest.len();
        match received {
            Ok(None) => Progress::Done,
            Ok(Some(frame)) => self.take_frame(token, frame),
            Err(failure) => {
                session.waiting().ending = Some(Ending::Failure(failure));
                Progress::Again
            }
        }
    }

    fn take_frame(&mut self, token: Token, frame: Frame) -> Progress {
        let Some(session) = self.connections.session(token) else { return Progress::Done };
        match frame {
            Frame::Message(message) if session.stage == Stage::Open => {
                self.shard.messages_received.add(1);
                if session.may_call() && !session.has_events() {
                    return self.begin_event(token, SocketEvent::Message(message));
                }
                session.push(SocketEvent::Message(message));
            }
            Frame::Ping(payload) => session.channel.pong(&payload),
            Frame::Close(frame) => session.waiting().ending = Some(Ending::Goodbye(frame)),
            Frame::Message(_) | Frame::Pong(_) => {}
        }
        Progress::Again
    }

    /// The peer has said its last, and all before it has been handled.
    fn meet_ending(&mut self, token: Token, ending: Ending) {
        let Some(session) = self.connections.session(token) else { return };
        match ending {
            Ending::Goodbye(frame) => {
                session.channel.say_goodbye(frame.as_ref());
                session.tell_close(None, Closed::by_peer(frame));
            }
            Ending::Failure(failure) => {
                let frame = CloseFrame::new(failure.code(), failure.reason());
                session.channel.say_goodbye(Some(&frame));
                session.tell_close(Some(WebSocketError::Protocol(failure)), Closed::with_failure(frame));
                self.shard.sessions_failed.add(1);
            }
            Ending::Silence => {
                self.close_session(token, Some(WebSocketError::Disconnected));
                return;
            }
        }
        self.linger(token);
    }

    fn discard_session_input(&mut self, token: Token) -> Progress {
        let Some(current) = &mut self.current else { return Progress::Done };
        let length = current.left();
        current.read = current.length;
        let Some(session) = self.connections.session(token) else { return Progress::Done };
        if let Stage::Lingering { budget_bytes, .. } = &mut session.stage {
            match (*budget_bytes as usize).checked_sub(length) {
                Some(left) => *budget_bytes = left as u32,
                None => self.close_session(token, None),
            }
        }
        Progress::Done
    }

    /// All that came before the end of the peer's sending direction has been looked at.
    pub(super) fn session_met_end(&mut self, token: Token) {
        let Some(session) = self.connections.session(token) else { return };
        match session.stage {
            Stage::Open if session.has_ending() => {}
            // What came before is handled first.
            Stage::Open if !session.may_call() => {
                session.waiting().ending = Some(Ending::Silence);
                session.channel.set_awaited(true);
            }
            Stage::Open if session.receiver.is_some() => {
                self.close_session(token, Some(WebSocketError::Disconnected));
            }
            Stage::Open | Stage::Closing | Stage::Lingering { .. } | Stage::Gone => {
                self.close_session(token, None);
            }
        }
    }

    pub(super) fn set_session_receiving(&mut self, token: Token, receiving: bool) {
        let Some(session) = self.connections.session(token) else { return };
        if session.is_paused == receiving && session.stage != Stage::Gone {
            session.is_paused = !receiving;
            self.driver.set_receiving(token, receiving);
        }
    }
}
