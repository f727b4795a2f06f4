//! What two endpoints agree on for permessage-deflate (RFC 7692 section 7.1).

use crate::Role;
use crate::extension::{Extension, parse_extensions};

/// The smallest window that may be agreed on: 2^8 bytes.
pub const MIN_WINDOW_BITS: u8 = 8;

/// The largest window that may be agreed on: 2^15 bytes.
pub const MAX_WINDOW_BITS: u8 = 15;

/// The highest [`DeflateSettings::level`] that has an effect.
pub const MAX_LEVEL: u32 = 9;

const EXTENSION: &str = "permessage-deflate";
const SERVER_NO_CONTEXT_TAKEOVER: &str = "server_no_context_takeover";
const CLIENT_NO_CONTEXT_TAKEOVER: &str = "client_no_context_takeover";
const SERVER_MAX_WINDOW_BITS: &str = "server_max_window_bits";
const CLIENT_MAX_WINDOW_BITS: &str = "client_max_window_bits";

/// How an endpoint wants messages compressed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeflateSettings {
    /// Whether the server compresses each message by itself. Default true: then no compressor is kept for
    /// a connection. Without, repetitive messages get smaller.
    pub server_no_context_takeover: bool,
    /// Whether the client compresses each message by itself. Default true: then the server keeps no window
    /// (up to 32 KiB) for an idle connection.
    pub client_no_context_takeover: bool,
    /// The base-2 logarithm of the largest window that the server uses, 8 to 15. Default 15.
    pub server_max_window_bits: u8,
    /// The base-2 logarithm of the largest window that the client may use, 8 to 15. Default 15. A server
    /// with a smaller one declines the offers of clients that can't be told so.
    pub client_max_window_bits: u8,
    /// The effort, 0 (none) to 9 (most). Default 1.
    pub level: u32,
    /// The bytes of the smallest message that is compressed. Default 512; the empty one never is.
    pub min_bytes: usize,
}

impl Default for DeflateSettings {
    fn default() -> Self {
        Self {
            server_no_context_takeover: true,
            client_no_context_takeover: true,
            server_max_window_bits: MAX_WINDOW_BITS,
            client_max_window_bits: MAX_WINDOW_BITS,
            level: 1,
            min_bytes: 512,
        }
    }
}

/// What two endpoints have agreed on, with this one's own level and threshold.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub struct DeflateAgreement {
    server_no_context_takeover: bool,
    client_no_context_takeover: bool,
    server_max_window_bits: u8,
    client_max_window_bits: u8,
    level: u8,
    min_bytes: u32,
}

/// One direction of an agreement.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) struct Direction {
    pub(crate) takes_context_over: bool,
    pub(crate) window_bits: u8,
}

impl DeflateSettings {
    /// What a client says in Sec-WebSocket-Extensions to offer this.
    pub fn offer(&self) -> String {
        let mut text = EXTENSION.to_owned();
        push_flag(&mut text, SERVER_NO_CONTEXT_TAKEOVER, self.server_no_context_takeover);
        push_flag(&mut text, CLIENT_NO_CONTEXT_TAKEOVER, self.client_no_context_takeover);
        push_bits(&mut text, SERVER_MAX_WINDOW_BITS, window_bits(self.server_max_window_bits));
        match window_bits(self.client_max_window_bits) {
            // Without a value it says no more than that the client can be told.
            MAX_WINDOW_BITS => push_flag(&mut text, CLIENT_MAX_WINDOW_BITS, true),
            bits => push_bits(&mut text, CLIENT_MAX_WINDOW_BITS, bits),
        }
        text
    }

    /// What a client has agreed to, given what a server answers in Sec-WebSocket-Extensions. `None`: the
    /// answer isn't one to [`offer`](Self::offer), and the connection must fail (RFC 7692 section 7.1).
    pub fn agree(&self, answer: &str) -> Option<DeflateAgreement> {
        let mut extensions = Vec::new();
        parse_extensions(answer.as_bytes(), &mut extensions)?;
        let [extension] = &extensions[..] else { return None };
        let answered = Parameters::read(extension)?;
        let is_as_offered = (answered.server_no_context_takeover || !self.server_no_context_takeover)
            && answered.server_max_window_bits.unwrap_or(MAX_WINDOW_BITS)
                <= window_bits(self.server_max_window_bits)
            && answered.client_max_window_bits != Some(ClientBits::Any);
        is_as_offered.then(|| DeflateAgreement {
            server_no_context_takeover: answered.server_no_context_takeover,
            ..self.agreement(&answered)
        })
    }

    /// What a server answers to an offer; `None` declines it.
    pub(crate) fn answer(&self, offer: &Extension<'_>) -> Option<(DeflateAgreement, String)> {
        let offered = Parameters::read(offer)?;
        if offered.client_max_window_bits.is_none()
            && window_bits(self.client_max_window_bits) < MAX_WINDOW_BITS
        {
            return None;
        }
        let agreement = self.agreement(&offered);
        Some((agreement, agreement.answer()))
    }

