//! Opening WebSockets: handshake, origins, subprotocols, compression.

mod origins;

use std::fmt;
use std::sync::Arc;

use http::{HeaderValue, StatusCode, Version, header};
use tayet_engine::websocket::{DeflateSettings, HandshakeRefusal, Offer, VERSION};
use tayet_engine::{SendPolicy, WebSocketHandler, WebSocketOptions};

pub use self::origins::Origins;

use crate::{Context, FromRequestParts, Handler, IntoResponse, Problem, Request, Response};

/// The fields that a handshake is made of, and those that the origin's policy looks at.
const FIELDS: [&str; 8] = [
    "upgrade",
    "connection",
    "sec-websocket-version",
    "sec-websocket-key",
    "sec-websocket-protocol",
    "sec-websocket-extensions",
    "origin",
    "host",
];

/// What the WebSockets of a route agree to. What is not said is as [`Limits`](crate::Limits) have it.
///
/// # Examples
///
/// ```
/// use tayet::{Message, Origins, Router, SendPolicy, WebSocket, WebSocketConfig};
///
/// let config = WebSocketConfig::new()
///     .protocols(["chat.v2", "chat.v1"])
///     .origins(Origins::list(["https://example.org"]))
///     .max_message_bytes(64 * 1024)
///     .send_policy(SendPolicy::Drop);
/// let app: Router = Router::new().websocket_with("/chat", config, |socket: &WebSocket, message: Message| {
///     let _ = socket.send(message);
/// });
/// ```
#[derive(Clone, Debug)]
pub struct WebSocketConfig {
    protocols: Vec<String>,
    origins: Origins,
    deflate: Option<DeflateSettings>,
    options: WebSocketOptions,
}

impl Default for WebSocketConfig {
    fn default() -> Self {
        Self {
            protocols: Vec::new(),
            origins: Origins::SameHost,
            deflate: Some(DeflateSettings::default()),
            options: WebSocketOptions::default(),
        }
    }
}

impl WebSocketConfig {
    /// No subprotocols, browsers of the same host only, compression where the client offers it.
    pub fn new() -> Self {
        Self::default()
    }

    /// Subprotocols that the server speaks, the preferred one first. A client that offers none of them gets no subprotocol,
    /// and decides itself whether to go on.
    #[must_use]
    pub fn protocols<P: Into<String>>(mut self, protocols: impl IntoIterator<Item = P>) -> Self {
        self.protocols = protocols.into_iter().map(Into::into).collect();
        self
    }

    /// Whose pages may open a socket. Default: [`Origins::SameHost`].
    #[must_use]
    pub fn origins(mut self, origins: Origins) -> Self {
        self.origins = origins;
        self
    }

    /// How messages are compressed (RFC 7692), or `None` for not at all.
    #[must_use]
    pub fn deflate(mut self, settings: impl Into<Option<DeflateSettings>>) -> Self {
        self.deflate = settings.into();
        self
    }

    /// In place of [`Limits::max_message_bytes`](crate::Limits::max_message_bytes).
    #[must_use]
    pub fn max_message_bytes(mut self, max_message_bytes: usize) -> Self {
        self.options.max_message_bytes = Some(max_message_bytes);
        self
    }

    /// In place of [`Limits::max_send_queue_bytes`](crate::Limits::max_send_queue_bytes).
    #[must_use]
    pub fn max_send_queue_bytes(mut self, max_send_queue_bytes: usize) -> Self {
        self.options.max_send_queue_bytes = Some(max_send_queue_bytes);
        self
    }

    /// In place of [`Limits::ping_interval_ms`](crate::Limits::ping_interval_ms); 0 for no pings.
    #[must_use]
    pub fn ping_interval_ms(mut self, ping_interval_ms: u64) -> Self {
        self.options.ping_interval_ms = Some(ping_interval_ms);
        self
    }

    /// What happens to a message that finds the send queue full. Default: [`SendPolicy::Close`].
    #[must_use]
    pub fn send_policy(mut self, send_policy: SendPolicy) -> Self {
        self.options.send_policy = send_policy;
        self
    }
}

/// A request for a WebSocket, as an extractor: for handlers that look at the request before they open one, or make a handler
/// of their own for each. A request that is none is answered by 400, 405 or 426.
///
/// # Examples
///
/// ```
/// use tayet::{Message, Path, Response, Router, WebSocket, WebSocketUpgrade};
///
/// fn room(upgrade: WebSocketUpgrade, Path(name): Path<String>) -> Response {
///     upgrade.serve(move |socket: &WebSocket, message: Message| {
///         let _ = socket.send(format!("{} bytes in {name}", message.len()));
///     })
/// }
///
/// let app: Router = Router::new().get("/rooms/{name}", room);
/// let client = tayet::testing::TestClient::new(app);
/// let plain = client.get("/rooms/1").send();
/// assert_eq!((plain.status(), plain.header("sec-websocket-version")), (tayet::StatusCode::UPGRADE_REQUIRED, Some("13")));
/// ```
#[derive(Clone, Debug)]
pub struct WebSocketUpgrade {
    fields: Vec<(&'static str, Vec<u8>)>,
    config: WebSocketConfig,
}

impl WebSocketUpgrade {
    /// The same by another configuration than the default.
    #[must_use]
    pub fn with(mut self, config: WebSocketConfig) -> Self {
        self.config = config;
        self
    }

