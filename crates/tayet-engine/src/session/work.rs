//! What loops and workers do about sessions.
//!
//! Only an [`Opening`](crate::opening::Opening) refers to who does it. A program that begins no session therefore has none of
//! that code: no framing, no compression, nothing of topics.

use std::sync::Arc;

use tayet_net::{Outgoing, Token};

use crate::WebSocketError;
use crate::channel::Channel;
use crate::connection::Answer;
use crate::event_loop::Loop;
use crate::exchange::Progress;
use crate::mailbox::SessionMail;
use crate::shared::Shared;
use crate::socket_event::SocketEvent;

/// Does the work of sessions. All but the last are a loop's. Those of a token, but for the first, are about a connection that is a
/// session, and do nothing where it is none.
pub(crate) trait SessionWork: Sync {
    /// A handler's answer begins a session.
    fn open(&self, the_loop: &mut Loop, token: Token, exchange: u32, answer: Answer);
    /// Does the next part of what there is to do about topics.
    fn work_on_topics(&self, the_loop: &mut Loop);
    /// Bytes came.
    fn begin_input(&self, the_loop: &mut Loop, token: Token, length: usize);
    /// Takes the next step with the current connection, the last of which is to leave it; `None` if it is no session.
    fn read(&self, the_loop: &mut Loop, token: Token) -> Option<Progress>;
    /// Leaves the current connection; `false` if it is no session.
    fn leave(&self, the_loop: &mut Loop, token: Token) -> bool;
    /// Goes on where there may be something to do.
    fn take_up(&self, the_loop: &mut Loop, token: Token);
    /// Something is told by another thread.
    fn receive(&self, the_loop: &mut Loop, token: Token, mail: SessionMail);
    /// Some of what was waiting to be sent has been.
    fn sent(&self, the_loop: &mut Loop, token: Token, outgoing: Outgoing, count: usize);
    /// So many bytes of what was held have been sent; the rest, if any, did not go at once.
    fn sent_held(&self, the_loop: &mut Loop, token: Token, count: usize, rest: Option<Outgoing>);
    /// The peer has ended its sending direction.
    fn ended(&self, the_loop: &mut Loop, token: Token);
    /// The deadline has come.
    fn deadline_passed(&self, the_loop: &mut Loop, token: Token);
    /// The server stops.
    fn dismiss(&self, the_loop: &mut Loop, token: Token);
    /// Closes the connection at once.
    fn close(&self, the_loop: &mut Loop, token: Token, error: WebSocketError);
    /// The current session's handler has been called here.
    fn handled(&self, the_loop: &mut Loop, channel: &Channel);
    /// Calls the handler. A panic closes the session.
    fn call(&self, channel: &Arc<Channel>, event: SocketEvent, shared: &Shared);
}

/// What an [`Opening`](crate::opening::Opening) refers to.
pub(crate) static SESSIONS: &dyn SessionWork = &Sessions;

impl Loop {
    /// Who does the work of a connection, if it is a session.
    pub(crate) fn sessions_of(&mut self, token: Token) -> Option<&'static dyn SessionWork> {
        self.connections.session(token)?;
        Some(self.shared.sessions())
    }
}

struct Sessions;

impl SessionWork for Sessions {
    fn open(&self, the_loop: &mut Loop, token: Token, exchange: u32, answer: Answer) {
        the_loop.open_session(token, exchange, answer);
    }

    fn work_on_topics(&self, the_loop: &mut Loop) {
        the_loop.work_on_topics();
    }

    fn begin_input(&self, the_loop: &mut Loop, token: Token, length: usize) {
        the_loop.begin_session_input(token, length);
    }

    fn read(&self, the_loop: &mut Loop, token: Token) -> Option<Progress> {
        let progress = the_loop.read_session(token)?;
        if let Progress::Done = progress {
            the_loop.leave_session(token);
            // There is no current connection any more, which the loop then sees.
            return Some(Progress::Again);
        }
        Some(progress)
    }

    fn leave(&self, the_loop: &mut Loop, token: Token) -> bool {
        the_loop.leave_session(token)
    }

    fn take_up(&self, the_loop: &mut Loop, token: Token) {
        the_loop.take_up_session(token);
    }

    fn receive(&self, the_loop: &mut Loop, token: Token, mail: SessionMail) {
        match mail {
            SessionMail::Handled { waited_ns } => the_loop.session_handled(token, waited_ns),
            SessionMail::Resumed => the_loop.resume_session(token),
            SessionMail::Flush => the_loop.flush_session(token),
            SessionMail::Closing => the_loop.session_closing(token),
            SessionMail::Overflowed => the_loop.close_session(token, Some(WebSocketError::QueueFull)),
        }
    }

    fn sent(&self, the_loop: &mut Loop, token: Token, outgoing: Outgoing, count: usize) {
        the_loop.session_sent(token, outgoing, count);
    }

    fn sent_held(&self, the_loop: &mut Loop, token: Token, count: usize, rest: Option<Outgoing>) {
        the_loop.session_sent_held(token, count, rest);
    }

    fn ended(&self, the_loop: &mut Loop, token: Token) {
        the_loop.session_ended(token);
    }

    fn deadline_passed(&self, the_loop: &mut Loop, token: Token) {
        the_loop.session_deadline_passed(token);
    }

    fn dismiss(&self, the_loop: &mut Loop, token: Token) {
        the_loop.dismiss_session(token);
    }

    fn close(&self, the_loop: &mut Loop, token: Token, error: WebSocketError) {
        the_loop.close_session(token, Some(error));
    }

    fn handled(&self, the_loop: &mut Loop, channel: &Channel) {
        the_loop.session_handled_here(channel);
    }

    fn call(&self, channel: &Arc<Channel>, event: SocketEvent, shared: &Shared) {
        event.handle(channel, shared);
    }
}
