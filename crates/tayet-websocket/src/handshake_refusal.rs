//! Why a WebSocket is not opened.

use std::fmt;

/// Why a request doesn't open a WebSocket.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum HandshakeRefusal {
    /// Another method than GET (RFC 6455 section 4.2.1).
    NotGet,
    /// HTTP/1.0, or no `Upgrade: websocket` (RFC 6455 section 4.2.1).
    NoUpgrade,
    /// `Upgrade: websocket` without `Connection: upgrade` (RFC 6455 section 4.2.1).
    NoConnectionUpgrade,
    /// Sec-WebSocket-Version is missing, or there twice (RFC 6455 section 4.2.1).
    MalformedVersion,
    /// Another version than [`VERSION`](crate::VERSION) (RFC 6455 section 4.4).
    UnsupportedVersion,
    /// Sec-WebSocket-Key is missing, there twice, or isn't the base64 of 16 bytes (RFC 6455 section 4.2.1).
    MalformedKey,
    /// Sec-WebSocket-Protocol isn't a list of distinct tokens (RFC 6455 section 4.1).
    MalformedProtocols,
    /// More than [`MAX_PROTOCOLS`](crate::MAX_PROTOCOLS).
    TooManyProtocols,
    /// Sec-WebSocket-Extensions is malformed (RFC 6455 section 9.1).
    MalformedExtensions,
    /// More than [`MAX_EXTENSIONS`](crate::MAX_EXTENSIONS).
    TooManyExtensions,
}

impl HandshakeRefusal {
    /// The status of the answer: 400, 405 or 426. A 405 needs `Allow: GET`, a 426 `Upgrade: websocket` and
    /// `Sec-WebSocket-Version: 13`.
    pub fn status(self) -> u16 {
        match self {
            Self::NotGet => 405,
            Self::NoUpgrade | Self::UnsupportedVersion => 426,
            Self::NoConnectionUpgrade
            | Self::MalformedVersion
            | Self::MalformedKey
            | Self::MalformedProtocols
            | Self::TooManyProtocols
            | Self::MalformedExtensions
            | Self::TooManyExtensions => 400,
        }
    }

    /// A short sentence for the answer's body. It quotes nothing that the peer sent.
    pub fn reason(self) -> &'static str {
        match self {
            Self::NotGet => "a WebSocket is opened by GET",
            Self::NoUpgrade => "this is a WebSocket: the request must ask for an upgrade to websocket",
            Self::NoConnectionUpgrade => "Connection does not list upgrade",
            Self::MalformedVersion => "Sec-WebSocket-Version must be there once",
            Self::UnsupportedVersion => "the only version of the WebSocket protocol supported is 13",
            Self::MalformedKey => "Sec-WebSocket-Key is not the base64 of 16 bytes",
            Self::MalformedProtocols => "Sec-WebSocket-Protocol is not a list of distinct tokens",
            Self::TooManyProtocols => "too many subprotocols are offered",
            Self::MalformedExtensions => "Sec-WebSocket-Extensions is malformed",
            Self::TooManyExtensions => "too many extensions are offered",
        }
    }
}

impl fmt::Display for HandshakeRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.reason())
    }
}

impl std::error::Error for HandshakeRefusal {}
