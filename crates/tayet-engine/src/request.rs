//! What a handler is asked.

use std::cell::OnceCell;
use std::fmt;
use std::io::{self, Read};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Extensions, HeaderMap, HeaderValue, Method, StatusCode, Uri, Version};
use tayet_http1::{BodyLength, Head};
use tayet_net::{Moment, PeerAddress};

use crate::answer::Asked;
use crate::deferral::Deferral;
use crate::interim::{HeldInterims, Interim, InterimPath};
use crate::peer::Peer;
use crate::{
    BodyError, Captures, ClientWatch, Detached, Match, RequestBody, Responder, Response, RouteId, Service,
    Topics,
};

/// A request: a head, a body, and the connection that it came by.
///
/// The header map is made when it is first asked for; [`Request::header`] looks a field up without one.
///
/// # Examples
///
/// ```
/// use tayet_engine::{Request, Response};
///
/// fn greet(request: &mut Request) -> Response {
///     let name = request.header("x-name").unwrap_or("stranger");
///     Response::new(format!("Hello, {name}!"))
/// }
///
/// let mut request = Request::builder("GET", "/greet").header("X-Name", "Ada").build().unwrap();
/// assert_eq!(greet(&mut request).body().as_bytes(), Some(&b"Hello, Ada!"[..]));
/// ```
pub struct Request {
    head: Head,
    /// `None` only while it is kept, blank, for a request that has not come: see [`Request::begin`].
    peer: Option<Arc<Peer>>,
    found: Match,
    exchange: u32,
    max_body_bytes: usize,
    body: RequestBody,
    /// Nothing of it was still to come when its handler got it.
    is_whole: bool,
    is_deferred: bool,
    /// An answer that is deferred waits for what stands around the handler.
    is_surrounded: bool,
    interims: InterimPath,
    extras: OnceCell<Box<Extras>>,
    /// Room for its answer, encoded.
    answer: Vec<u8>,
}

/// What most requests never have: it is made when it is first asked for.
#[derive(Clone, Default)]
struct Extras {
    uri: OnceCell<Uri>,
    headers: OnceCell<HeaderMap>,
    extensions: Extensions,
    remote: Option<SocketAddr>,
    /// Of a body that was put in the place of the one that came.
    replaced_length: Option<BodyLength>,
    due: Option<Moment>,
    held_interims: HeldInterims,
    /// Of an answer that is deferred, and waits.
    deferral: Option<Arc<Deferral>>,
}

/// A longer time is as good as none.
const LONGEST_TIME_LEFT: Duration = Duration::from_secs(365 * 24 * 60 * 60);

impl Request {
    /// One that has not come yet. It is made to be used again: a head is received into it, its route is found, and then it
    /// begins.
    pub(crate) fn blank() -> Self {
        Self {
            head: Head::default(),
            peer: None,
            found: Match::default(),
            exchange: 0,
            max_body_bytes: 0,
            is_whole: true,
            body: RequestBody::default(),
            is_deferred: false,
            is_surrounded: false,
            interims: InterimPath::Socket,
            extras: OnceCell::new(),
            answer: Vec::new(),
        }
    }

    /// Where a worker lays its answer, encoded, for the loop that sends it.
    pub(crate) fn answer_mut(&mut self) -> &mut Vec<u8> {
        &mut self.answer
    }

    pub(crate) fn head(&self) -> &Head {
        &self.head
    }

    pub(crate) fn head_mut(&mut self) -> &mut Head {
        &mut self.head
    }

    /// Its route, and where in its path the route's parameters lie. They are written where they are to be: most paths have none.
    #[inline]
    pub(crate) fn find_route(&mut self, service: &dyn Service) {
        self.found.captures.truncate(0);
        self.found.route = service.find(&self.head, &mut self.found.captures);
    }

    /// Its body, where it has one: before it begins.
    pub(crate) fn put_body(&mut self, body: RequestBody) {
        self.is_whole = body.is_whole();
        self.body = body;
    }

