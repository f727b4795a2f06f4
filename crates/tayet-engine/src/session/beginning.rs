//! How a session begins: a handler's answer becomes one.

use std::sync::Arc;

use http::StatusCode;
use tayet_net::Token;
use tayet_websocket::{Receiver, Role, Sender};

use super::Session;
use crate::answer::{Asked, encode};
use crate::body::Kind;
use crate::channel::Channel;
use crate::channel::outbox::{Framing, Outbox};
use crate::connection::Answer;
use crate::event_loop::{Current, Loop};
use crate::opening::{Opening, OpeningKind};
use crate::socket_event::SocketEvent;
use crate::{Request, Response, RouteId, problem};

impl Loop {
    /// A handler's answer begins a session: sends its head, and goes on in the session's terms.
    pub(super) fn open_session(&mut self, token: Token, exchange: u32, answer: Answer) {
        let Answer { mut response, request } = answer;
        let Some(connection) = self.connections.get(token) else { return };
        let Some(busy) = connection.busy(exchange) else { return };
        let (asked, route) = (busy.asked, busy.route);
        let Some(request) = request.filter(|_| !asked.is_head) else {
            self.answer_without_session(token, exchange, response);
            return;
        };
        self.shard.answered(route.0, response.status(), self.now.ns_since(busy.started));
        let asked = Asked { keep_alive: response.status() == StatusCode::SWITCHING_PROTOCOLS, ..asked };
        let encoded = encode(&mut response, asked, self.date.at(self.now), &mut self.out.head);
        let Kind::Session(opening) = std::mem::take(&mut response.body_mut().0) else { return };
        let framing = match &opening.kind {
            OpeningKind::WebSocket { options, .. } => {
                Framing::WebSocket(Sender::new(Role::Server, options.deflate))
            }
            OpeningKind::Events { .. } if encoded.is_chunked() => Framing::Chunked,
            OpeningKind::Events { .. } => Framing::UntilClose,
        };
        let Some(socket) = request.peer().socket().cloned() else { return };
        let outbox = Outbox::corked(socket, framing, std::mem::take(&mut self.out.head));
        let session = self.new_session(token, route, *opening, request, outbox);
        self.shard.sessions_open.add(1);
        self.shard.sessions_opened.add(1);
        self.enter_session(token, session);
    }

    fn new_session(
        &mut self,
        token: Token,
        route: RouteId,
        opening: Opening,
        request: Box<Request>,
        outbox: Outbox,
    ) -> Session {
        let remote = request.remote_addr();
        let home = Arc::clone(&self.home);
        let (receiver, settings, handler, event) = match opening.kind {
            OpeningKind::WebSocket { handler, options } => {
                let receiver = Receiver::new(Role::Server, options.deflate);
                let settings = self.shared.channel_settings(route, &options);
                (Some(receiver), settings, Some(handler), SocketEvent::Open(request))
            }
            OpeningKind::Events { open } => {
                let settings = Arc::clone(&self.shared.stream_settings);
                (None, settings, None, SocketEvent::OpenStream(open, request))
            }
        };
        let channel = Channel::new(token, remote, home, settings, handler, outbox);
        let mut session = Session::new(Arc::new(channel), receiver, route, self.now_ms);
        session.push(event);
        session
    }

    /// Puts the session in its connection's place, and goes on with what has come for it.
    fn enter_session(&mut self, token: Token, mut session: Session) {
        let Some(connection) = self.connections.get(token) else { return };
        session.timing = connection.timing;
        session.has_ended = connection.has_ended;
        session.is_paused = connection.is_paused;
        let backlog = std::mem::take(&mut connection.backlog);
        let is_current = self.is_current(token);
        self.connections.begin_session(token, session);
        self.driver.set_companion(token, self.connections.companion(token));
        if !is_current {
            self.current = Some(Current::kept(token, backlog));
        }
        self.set_session_receiving(token, true);
        self.set_session_deadline(token);
        if self.is_past_grace() {
            self.dismiss_session(token);
        }
    }

    /// A session cannot begin here: the answer was deferred, or the method is HEAD.
    fn answer_without_session(&mut self, token: Token, exchange: u32, mut response: Response) {
        let body = std::mem::take(response.body_mut());
        if matches!(&body.0, Kind::Session(opening) if opening.is_web_socket()) {
            tracing::error!("a deferred answer cannot begin a WebSocket");
            response = problem::response(StatusCode::INTERNAL_SERVER_ERROR, "", None);
        }
        if self.is_current(token) {
            self.respond(token, exchange, &mut response);
        } else {
            self.give_answer(token, exchange, Answer { response, request: None });
        }
    }
}