    fn agreement(&self, theirs: &Parameters) -> DeflateAgreement {
        let server_bits = theirs.server_max_window_bits.unwrap_or(MAX_WINDOW_BITS);
        let client_bits = match theirs.client_max_window_bits {
            Some(ClientBits::AtMost(bits)) => bits,
            Some(ClientBits::Any) | None => MAX_WINDOW_BITS,
        };
        DeflateAgreement {
            server_no_context_takeover: self.server_no_context_takeover || theirs.server_no_context_takeover,
            client_no_context_takeover: self.client_no_context_takeover || theirs.client_no_context_takeover,
            server_max_window_bits: server_bits.min(window_bits(self.server_max_window_bits)),
            client_max_window_bits: client_bits.min(window_bits(self.client_max_window_bits)),
            level: self.level.min(MAX_LEVEL) as u8,
            min_bytes: u32::try_from(self.min_bytes).unwrap_or(u32::MAX),
        }
    }
}

impl DeflateAgreement {
    /// Whether the server compresses each message by itself.
    pub fn server_no_context_takeover(&self) -> bool {
        self.server_no_context_takeover
    }

    /// Whether the client compresses each message by itself.
    pub fn client_no_context_takeover(&self) -> bool {
        self.client_no_context_takeover
    }

    /// The base-2 logarithm of the server's window, 8 to 15.
    pub fn server_max_window_bits(&self) -> u8 {
        self.server_max_window_bits
    }

    /// The base-2 logarithm of the client's window, 8 to 15.
    pub fn client_max_window_bits(&self) -> u8 {
        self.client_max_window_bits
    }

    pub(crate) fn level(&self) -> u32 {
        u32::from(self.level)
    }

    /// Whether a message of this length is worth compressing.
    pub(crate) fn compresses(&self, bytes: usize) -> bool {
        bytes > 0 && bytes >= self.min_bytes as usize
    }

    /// How `role` compresses what it sends.
    pub(crate) fn sent_by(&self, role: Role) -> Direction {
        match role {
            Role::Server => Direction {
                takes_context_over: !self.server_no_context_takeover,
                window_bits: self.server_max_window_bits,
            },
            Role::Client(_) => Direction {
                takes_context_over: !self.client_no_context_takeover,
                window_bits: self.client_max_window_bits,
            },
        }
    }

    /// How what `role` receives is compressed.
    pub(crate) fn received_by(&self, role: Role) -> Direction {
        match role {
            Role::Server => Direction {
                takes_context_over: !self.client_no_context_takeover,
                window_bits: self.client_max_window_bits,
            },
            Role::Client(_) => self.sent_by(Role::Server),
        }
    }

    fn answer(&self) -> String {
        let mut text = EXTENSION.to_owned();
        push_flag(&mut text, SERVER_NO_CONTEXT_TAKEOVER, self.server_no_context_takeover);
        push_flag(&mut text, CLIENT_NO_CONTEXT_TAKEOVER, self.client_no_context_takeover);
        push_bits(&mut text, SERVER_MAX_WINDOW_BITS, self.server_max_window_bits);
        push_bits(&mut text, CLIENT_MAX_WINDOW_BITS, self.client_max_window_bits);
        text
    }
}

/// The parameters of an offer or an answer.
#[derive(Default)]
struct Parameters {
    server_no_context_takeover: bool,
    client_no_context_takeover: bool,
    server_max_window_bits: Option<u8>,
    client_max_window_bits: Option<ClientBits>,
}

#[derive(Copy, Clone, PartialEq, Eq)]
enum ClientBits {
    /// The client can be told, and has no wish.
    Any,
    AtMost(u8),
}

impl Parameters {
    /// `None`: it is another extension, or has a parameter that is unknown, invalid or there twice.
    fn read(extension: &Extension<'_>) -> Option<Self> {
        if extension.name != EXTENSION {
            return None;
        }
        let mut parameters = Self::default();
        for (name, value) in &extension.parameters {
            let is_first = match (*name, value.as_deref()) {
                (SERVER_NO_CONTEXT_TAKEOVER, None) => set(&mut parameters.server_no_context_takeover),
                (CLIENT_NO_CONTEXT_TAKEOVER, None) => set(&mut parameters.client_no_context_takeover),
                (SERVER_MAX_WINDOW_BITS, Some(bits)) => {
                    parameters.server_max_window_bits.replace(parse_bits(bits)?).is_none()
                }
                (CLIENT_MAX_WINDOW_BITS, None) => {
                    parameters.client_max_window_bits.replace(ClientBits::Any).is_none()
                }
                (CLIENT_MAX_WINDOW_BITS, Some(bits)) => {
                    let bits = ClientBits::AtMost(parse_bits(bits)?);
                    parameters.client_max_window_bits.replace(bits).is_none()
                }
                _ => return None,
            };
            if !is_first {
                return None;
            }
        }
        Some(parameters)
    }
}

/// Sets a flag; whether it was unset.
fn set(flag: &mut bool) -> bool {
    !std::mem::replace(flag, true)
}

/// 8 to 15 in decimal, without leading zeroes.
fn parse_bits(text: &str) -> Option<u8> {
    (MIN_WINDOW_BITS..=MAX_WINDOW_BITS).find(|bits| text == bits.to_string())
}

fn window_bits(wished: u8) -> u8 {
    wished.clamp(MIN_WINDOW_BITS, MAX_WINDOW_BITS)
}

fn push_flag(text: &mut String, name: &str, is_set: bool) {
    if is_set {
        text.push_str("; ");
        text.push_str(name);
    }
}

/// The largest window goes without saying.
fn push_bits(text: &mut String, name: &str, bits: u8) {
    if bits < MAX_WINDOW_BITS {
        push_flag(text, name, true);
        text.push('=');
        text.push_str(&bits.to_string());
    }
}