    /// It is ready for its handler.
    #[inline]
    pub(crate) fn begin(
        &mut self,
        peer: Arc<Peer>,
        exchange: u32,
        max_body_bytes: usize,
        interims: InterimPath,
    ) {
        self.peer = Some(peer);
        self.exchange = exchange;
        self.max_body_bytes = max_body_bytes;
        self.interims = interims;
    }

    /// It has had its answer, and is blank again: what its handler left of it is let go, but for the head's room. Returns its
    /// handle.
    #[inline]
    pub(crate) fn retire(&mut self) -> Option<Arc<Peer>> {
        if !self.body.is_pristine() {
            self.body = RequestBody::default();
        }
        if self.extras.get().is_some() {
            self.extras = OnceCell::new();
        }
        (self.is_whole, self.is_deferred, self.is_surrounded) = (true, false, false);
        self.peer.take()
    }

    /// A request without a connection, for tests of handlers.
    pub fn builder(method: &str, target: &str) -> RequestBuilder {
        RequestBuilder::new(method, target)
    }

    /// The method.
    pub fn method(&self) -> &Method {
        self.head.method()
    }

    /// The protocol's version.
    pub fn version(&self) -> Version {
        self.head.version()
    }

    /// The target as it was sent.
    pub fn target(&self) -> &str {
        self.head.target()
    }

    /// The path as it was sent, percent-encoded. `*` for `OPTIONS *`, empty for `CONNECT`.
    pub fn path(&self) -> &str {
        self.head.path()
    }

    /// The query as it was sent, without the question mark.
    pub fn query(&self) -> Option<&str> {
        self.head.query()
    }

    /// The target as a parsed [`Uri`]; `/` for what that type does not hold.
    pub fn uri(&self) -> &Uri {
        self.extras().uri.get_or_init(|| self.head.target().parse().unwrap_or_else(|_| Uri::from_static("/")))
    }

    /// The host (and port) that is asked: from the target if it is absolute, else from `Host`.
    pub fn host(&self) -> Option<&str> {
        self.head.authority()
    }

    /// The first field of this name, whatever its case, if it is visible ASCII. Makes no header map.
    pub fn header(&self, name: &str) -> Option<&str> {
        match self.header_map() {
            Some(headers) => headers.get(name)?.to_str().ok(),
            None => std::str::from_utf8(self.head.get(name)?).ok().filter(|value| value.is_ascii()),
        }
    }

    /// Every field of this name, whatever its case, that is visible ASCII. Makes no header map.
    pub fn header_all<'r>(&'r self, name: &'r str) -> impl Iterator<Item = &'r str> {
        let map = self.header_map();
        let of_map =
            map.into_iter().flat_map(move |headers| headers.get_all(name)).map(HeaderValue::as_bytes);
        let of_head = map.is_none().then(|| self.head.get_all(name)).into_iter().flatten();
        of_map
            .chain(of_head)
            .filter_map(|value| std::str::from_utf8(value).ok())
            .filter(|value| value.is_ascii())
    }

    /// All header fields.
    pub fn headers(&self) -> &HeaderMap {
        self.extras().headers.get_or_init(|| self.head.header_map())
    }

    /// All header fields in order, with their names as they were received. Makes no header map.
    pub fn fields(&self) -> impl Iterator<Item = (&str, &[u8])> {
        let map = self.header_map();
        let received = map.is_none().then(|| self.head.fields()).into_iter().flatten();
        let changed = map.into_iter().flat_map(|map| map.iter());
        received.chain(changed.map(|(name, value)| (name.as_str(), value.as_bytes())))
    }

    /// All header fields, to be changed for the handlers further in.
    pub fn headers_mut(&mut self) -> &mut HeaderMap {
        self.headers();
        self.extras_mut().headers.get_mut().expect("just made")
    }

    /// The length of the body by its head: `None` where only its end will tell (chunked), or that of a body that was put in
    /// its place.
    pub fn content_length(&self) -> Option<u64> {
        let replaced = self.extras.get().and_then(|extras| extras.replaced_length);
        match replaced.unwrap_or_else(|| self.head.body_length()) {
            BodyLength::None => Some(0),
            BodyLength::Fixed(length) => Some(length),
            BodyLength::Chunked => None,
        }
    }

