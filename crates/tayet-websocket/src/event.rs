//! What a receiver tells.

use bytes::Bytes;

use crate::{CloseFrame, Message};

/// Something that a peer has said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A message, complete: its fragments are put together and inflated.
    Message(Message),
    /// A ping, to be answered by a pong with the same payload (RFC 6455 section 5.5.2).
    Ping(Bytes),
    /// A pong, asked for or not (RFC 6455 section 5.5.3).
    Pong(Bytes),
    /// The end of what the peer sends (RFC 6455 section 5.5.1). `None`: without a code.
    Close(Option<CloseFrame>),
}
