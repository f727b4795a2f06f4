//! How a WebSocket is closed (RFC 6455 section 7.4).

use std::fmt;

use crate::Text;
use crate::header::MAX_CONTROL_PAYLOAD_BYTES;

/// The bytes of UTF-8 that a close frame's reason may have (RFC 6455 section 5.5): 123.
pub const MAX_CLOSE_REASON_BYTES: usize = MAX_CONTROL_PAYLOAD_BYTES - CODE_BYTES;

const CODE_BYTES: usize = 2;

/// A status code that may stand in a close frame (RFC 6455 section 7.4).
///
/// That's 1000 to 1003 and 1007 to 1014, registered with the IANA, 3000 to 3999 for libraries and 4000 to
/// 4999 for applications. What the others would say isn't said on the wire: 1005 is a close frame without a
/// code, 1006 a connection that ended without one, 1015 a TLS handshake that failed.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CloseCode(u16);

impl CloseCode {
    /// 1000: the purpose of the connection is fulfilled.
    pub const NORMAL: Self = Self(1000);
    /// 1001: the server goes down, or the browser has left the page.
    pub const GOING_AWAY: Self = Self(1001);
    /// 1002: the peer broke the protocol.
    pub const PROTOCOL_ERROR: Self = Self(1002);
    /// 1003: the endpoint can't take this kind of message, for instance binary ones.
    pub const UNSUPPORTED_DATA: Self = Self(1003);
    /// 1007: a message's data isn't what its kind says, for instance a text without UTF-8.
    pub const INVALID_PAYLOAD: Self = Self(1007);
    /// 1008: a message breaks a rule of the endpoint, and no other code says it better.
    pub const POLICY_VIOLATION: Self = Self(1008);
    /// 1009: a message is too large to be taken.
    pub const MESSAGE_TOO_BIG: Self = Self(1009);
    /// 1010: the client needs an extension that the server didn't agree to.
    pub const MANDATORY_EXTENSION: Self = Self(1010);
    /// 1011: something unexpected keeps the server from going on.
    pub const INTERNAL_ERROR: Self = Self(1011);
    /// 1012: the server restarts.
    pub const SERVICE_RESTART: Self = Self(1012);
    /// 1013: the server is overloaded; come again later.
    pub const TRY_AGAIN_LATER: Self = Self(1013);
    /// 1014: a gateway had an invalid answer from the server behind it.
    pub const BAD_GATEWAY: Self = Self(1014);

    /// The code of this number; `None` if it may not stand in a close frame.
    pub const fn new(number: u16) -> Option<Self> {
        match number {
            1000..=1003 | 1007..=1014 | 3000..=4999 => Some(Self(number)),
            _ => None,
        }
    }

    /// The code's number.
    pub const fn get(self) -> u16 {
        self.0
    }
}

impl fmt::Display for CloseCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for CloseCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl From<CloseCode> for u16 {
    fn from(code: CloseCode) -> Self {
        code.0
    }
}

/// What a close frame says: a code, and a reason for people, which may be empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CloseFrame {
    code: CloseCode,
    reason: Text,
}

impl CloseFrame {
    /// A close frame; of a reason over [`MAX_CLOSE_REASON_BYTES`] the whole characters that fit are kept.
    pub fn new(code: CloseCode, reason: impl Into<Text>) -> Self {
        let reason = reason.into();
        let kept = (0..=MAX_CLOSE_REASON_BYTES).rev().find(|&length| reason.is_char_boundary(length));
        Self { code, reason: reason.truncated(kept.unwrap_or(0)) }
    }

    /// Why the connection closes.
    pub fn code(&self) -> CloseCode {
        self.code
    }

    /// The same for people; may be empty.
    pub fn reason(&self) -> &Text {
        &self.reason
    }
}

impl From<CloseCode> for CloseFrame {
    fn from(code: CloseCode) -> Self {
        Self { code, reason: Text::default() }
    }
}
