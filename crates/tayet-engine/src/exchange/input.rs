//! What a connection sends: heads, bodies, and a proxy's header before them.

use std::sync::Arc;

use tayet_http1::{BodyEvent, Head};
use tayet_net::{PeerAddress, Token};

use super::{Progress, accept_of};
use crate::RequestBody;
use crate::body_plan::{Announced, BodyPlan};
use crate::connection::{Gathering, Phase};
use crate::event_loop::Loop;
use crate::peer_handle::PeerHandle;
use crate::proxy_header::ProxyHeader;
use crate::rate::RateWindow;

/// Room that a body which is gathered gets at first; more follows as it comes, so that a length alone costs nothing.
const MAX_INITIAL_BODY_BYTES: u64 = 64 * 1024;

impl Loop {
    pub(super) fn read_head(&mut self, token: Token) -> Progress {
        let Some(current) = &mut self.current else { return Progress::Done };
        if current.left() == 0 {
            return Progress::Done;
        }
        let input = current.input.rest(self.driver.received(), current.read);
        let Some(connection) = self.connections.get(token) else { return Progress::Done };
        let mut head = self.spare_heads.pop().unwrap_or_default();
        let mut rest = input;
        let received = connection.protocol.receive_head(&mut rest, &mut head, &self.head_limits);
        current.read += input.len() - rest.len();
        match received {
            Ok(true) => {
                connection.head_due_ms = 0;
                self.begin_request(token, head)
            }
            Ok(false) => {
                if connection.head_due_ms == 0 && connection.protocol.has_partial_head() {
                    connection.head_due_ms = self.now_ms + self.shared.limits.head_timeout_ms;
                }
                self.spare_heads.push(head);
                Progress::Done
            }
            Err(refusal) => {
                self.spare_heads.push(head);
                self.refuse(token, refusal.status(), refusal.reason(), None);
                Progress::Done
            }
        }
    }

    /// A head is complete: finds its route, and takes its body as that asks.
    fn begin_request(&mut self, token: Token, head: Box<Head>) -> Progress {
        let found = self.shared.service.find(&head);
        let route = &self.shared.routes[found.route.0 as usize];
        let announced = Announced {
            length: head.body_length(),
            awaits_continue: head.expects_continue(),
            at_hand: self.input_left(),
        };
        match BodyPlan::choose(announced, route, &self.shared.limits) {
            BodyPlan::Nothing => self.begin_call(token, head, found, RequestBody::default(), None),
            BodyPlan::Stream => self.begin_stream(token, head, found, &[]),
            BodyPlan::Gather { limit_bytes, may_stream } => {
                let rate = RateWindow::new(self.now_ms);
                let Some(connection) = self.connections.get(token) else { return Progress::Done };
                let room = connection.protocol.body_remaining().unwrap_or(0).min(MAX_INITIAL_BODY_BYTES);
                let body = Vec::with_capacity(room as usize);
                let gathering = Gathering { head, found, body, limit_bytes, may_stream, rate };
                connection.phase = Phase::Body(Box::new(gathering));
                Progress::Again
            }
            BodyPlan::Refuse { max_bytes } => {
                self.refuse_large(token, max_bytes, &head);
                Progress::Done
            }
        }
    }

    pub(super) fn read_body(&mut self, token: Token) -> Progress {
        let Some(current) = &mut self.current else { return Progress::Done };
        let Some(connection) = self.connections.get(token) else { return Progress::Done };
        let Phase::Body(gathering) = &mut connection.phase else { return Progress::Done };
        match current.read_body(self.driver.received(), &mut connection.protocol) {
            Ok(Some(BodyEvent::Data(data))) => {
                gathering.rate.add(data.len());
                gathering.body.extend_from_slice(data);
                if gathering.body.len() <= gathering.limit_bytes {
                    return Progress::Again;
                }
                self.gathered_too_much(token)
            }
            Ok(Some(BodyEvent::End { trailers })) => {
                let Phase::Body(gathering) = std::mem::replace(&mut connection.phase, Phase::Head) else {
                    return Progress::Done;
                };
                let Gathering { head, found, body, .. } = *gathering;
                self.begin_call(token, head, found, RequestBody::whole(body.into(), trailers), None)
            }
            Ok(None) => Progress::Done,
            Err(refusal) => {
                let accept = accept_of(&gathering.head);
                self.refuse(token, refusal.status(), refusal.reason(), accept.as_deref());
                Progress::Done
            }
        }
    }

    /// A body of unknown length has outgrown what is gathered.
    fn gathered_too_much(&mut self, token: Token) -> Progress {
        let Some(connection) = self.connections.get(token) else { return Progress::Done };
        let Phase::Body(gathering) = std::mem::replace(&mut connection.phase, Phase::Head) else {
            return Progress::Done;
        };
        let Gathering { head, found, body, limit_bytes, may_stream, .. } = *gathering;
        let max_bytes = match self.shared.limits.max_stream_bytes {
            _ if !may_stream => limit_bytes as u64,
            0 => u64::MAX,
            max_stream_bytes => max_stream_bytes,
        };
        if body.len() as u64 <= max_bytes {
            return self.begin_stream(token, head, found, &body);
        }
        self.refuse_large(token, max_bytes, &head);
        Progress::Done
    }

    pub(super) fn read_proxy_header(&mut self, token: Token, local: PeerAddress) -> Progress {
        let Some(current) = &mut self.current else { return Progress::Done };
        let Some(connection) = self.connections.get(token) else { return Progress::Done };
        let input = current.input.rest(self.driver.received(), current.read);
        match ProxyHeader::parse(input) {
            Ok(Some(header)) => {
                current.read += header.length;
                if let Some((source, destination)) = header.addresses {
                    let destination =
                        if local == PeerAddress::Unix { local } else { PeerAddress::Ip(destination) };
                    let peer = connection.peer.behind_proxy(PeerAddress::Ip(source), destination);
                    connection.peer = PeerHandle::new(Arc::new(peer));
                }
                connection.phase = Phase::Head;
                Progress::Again
            }
            // The part that has come is kept, and the next bytes are put behind it.
            Ok(None) => Progress::Done,
            Err(_) => {
                self.shard.requests_refused.add(1);
                self.close(token);
                Progress::Done
            }
        }
    }
}
