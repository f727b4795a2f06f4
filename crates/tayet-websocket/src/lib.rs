//! WebSocket (RFC 6455) with permessage-deflate (RFC 7692), without I/O: bytes in, events out; messages in,
//! bytes out.
//!
//! There's no socket, thread, clock or global here. An [`Offer`] reads the handshake, a [`Receiver`] what the
//! peer sends, a [`Sender`] writes what goes to it, and whoever calls moves the bytes. Time-outs, automatic
//! pongs and the close handshake are the caller's, who knows what a connection is doing.

mod close;
mod codec;
mod compressor;
mod deflate_settings;
mod event;
mod extension;
mod failure;
mod handshake;
mod handshake_refusal;
mod header;
mod inflater;
mod mask;
mod message;
mod partial_message;
mod partial_text;
mod receiver;
mod role;
mod sender;
mod shared_message;
mod window;

pub use close::{CloseCode, CloseFrame, MAX_CLOSE_REASON_BYTES};
pub use codec::{Codec, MAX_IDLE_COMPRESSED_BYTES, MAX_IDLE_COMPRESSORS, MAX_IDLE_INFLATERS};
pub use deflate_settings::{DeflateAgreement, DeflateSettings, MAX_LEVEL, MAX_WINDOW_BITS, MIN_WINDOW_BITS};
pub use event::Event;
pub use failure::Failure;
pub use handshake::{MAX_EXTENSIONS, MAX_PROTOCOLS, Offer, VERSION, accept};
pub use handshake_refusal::HandshakeRefusal;
pub use header::MAX_CONTROL_PAYLOAD_BYTES;
pub use inflater::MAX_FINAL_BLOCKS;
pub use message::{Message, Text};
pub use receiver::Receiver;
pub use role::{MaskSource, Role};
pub use sender::{MIN_TAIL_BYTES, Sender};
pub use shared_message::SharedMessage;
