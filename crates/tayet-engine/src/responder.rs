//! Answering later.

use std::sync::Arc;

use http::StatusCode;

use crate::connection::Answer;
use crate::deferral::Deferral;
use crate::mailbox::Message;
use crate::peer::Peer;
use crate::{Response, problem};

/// Answers a request after its handler has returned, from any thread. Dropped unanswered, it answers 500.
#[derive(Debug)]
#[must_use = "a responder that is dropped answers 500"]
pub struct Responder {
    /// `None` once answered.
    peer: Option<Arc<Peer>>,
    exchange: u32,
    /// What waits for the answer, to change it.
    deferral: Option<Arc<Deferral>>,
}

impl Responder {
    pub(crate) fn new(peer: Arc<Peer>, exchange: u32, deferral: Option<Arc<Deferral>>) -> Self {
        Self { peer: Some(peer), exchange, deferral }
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
        let exchange = self.exchange;
        let send = move |response| {
            let answer = Box::new(Answer { response, request: None });
            peer.tell_loop(Message::Answer { token: peer.token, exchange, answer });
        };
        match self.deferral.take() {
            Some(deferral) => deferral.answer(response, Box::new(send)),
            None => send(response),
        }
    }
}

impl Drop for Responder {
    fn drop(&mut self) {
        if self.peer.is_some() {
            tracing::error!("a deferred request was dropped unanswered");
            self.answer(problem::response(StatusCode::INTERNAL_SERVER_ERROR, "", None));
        }
    }
}
