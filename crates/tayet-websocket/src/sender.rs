//! The sending side of a connection.

use bytes::Bytes;

use crate::compressor::Compressor;
use crate::deflate_settings::Direction;
use crate::header::{Header, MAX_CONTROL_PAYLOAD_BYTES, Opcode};
use crate::mask::Mask;
use crate::{CloseFrame, Codec, DeflateAgreement, Message, Role};

/// The bytes of the smallest payload that a server doesn't copy behind its header: 8 KiB.
pub const MIN_TAIL_BYTES: usize = 8 * 1024;

/// What an idle connection may cost.
const MAX_SENDER_BYTES: usize = 40;

const _: () = assert!(size_of::<Sender>() <= MAX_SENDER_BYTES);

/// The sending side of one connection: messages and control frames in, bytes out.
///
/// It keeps nothing between messages but the compressor of a connection on which this end takes its context
/// over, and [`release_idle`](Self::release_idle) frees that too.
#[derive(Debug)]
pub struct Sender {
    role: Role,
    deflate: Option<DeflateAgreement>,
    compressor: Option<Box<Compressor>>,
    /// Whether the peer's window has other bytes in it than the compressor's.
    is_compressor_stale: bool,
}

impl Sender {
    /// A sender for what goes behind the handshake. `deflate` is what was agreed on there.
    pub fn new(role: Role, deflate: Option<DeflateAgreement>) -> Self {
        Self { role, deflate, compressor: None, is_compressor_stale: false }
    }

    /// Appends a message in one frame, compressed if that was agreed on and makes it smaller.
    ///
    /// A server's payload of [`MIN_TAIL_BYTES`] or more that isn't compressed is not copied: then it is
    /// returned, to be sent behind `out`.
    #[must_use = "what is returned is the end of the message"]
    pub fn message(&mut self, message: &Message, codec: &mut Codec, out: &mut Vec<u8>) -> Option<Bytes> {
        let opcode = opcode_of(message);
        let payload = message.as_bytes();
        if let Some(agreement) = self.deflate
            && agreement.compresses(payload.len())
            && let Some(compressed) = self.compress(payload, &agreement, codec)
        {
            push_frame(out, opcode, true, compressed, self.role);
            codec.release_compressed();
            return None;
        }
        if self.role.is_server() && payload.len() >= MIN_TAIL_BYTES {
            header(opcode, false, payload.len(), Role::Server).encode(out);
            return Some(payload.clone());
        }
        push_frame(out, opcode, false, payload, self.role);
        None
    }

    /// Appends a ping. Of a payload over [`MAX_CONTROL_PAYLOAD_BYTES`] the front is sent.
    pub fn ping(&mut self, payload: &[u8], out: &mut Vec<u8>) {
        self.control(Opcode::Ping, payload, out);
    }

    /// Appends a pong. Of a payload over [`MAX_CONTROL_PAYLOAD_BYTES`] the front is sent.
    pub fn pong(&mut self, payload: &[u8], out: &mut Vec<u8>) {
        self.control(Opcode::Pong, payload, out);
    }

    /// Appends a close frame; `None` says neither a code nor a reason. Nothing may be sent behind it.
    pub fn close(&mut self, frame: Option<&CloseFrame>, out: &mut Vec<u8>) {
        let payload = frame.map(|frame| {
            let code = frame.code().get().to_be_bytes();
            [&code[..], frame.reason().as_bytes()].concat()
        });
        self.control(Opcode::Close, payload.as_deref().unwrap_or_default(), out);
    }

    /// What was agreed on in the handshake.
    pub fn deflate(&self) -> Option<DeflateAgreement> {
        self.deflate
    }

    /// To be called when a frame of a [`SharedMessage`](crate::SharedMessage) is sent: the peer's window then
    /// has other bytes in it than the compressor's here, which starts anew.
    pub fn sent_shared(&mut self) {
        self.is_compressor_stale = true;
    }

    /// Gives back memory that isn't needed between messages. The next message refers to none before it.
    pub fn release_idle(&mut self) {
        self.compressor = None;
    }

    fn control(&mut self, opcode: Opcode, payload: &[u8], out: &mut Vec<u8>) {
        let payload = &payload[..payload.len().min(MAX_CONTROL_PAYLOAD_BYTES)];
        push_frame(out, opcode, false, payload, self.role);
    }

    fn compress<'c>(
        &mut self,
        payload: &[u8],
        agreement: &DeflateAgreement,
        codec: &'c mut Codec,
    ) -> Option<&'c [u8]> {
        let Direction { takes_context_over, window_bits } = agreement.sent_by(self.role);
        if !takes_context_over {
            return codec.compress_alone(payload, agreement, window_bits);
        }
        let compressor = self.compressor.get_or_insert_with(|| {
            self.is_compressor_stale = false;
            Box::new(Compressor::new(agreement.level(), window_bits))
        });
        if std::mem::take(&mut self.is_compressor_stale) {
            compressor.restart();
        }
        codec.compress_with(compressor, payload)
    }
}

pub(crate) fn opcode_of(message: &Message) -> Opcode {
    if message.is_text() { Opcode::Text } else { Opcode::Binary }
}

/// Appends a frame that is a message or control frame by itself.
pub(crate) fn push_frame(out: &mut Vec<u8>, opcode: Opcode, is_compressed: bool, payload: &[u8], role: Role) {
    let header = header(opcode, is_compressed, payload.len(), role);
    header.encode(out);
    let start = out.len();
    out.extend_from_slice(payload);
    if let Some(mut mask) = header.mask {
        mask.apply(&mut out[start..]);
    }
}

fn header(opcode: Opcode, is_compressed: bool, payload_bytes: usize, role: Role) -> Header {
    let mask = match role {
        Role::Server => None,
        Role::Client(next_key) => Some(Mask(next_key())),
    };
    Header { is_final: true, is_compressed, opcode, payload_bytes: payload_bytes as u64, mask }
}