    /// Reads the whole body, blocking while it still arrives.
    ///
    /// # Errors
    ///
    /// [`BodyError::TooLarge`] (413) past the route's `max_body_bytes`; others as [`BodyError`] has them.
    pub fn bytes(&mut self) -> Result<Bytes, BodyError> {
        self.body.read_whole(self.max_body_bytes)
    }

    /// The body, to be read piece by piece ([`std::io::Read`]), without a limit but `max_stream_bytes`.
    pub fn stream(&mut self) -> &mut RequestBody {
        &mut self.body
    }

    /// Takes the body out, to be read elsewhere or later.
    pub fn take_body(&mut self) -> RequestBody {
        std::mem::take(&mut self.body)
    }

    /// Puts a body in, such as one that middleware has decoded.
    pub fn set_body(&mut self, bytes: impl Into<Bytes>) {
        let bytes = bytes.into();
        self.extras_mut().replaced_length = Some(BodyLength::Fixed(bytes.len() as u64));
        self.body = RequestBody::whole(bytes, None);
    }

    /// Puts a body in that is read while the handler reads it, such as what [`Request::take_body`] gave, decoded. Where the
    /// reader fails with an error that was made of a [`BodyError`], the handler gets that one, else
    /// [`BodyError::Undecodable`].
    pub fn set_body_reader(&mut self, reader: impl Read + Send + 'static) {
        self.extras_mut().replaced_length = Some(BodyLength::Chunked);
        self.body = RequestBody::from_reader(reader);
    }

    /// Most bytes that [`Request::bytes`] reads.
    pub fn max_body_bytes(&self) -> usize {
        self.max_body_bytes
    }

    /// Changes what [`Request::bytes`] reads at most. The engine has by then gathered what the route allowed.
    pub fn set_max_body_bytes(&mut self, max_body_bytes: usize) {
        self.max_body_bytes = max_body_bytes;
    }

    /// Who asks: the connection's other end, or what a trusted proxy says of it.
    pub fn remote_addr(&self) -> PeerAddress {
        let remote = self.extras.get().and_then(|extras| extras.remote);
        remote.map_or(self.peer().address, PeerAddress::Ip)
    }

    /// The connection's other end, whatever a proxy says.
    pub fn connection_addr(&self) -> PeerAddress {
        self.peer().address
    }

    /// This end of the connection.
    pub fn local_addr(&self) -> PeerAddress {
        self.peer().local
    }

    /// Says on whose behalf the connection's other end asks.
    pub fn set_remote_addr(&mut self, remote: SocketAddr) {
        self.extras_mut().remote = Some(remote);
    }

    /// Whether the client has gone (or has ended its sending direction): a handler with much to do may stop.
    pub fn is_disconnected(&self) -> bool {
        self.peer().is_disconnected()
    }

    /// Whether the client has gone, for those who work for it without having the request.
    pub fn client_watch(&self) -> ClientWatch {
        ClientWatch::new(Arc::clone(self.peer()))
    }

    /// How long there is until the time-out of the route answers in the handler's place; nothing is left once it has. `None`
    /// for a route without a time-out.
    pub fn time_left(&self) -> Option<Duration> {
        let due = self.extras.get()?.due?;
        Some(due.since(Moment::now()))
    }

    /// Changes what [`Request::time_left`] says, such as to what a caller grants in a header field. When the server answers
    /// in the handler's place remains the same.
    pub fn set_time_left(&mut self, left: Duration) {
        self.extras_mut().due = Some(Moment::now() + left.min(LONGEST_TIME_LEFT));
    }

    /// The server's topics. In tests, a hub that nobody else knows.
    pub fn topics(&self) -> Topics {
        self.peer().topics().cloned().unwrap_or_default()
    }

