//! What a connection sends: what follows a head, bodies, and a proxy's header before them.

use std::sync::Arc;

use tayet_http1::{BodyEvent, BodyLength, Refusal};
use tayet_net::{PeerAddress, Token};

use super::{Progress, accept_of};
use crate::body_plan::{Announced, BodyPlan};
use crate::connection::{Gathering, Phase};
use crate::event_loop::Loop;
use crate::peer_handle::PeerHandle;
use crate::proxy_header::ProxyHeader;
use crate::rate::RateWindow;
use crate::{Request, RequestBody};

/// Room that a body which is gathered gets at first; more follows as it comes, so that a length alone costs nothing.
const MAX_INITIAL_BODY_BYTES: u64 = 64 * 1024;

impl Loop {
    /// There is no head, or not all of it.
    #[inline(never)]
    pub(super) fn read_no_head(
        &mut self,
        token: Token,
        request: Box<Request>,
        received: Result<bool, Refusal>,
    ) -> Progress {
        self.spare_requests.keep(request);
        let Some(connection) = self.connections.get(token) else { return Progress::Done };
        if let Err(refusal) = received {
            self.refuse(token, refusal.status(), refusal.reason(), None);
        } else if connection.head_due_ms == 0 && connection.protocol.has_partial_head() {
            connection.head_due_ms = self.now_ms + self.shared.limits.head_timeout_ms;
        }
        Progress::Done
    }

    /// A head is complete: finds its route, and takes its body as that asks.
    pub(super) fn begin_request(&mut self, token: Token, mut request: Box<Request>) -> Progress {
        request.find_route(&*self.shared.service);
        match request.head().body_length() {
            BodyLength::None => self.begin_call(token, request, None),
            BodyLength::Fixed(length) => self.begin_body(token, request, Some(length)),
            BodyLength::Chunked => self.begin_body(token, request, None),
        }
    }

    /// The same for a request that has a body, of this length or of one that is not known.
    #[inline(never)]
    fn begin_body(&mut self, token: Token, request: Box<Request>, length: Option<u64>) -> Progress {
        let route = &self.shared.routes[request.route().0 as usize];
        let announced = Announced {
            length,
            awaits_continue: request.head().expects_continue(),
            at_hand: self.input_left(),
        };
        match BodyPlan::choose(announced, route, &self.shared.limits) {
            BodyPlan::Stream => self.begin_stream(token, request, &[]),
            BodyPlan::Gather { limit_bytes, may_stream } => {
                let rate = RateWindow::new(self.now_ms);
                let Some(connection) = self.connections.get(token) else { return Progress::Done };
                let room = connection.protocol.body_remaining().unwrap_or(0).min(MAX_INITIAL_BODY_BYTES);
                let body = Vec::with_capacity(room as usize);
                let gathering = Gathering { request, body, limit_bytes, may_stream, rate };
                connection.phase = Phase::Body(Box::new(gathering));
                Progress::Again
            }
            BodyPlan::Refuse { max_bytes } => {
                self.refuse_large(token, max_bytes, request.head());
                Progress::Done
            }
        }
    }

    #[inline(never)]
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
                let Gathering { mut request, body, .. } = *gathering;
                request.put_body(RequestBody::whole(body.into(), trailers));
                self.begin_call(token, request, None)
            }
            Ok(None) => Progress::Done,
            Err(refusal) => {
                let accept = accept_of(gathering.request.head());
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
        let Gathering { request, body, limit_bytes, may_stream, .. } = *gathering;
        let max_bytes = match self.shared.limits.max_stream_bytes {
            _ if !may_stream => limit_bytes as u64,
            0 => u64::MAX,
            max_stream_bytes => max_stream_bytes,
        };
        if body.len() as u64 <= max_bytes {
            return self.begin_stream(token, request, &body);
        }
        self.refuse_large(token, max_bytes, request.head());
        Progress::Done
    }

    #[inline(never)]
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
