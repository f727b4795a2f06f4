//! The server's side of the opening handshake (RFC 6455 section 4.2).

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha1::{Digest, Sha1};

use crate::extension::{Extension, is_token_byte, parse_extensions};
use crate::{DeflateAgreement, DeflateSettings, HandshakeRefusal};

/// The subprotocols that a client may offer; past it
/// [`TooManyProtocols`](HandshakeRefusal::TooManyProtocols).
pub const MAX_PROTOCOLS: usize = 64;

/// The extensions that a client may offer, each way of using one counted; past it
/// [`TooManyExtensions`](HandshakeRefusal::TooManyExtensions).
pub const MAX_EXTENSIONS: usize = 64;

/// The only version of the protocol (RFC 6455 section 4.1), for Sec-WebSocket-Version.
pub const VERSION: &str = "13";

/// What the key is hashed with (RFC 6455 section 1.3).
const GUID: &[u8] = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/// The bytes that a key stands for, and of the base64 that it is.
const NONCE_BYTES: usize = 16;
const KEY_BYTES: usize = 24;

/// A request to open a WebSocket.
#[derive(Debug)]
pub struct Offer<'a> {
    key: &'a str,
    protocols: Vec<&'a str>,
    extensions: Vec<Extension<'a>>,
}

impl<'a> Offer<'a> {
    /// Reads a request. `fields` gives the values of all fields of a name, which is in lower case, in order.
    ///
    /// The origin is for the caller to judge, and whether the server speaks one of the
    /// [`protocols`](Self::protocols).
    ///
    /// # Errors
    ///
    /// The request isn't one to open a WebSocket of this version, or is malformed.
    pub fn read(
        method: &str,
        is_http_1_1: bool,
        fields: impl Fn(&str) -> Vec<&'a [u8]>,
    ) -> Result<Self, HandshakeRefusal> {
        if method != "GET" {
            return Err(HandshakeRefusal::NotGet);
        }
        // HTTP/1.0 has no Upgrade (RFC 9110 section 7.8).
        if !is_http_1_1 || !lists(&fields("upgrade"), "websocket") {
            return Err(HandshakeRefusal::NoUpgrade);
        }
        if !lists(&fields("connection"), "upgrade") {
            return Err(HandshakeRefusal::NoConnectionUpgrade);
        }
        check_version(&fields("sec-websocket-version"))?;
        Ok(Self {
            key: read_key(&fields("sec-websocket-key"))?,
            protocols: read_protocols(&fields("sec-websocket-protocol"))?,
            extensions: read_extensions(&fields("sec-websocket-extensions"))?,
        })
    }

    /// The subprotocols that the client can speak, its favourite first. To speak one is to say so in
    /// Sec-WebSocket-Protocol.
    pub fn protocols(&self) -> &[&'a str] {
        &self.protocols
    }

    /// The answer's Sec-WebSocket-Accept.
    pub fn accept(&self) -> String {
        accept(self.key)
    }

    /// Agrees to the first offer of permessage-deflate that the settings can satisfy; with the answer's
    /// Sec-WebSocket-Extensions.
    pub fn negotiate_deflate(&self, settings: &DeflateSettings) -> Option<(DeflateAgreement, String)> {
        self.extensions.iter().find_map(|offer| settings.answer(offer))
    }
}

/// The Sec-WebSocket-Accept that proves that a server has read this Sec-WebSocket-Key (RFC 6455 section
/// 4.2.2).
pub fn accept(key: &str) -> String {
    let hash = Sha1::new().chain_update(key).chain_update(GUID).finalize();
    STANDARD.encode(hash)
}

/// Whether one of a list's elements is `wanted`, in any case.
fn lists(values: &[&[u8]], wanted: &str) -> bool {
    let mut elements = values.iter().flat_map(|value| value.split(|&byte| byte == b','));
    elements.any(|element| element.trim_ascii().eq_ignore_ascii_case(wanted.as_bytes()))
}

fn check_version(values: &[&[u8]]) -> Result<(), HandshakeRefusal> {
    match values {
        [value] if value.trim_ascii() == VERSION.as_bytes() => Ok(()),
        [_] => Err(HandshakeRefusal::UnsupportedVersion),
        _ => Err(HandshakeRefusal::MalformedVersion),
    }
}

fn read_key<'a>(values: &[&'a [u8]]) -> Result<&'a str, HandshakeRefusal> {
    let [value] = values else { return Err(HandshakeRefusal::MalformedKey) };
    let key = value.trim_ascii();
    let mut nonce = [0; NONCE_BYTES + 2];
    match STANDARD.decode_slice(key, &mut nonce) {
        Ok(NONCE_BYTES) if key.len() == KEY_BYTES => {
            str::from_utf8(key).map_err(|_| HandshakeRefusal::MalformedKey)
        }
        _ => Err(HandshakeRefusal::MalformedKey),
    }
}

fn read_protocols<'a>(values: &[&'a [u8]]) -> Result<Vec<&'a str>, HandshakeRefusal> {
    let mut protocols = Vec::new();
    let elements = values.iter().flat_map(|value| value.split(|&byte| byte == b','));
    for element in elements.map(<[u8]>::trim_ascii).filter(|element| !element.is_empty()) {
        if protocols.len() == MAX_PROTOCOLS {
            return Err(HandshakeRefusal::TooManyProtocols);
        }
        let is_token = element.iter().all(|&byte| is_token_byte(byte));
        match str::from_utf8(element) {
            Ok(protocol) if is_token && !protocols.contains(&protocol) => protocols.push(protocol),
            _ => return Err(HandshakeRefusal::MalformedProtocols),
        }
    }
    Ok(protocols)
}

fn read_extensions<'a>(values: &[&'a [u8]]) -> Result<Vec<Extension<'a>>, HandshakeRefusal> {
    let mut extensions = Vec::new();
    for value in values {
        parse_extensions(value, &mut extensions).ok_or(HandshakeRefusal::MalformedExtensions)?;
    }
    if extensions.len() > MAX_EXTENSIONS {
        return Err(HandshakeRefusal::TooManyExtensions);
    }
    Ok(extensions)
}