    /// Sends an interim response (RFC 9110 section 15.2) before the answer, such as `103 Early Hints` (RFC 8297). Says whether
    /// it goes to the client: not to one of HTTP/1.0, which knows none, nor once the answer is on its way (the route's time-out
    /// may have given it), nor where the client takes nothing just now, since nobody may depend on it.
    ///
    /// It goes at once, unless earlier requests of the connection were pipelined with this one and their answers have not been
    /// sent: then it goes with the answer. Connection, Keep-Alive, Transfer-Encoding and Content-Length are left out.
    /// `100 Continue` is sent by the first read of the body.
    ///
    /// # Errors
    ///
    /// [`io::ErrorKind::InvalidInput`] for a status that is not interim, and for 100 and 101, which are not the handler's; else
    /// when the client has gone.
    ///
    /// # Examples
    ///
    /// ```
    /// use http::{HeaderMap, HeaderValue, StatusCode, header};
    /// use tayet_engine::{Request, Response};
    ///
    /// fn page(request: &mut Request) -> Response {
    ///     let style = HeaderValue::from_static("</style.css>; rel=preload; as=style");
    ///     let hints = HeaderMap::from_iter([(header::LINK, style)]);
    ///     let _ = request.send_interim(StatusCode::EARLY_HINTS, &hints);
    ///     Response::new("what takes a while to make")
    /// }
    /// ```
    pub fn send_interim(&self, status: StatusCode, fields: &HeaderMap) -> io::Result<bool> {
        if !matches!(status.as_u16(), 102..=199) {
            let detail = format!("a handler cannot send {status} before its answer");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, detail));
        }
        if self.version() == Version::HTTP_10 {
            return Ok(false);
        }
        let mut head = Vec::new();
        tayet_http1::encode_interim(status, fields, &mut head);
        let interim = match self.interims {
            InterimPath::Socket => self.peer().send_interim(self.exchange, &head)?,
            InterimPath::BehindAnswers => self.extras().held_interims.hold(&head),
        };
        Ok(interim == Interim::Sent)
    }

    /// Answers later, from any thread. What the handler returns is then not sent.
    ///
    /// # Examples
    ///
    /// ```
    /// use tayet_engine::{Request, Response};
    ///
    /// fn later(request: &mut Request) -> Response {
    ///     let responder = request.defer();
    ///     std::thread::spawn(move || responder.respond(Response::new("done")));
    ///     Response::default()
    /// }
    /// ```
    pub fn defer(&mut self) -> Responder {
        let deferral = self.begin_deferral();
        // Behind answers that the loop has gathered, or before the end of a body that it still receives, only it can answer.
        let answers_itself = self.interims == InterimPath::Socket && self.is_whole;
        let asked = answers_itself.then(|| Asked::of(&self.head, true));
        Responder::new(Arc::clone(self.peer()), self.exchange, asked, deferral)
    }

    /// Whether an answer that comes later is sent: not where a test calls a handler without a server.
    pub fn can_defer(&self) -> bool {
        self.peer().socket().is_some()
    }

    /// Takes the request along, body and all, to be answered later from any thread. Unlike what [`Request::defer`] gives,
    /// the one that leaves can begin a WebSocket. What the handler returns is then not sent; of what is left to it, the body
    /// is empty.
    pub fn detach(&mut self) -> Detached {
        let leaving = Self {
            head: self.head.clone(),
            peer: self.peer.clone(),
            found: self.found.clone(),
            exchange: self.exchange,
            max_body_bytes: self.max_body_bytes,
            body: self.take_body(),
            is_whole: self.is_whole,
            is_deferred: self.is_deferred,
            is_surrounded: false,
            interims: self.interims,
            extras: self.extras.clone(),
            answer: Vec::new(),
        };
        // They stay with this one.
        leaving.take_held_interims();
        Detached::new(leaving, self.begin_deferral())
    }

    fn begin_deferral(&mut self) -> Option<Arc<Deferral>> {
        self.is_deferred = true;
        self.is_surrounded.then(|| Arc::clone(self.extras_mut().deferral.get_or_insert_default()))
    }

    /// Says that something stands around the handler which may change its answer. One that the handler defers then waits until
    /// the handler and all around it have returned. For those who call middleware.
    pub fn surround(&mut self) {
        self.is_surrounded = true;
    }

    /// Changes the answer that the handler has deferred ([`Request::is_deferred`]), when it comes and before it is sent, on the
    /// thread that gives it. For middleware: what it changes of the response that such a handler returns goes nowhere.
    ///
    /// # Examples
    ///
    /// ```
    /// use tayet_engine::{Request, Response};
    ///
    /// fn with_name(request: &mut Request, handler: impl Fn(&mut Request) -> Response) -> Response {
    ///     let response = handler(request);
    ///     if request.is_deferred() {
    ///         request.amend_deferred(|answer| *answer = std::mem::take(answer).with_header("x-name", "loom"));
    ///         return response;
    ///     }
    ///     response.with_header("x-name", "loom")
    /// }
    /// ```
    pub fn amend_deferred(&mut self, amend: impl FnOnce(&mut Response) + Send + 'static) {
        if let Some(deferral) = &self.extras_mut().deferral {
            deferral.amend(Box::new(amend));
        }
    }

    /// The handler has returned, and all around it.
    #[inline(never)]
    pub(crate) fn release_deferral(&mut self) {
        if let Some(deferral) = self.extras_mut().deferral.take() {
            deferral.release();
        }
    }

    /// Whether the handler has said that it answers later: what it returns is then not sent.
    pub fn is_deferred(&self) -> bool {
        self.is_deferred
    }

    /// Values that middleware hands to handlers.
    pub fn extensions(&self) -> Option<&Extensions> {
        self.extras.get().map(|extras| &extras.extensions)
    }

    /// Values that middleware hands to handlers, to be changed.
    pub fn extensions_mut(&mut self) -> &mut Extensions {
        &mut self.extras_mut().extensions
    }

    /// The route that was found.
    pub fn route(&self) -> RouteId {
        self.found.route
    }

    /// Where in [`Request::path`] the route's parameters lie.
    pub fn captures(&self) -> &Captures {
        &self.found.captures
    }

    fn extras(&self) -> &Extras {
        self.extras.get_or_init(Box::default)
    }

    fn extras_mut(&mut self) -> &mut Extras {
        self.extras();
        self.extras.get_mut().expect("just made")
    }

    /// The header map, if it has been made.
    fn header_map(&self) -> Option<&HeaderMap> {
        self.extras.get()?.headers.get()
    }

    pub(crate) fn peer(&self) -> &Arc<Peer> {
        self.peer.as_ref().expect("a request that has begun has a peer")
    }

    pub(crate) fn exchange(&self) -> u32 {
        self.exchange
    }

    pub(crate) fn interims(&self) -> InterimPath {
        self.interims
    }

    /// Interim responses that wait for the answer.
    pub(crate) fn take_held_interims(&self) -> Vec<u8> {
        self.extras.get().map_or_else(Vec::new, |extras| extras.held_interims.take())
    }
}