    /// Opens the WebSocket: the answer to the handshake, to be returned by the handler. A page of another origin than those
    /// that may is answered by 403.
    pub fn serve(self, handler: impl WebSocketHandler) -> Response {
        self.serve_shared(Arc::new(handler))
    }

    /// Opens the WebSocket for a handler that many share.
    pub fn serve_shared(self, handler: Arc<dyn WebSocketHandler>) -> Response {
        let offer = Offer::read("GET", true, |name| values_of(&self.fields, name));
        match offer {
            Ok(offer) => negotiate(&offer, &self.fields, &self.config, handler),
            Err(refusal) => refused(refusal),
        }
    }

    /// What the extractor gives, for whoever has the request in hand.
    ///
    /// # Errors
    ///
    /// The answer to a request that asks for no WebSocket, or wrongly.
    #[allow(clippy::result_large_err, reason = "it is made once, and sent")]
    pub fn of(request: &Request) -> Result<Self, Response> {
        Self::read(request).map_err(refused)
    }

    fn read(request: &Request) -> Result<Self, HandshakeRefusal> {
        let headers = request.headers();
        let values = FIELDS.iter().flat_map(|name| {
            let values = headers.get_all(*name).iter();
            values.map(|value| (*name, value.as_bytes().to_vec()))
        });
        let fields = values.collect::<Vec<_>>();
        let is_http_1_1 = request.version() == Version::HTTP_11;
        Offer::read(request.method().as_str(), is_http_1_1, |name| values_of(&fields, name))?;
        Ok(Self { fields, config: WebSocketConfig::default() })
    }
}

impl<S> FromRequestParts<S> for WebSocketUpgrade {
    type Rejection = Response;

    fn from_request_parts(request: &mut Request, _: Context<'_, S>) -> Result<Self, Response> {
        Self::of(request)
    }
}

/// Marks [`WebSocketRoute`] as a handler.
pub(crate) struct OpensWebSocket;

/// The handler of a route that opens WebSockets.
pub(crate) struct WebSocketRoute {
    handler: Arc<dyn WebSocketHandler>,
    config: WebSocketConfig,
}

impl WebSocketRoute {
    pub(crate) fn new(handler: impl WebSocketHandler, config: WebSocketConfig) -> Self {
        Self { handler: Arc::new(handler), config }
    }
}

impl<S> Handler<OpensWebSocket, S> for WebSocketRoute {
    fn call(&self, request: &mut Request, _: Context<'_, S>) -> Response {
        match WebSocketUpgrade::read(request) {
            Ok(upgrade) => upgrade.with(self.config.clone()).serve_shared(Arc::clone(&self.handler)),
            Err(refusal) => refused(refusal),
        }
    }
}

impl fmt::Debug for WebSocketRoute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WebSocketRoute").field("config", &self.config).finish_non_exhaustive()
    }
}

fn negotiate(
    offer: &Offer<'_>,
    fields: &[(&'static str, Vec<u8>)],
    config: &WebSocketConfig,
    handler: Arc<dyn WebSocketHandler>,
) -> Response {
    let field = |name: &str| values_of(fields, name).first().and_then(|value| str::from_utf8(value).ok());
    if !config.origins.allow(field("origin"), field("host")) {
        let problem = Problem::new(StatusCode::FORBIDDEN);
        return problem.with_detail("pages of this origin may not open WebSockets here").into_response();
    }
    let deflate = config.deflate.as_ref().and_then(|settings| offer.negotiate_deflate(settings));
    let protocol = config.protocols.iter().find(|protocol| offer.protocols().contains(&protocol.as_str()));
    let options = WebSocketOptions {
        deflate: deflate.as_ref().map(|(agreement, _)| *agreement),
        ..config.options.clone()
    };
    let mut response = Response::web_socket(handler, options);
    let headers = response.headers_mut();
    let answers = [
        (header::SEC_WEBSOCKET_ACCEPT, Some(offer.accept())),
        (header::SEC_WEBSOCKET_PROTOCOL, protocol.cloned()),
        (header::SEC_WEBSOCKET_EXTENSIONS, deflate.map(|(_, text)| text)),
    ];
    for (name, text) in answers {
        if let Some(value) = text.and_then(|text| HeaderValue::try_from(text).ok()) {
            headers.insert(name, value);
        }
    }
    response
}

fn refused(refusal: HandshakeRefusal) -> Response {
    let status = StatusCode::from_u16(refusal.status()).unwrap_or(StatusCode::BAD_REQUEST);
    let mut response = Problem::new(status).with_detail(refusal.reason()).into_response();
    if status == StatusCode::UPGRADE_REQUIRED {
        let headers = response.headers_mut();
        headers.insert(header::UPGRADE, HeaderValue::from_static("websocket"));
        headers.insert(header::SEC_WEBSOCKET_VERSION, HeaderValue::from_static(VERSION));
    }
    response
}

fn values_of<'a>(fields: &'a [(&'static str, Vec<u8>)], name: &str) -> Vec<&'a [u8]> {
    fields.iter().filter(|(known, _)| *known == name).map(|(_, value)| &value[..]).collect()
}
