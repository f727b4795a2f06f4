//! One message for many connections.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use bytes::Bytes;

use crate::header::MAX_HEADER_BYTES;
use crate::sender::{opcode_of, push_frame};
use crate::{Codec, DeflateAgreement, Message, Role};

/// A message that a server sends to many: framed once, and compressed once for each way that was agreed on, when
/// the first connection needs it so. A clone shares all of this.
///
/// It is compressed by itself, so it fits every connection's window; a connection that takes its own
/// compression context over must be told by [`Sender::sent_shared`](crate::Sender::sent_shared).
#[derive(Clone, Debug)]
pub struct SharedMessage(Arc<Frames>);

#[derive(Debug)]
struct Frames {
    message: Message,
    plain: OnceLock<Bytes>,
    compressed: Mutex<Vec<(Way, Bytes)>>,
}

/// What of an agreement makes a difference to a message by itself that is worth compressing.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
struct Way {
    level: u32,
    window_bits: u8,
}

impl SharedMessage {
    /// A message of which no frame is made yet.
    pub fn new(message: Message) -> Self {
        Self(Arc::new(Frames { message, plain: OnceLock::new(), compressed: Mutex::default() }))
    }

    /// The message.
    pub fn message(&self) -> &Message {
        &self.0.message
    }

    /// The frame for a server's connection on which this was agreed.
    pub fn frame(&self, deflate: Option<DeflateAgreement>, codec: &mut Codec) -> Bytes {
        match deflate {
            Some(agreement) if agreement.compresses(self.0.message.len()) => {
                self.compressed_frame(&agreement, codec)
            }
            _ => self.plain_frame(),
        }
    }

    fn plain_frame(&self) -> Bytes {
        let Frames { message, plain, .. } = &*self.0;
        plain.get_or_init(|| frame(message, message.as_bytes(), false)).clone()
    }

    fn compressed_frame(&self, agreement: &DeflateAgreement, codec: &mut Codec) -> Bytes {
        let way = Way { level: agreement.level(), window_bits: agreement.sent_by(Role::Server).window_bits };
        // Whoever panicked with the lock had added a whole frame or none.
        let mut compressed = self.0.compressed.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, frame)) = compressed.iter().find(|(other, _)| *other == way) {
            return frame.clone();
        }
        let message = &self.0.message;
        let frame = match codec.compress_alone(message.as_bytes(), agreement, way.window_bits) {
            Some(payload) => frame(message, payload, true),
            None => self.plain_frame(),
        };
        codec.release_compressed();
        compressed.push((way, frame.clone()));
        frame
    }
}

fn frame(message: &Message, payload: &[u8], is_compressed: bool) -> Bytes {
    let mut out = Vec::with_capacity(MAX_HEADER_BYTES + payload.len());
    push_frame(&mut out, opcode_of(message), is_compressed, payload, Role::Server);
    out.into()
}