impl fmt::Debug for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request")
            .field("method", self.method())
            .field("target", &self.target())
            .field("headers", self.headers())
            .finish_non_exhaustive()
    }
}

/// Makes a [`Request`] without a connection, for tests of handlers.
#[derive(Clone, Debug)]
pub struct RequestBuilder {
    head: String,
    body: Bytes,
    found: Match,
    remote: Option<SocketAddr>,
}

impl RequestBuilder {
    fn new(method: &str, target: &str) -> Self {
        let head = format!("{method} {target} HTTP/1.1\r\n");
        Self { head, body: Bytes::new(), found: Match::default(), remote: None }
    }

    /// Adds a header field. `Host: localhost` is there unless another is given.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.head.push_str(&format!("{name}: {value}\r\n"));
        self
    }

    /// Gives it a body, and the `Content-Length` for it.
    #[must_use]
    pub fn body(mut self, body: impl Into<Bytes>) -> Self {
        self.body = body.into();
        self
    }

    /// The route that is to have been found.
    #[must_use]
    pub fn found(mut self, found: Match) -> Self {
        self.found = found;
        self
    }

    /// Who is to have asked.
    #[must_use]
    pub fn remote_addr(mut self, remote: SocketAddr) -> Self {
        self.remote = Some(remote);
        self
    }

    /// The request.
    ///
    /// # Errors
    ///
    /// When a server would refuse such a head.
    pub fn build(mut self) -> Result<Request, tayet_http1::Refusal> {
        if !self.head.to_ascii_lowercase().contains("\r\nhost:") {
            self = self.header("Host", "localhost");
        }
        if !self.body.is_empty() {
            let length = self.body.len().to_string();
            self = self.header("Content-Length", &length);
        }
        self.head.push_str("\r\n");
        let mut request = Request::blank();
        let limits = crate::Limits::default();
        let received = &mut self.head.as_bytes();
        tayet_http1::Connection::new().receive_head(received, request.head_mut(), &limits.head())?;
        request.found = self.found;
        request.put_body(RequestBody::whole(self.body, None));
        request.begin(Arc::new(Peer::unconnected()), 0, limits.max_body_bytes, InterimPath::Socket);
        if let Some(remote) = self.remote {
            request.set_remote_addr(remote);
        }
        Ok(request)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_one_name_are_found_with_and_without_a_map() {
        let request = Request::builder("GET", "/").header("A", "1").header("b", "2").header("a", "3");
        let mut request = request.build().unwrap();
        assert_eq!(request.header_all("a").collect::<Vec<_>>(), ["1", "3"]);
        request.headers_mut().append("a", "4".parse().unwrap());
        assert_eq!(request.header_all("A").collect::<Vec<_>>(), ["1", "3", "4"]);
        assert_eq!(request.header_all("c").count(), 0);
    }

    #[test]
    fn nothing_is_left_of_one_that_is_retired() {
        let mut request = Request::builder("POST", "/").header("A", "1").body("12345").build().unwrap();
        request.headers_mut().append("b", HeaderValue::from_static("2"));
        request.extensions_mut().insert("of the last client");
        request.set_remote_addr(([192, 0, 2, 1], 1).into());
        request.set_time_left(Duration::ZERO);
        request.stream().set_max_bytes(1);
        request.surround();
        let _ = request.begin_deferral();
        assert!(request.retire().is_some() && request.retire().is_none());
        assert!(request.body.is_pristine() && request.is_whole && request.extras.get().is_none());
        assert!(!request.is_deferred && !request.is_surrounded);
        let next = &mut &b"GET /next HTTP/1.1\r\nHost: x\r\n\r\n"[..];
        let limits = crate::Limits::default().head();
        tayet_http1::Connection::new().receive_head(next, request.head_mut(), &limits).unwrap();
        assert_eq!(request.fields().collect::<Vec<_>>(), [("Host", &b"x"[..])]);
        assert_eq!((request.content_length(), request.target()), (Some(0), "/next"));
    }

    #[test]
    fn time_runs_out() {
        let mut request = Request::builder("GET", "/").build().unwrap();
        assert_eq!(request.time_left(), None);
        request.set_time_left(Duration::from_secs(60));
        let left = request.time_left().unwrap();
        assert!(left > Duration::ZERO && left <= Duration::from_secs(60), "{left:?}");
        request.set_time_left(Duration::ZERO);
        assert_eq!(request.time_left(), Some(Duration::ZERO));
    }

    #[test]
    fn a_body_that_is_put_in_has_its_own_length() {
        let mut request = Request::builder("POST", "/").body("12345").build().unwrap();
        assert_eq!(request.content_length(), Some(5));
        request.set_body("123");
        assert_eq!(request.content_length(), Some(3));
        request.set_body_reader(&b"12"[..]);
        assert_eq!(request.content_length(), None);
        assert_eq!(request.bytes().unwrap(), "12");
    }
}
