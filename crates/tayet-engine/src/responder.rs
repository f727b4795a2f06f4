//! Answering later.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::SystemTime;

use bytes::Bytes;
use http::StatusCode;
use tayet_http1::Date;
use tayet_net::Moment;

use crate::answer::{Asked, Encoded, encode};
use crate::clock::DateCache;
use crate::connection::Answer;
use crate::deferral::Deferral;
use crate::mailbox::Message;
use crate::peer::Peer;
use crate::report::{Record, Report};
use crate::{Response, problem};

/// Answers a request after its handler has returned, from any thread. Dropped unanswered, it answers 500.
#[derive(Debug)]
#[must_use = "a responder that is dropped answers 500"]
pub struct Responder {
    /// `None` once answered.
    peer: Option<Arc<Peer>>,
    exchange: u32,
    /// What it answers, where it may do so past the loop.
    asked: Option<Asked>,
    /// What waits for the answer, to change it.
    deferral: Option<Arc<Deferral>>,
}

impl Responder {
    pub(crate) fn new(
        peer: Arc<Peer>,
        exchange: u32,
        asked: Option<Asked>,
        deferral: Option<Arc<Deferral>>,
    ) -> Self {
        Self { peer: Some(peer), exchange, asked, deferral }
    }

    /// Sends the answer, changed by the middleware around its handler. Where the client has gone, nothing happens.
    pub fn respond(mut self, response: Response) {
        self.answer(response);
    }

    /// Whether the client has gone.
    pub fn is_disconnected(&self) -> bool {
        self.peer.as_ref().is_some_and(|peer| peer.is_disconnected())
    }

    fn answer(&mut self, response: Response) {
        let Some(peer) = self.peer.take() else { return };
        let (exchange, asked) = (self.exchange, self.asked);
        let send = move |response: Response| match asked {
            // What a writer or a file makes of it may block, and a session is opened by its loop.
            Some(asked) if response.body().as_bytes().is_some() => send(peer, exchange, asked, response),
            _ => {
                let answer = Box::new(Answer { response, request: None });
                peer.tell_loop(Message::Answer { token: peer.token, exchange, answer });
            }
        };
        match self.deferral.take() {
            Some(deferral) => deferral.answer(response, Box::new(send)),
            None => send(response),
        }
    }
}

/// Sends an answer to its socket, as a worker does, unless somebody else has taken it on.
fn send(peer: Arc<Peer>, exchange: u32, asked: Asked, mut response: Response) {
    let Some(home) = peer.home().cloned() else { return };
    if !peer.claim(exchange) {
        return;
    }
    let keep_alive = asked.keep_alive && !home.is_draining.load(Ordering::Relaxed);
    let at = home.clock.now();
    let mut bytes = Vec::new();
    let (tail, keep_alive) = match encode(&mut response, Asked { keep_alive, ..asked }, &date(at), &mut bytes)
    {
        Encoded::Whole { keep_alive } => (Bytes::new(), keep_alive),
        Encoded::Tail { tail, keep_alive } => (tail, keep_alive),
        Encoded::Parts { .. } | Encoded::Written { .. } | Encoded::Session { .. } => {
            unreachable!("its body is bytes")
        }
    };
    let outcome = peer.send_answer(&mut bytes, tail, keep_alive);
    let record = Record::Deferred { status: response.status() };
    Report::new(peer, exchange, Some(record), outcome, at).tell_home(&home);
}

/// The date, made anew now and then by each thread that answers.
fn date(now: Moment) -> Date {
    thread_local! {
        static DATE: RefCell<DateCache> = RefCell::new(DateCache::new());
    }
    DATE.try_with(|date| *date.borrow_mut().at(now)).unwrap_or_else(|_| Date::from(SystemTime::now()))
}

impl Drop for Responder {
    fn drop(&mut self) {
        if self.peer.is_some() {
            tracing::error!("a deferred request was dropped unanswered");
            self.answer(problem::response(StatusCode::INTERNAL_SERVER_ERROR, "", None));
        }
    }
}
