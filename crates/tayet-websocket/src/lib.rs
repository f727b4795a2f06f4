//! WebSocket (RFC 6455) with permessage-deflate (RFC 7692), without I/O: bytes in, events out; messages in,
//! bytes out.
//!
//! There's no socket, thread, clock or global here. An [`Offer`] reads the opening handshake, a [`Receiver`]
//! what the peer sends from then on, a [`Sender`] writes what goes to it, and whoever calls moves the bytes.
//! Origins, time-outs, the answers to pings and to close frames are for the caller, who knows what a
//! connection is doing; the example `echo` shows how little that takes.
//!
//! It is strict: a peer that breaks the protocol gets a [`Failure`] with the close code that is due, as early
//! as a byte can tell. How the input is cut makes no difference to the outcome. An idle connection is less
//! than a hundred bytes and owns no memory, with compression too unless a context is taken over. A message
//! that is being received costs memory in proportion to what has come of it, whatever its header claims, and
//! an inflater of some 48 KiB where it is compressed; inflating stops at the limit for messages.
//!
//! A handshake, a message and its echo:
//!
//! ```
//! use tayet_websocket::{Codec, DeflateSettings, Event, Message, Offer};
//! use tayet_websocket::{Receiver, Role, Sender};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let offer = Offer::read("GET", true, |name| match name {
//!     "upgrade" => vec![&b"websocket"[..]],
//!     "connection" => vec![&b"Upgrade"[..]],
//!     "sec-websocket-version" => vec![&b"13"[..]],
//!     "sec-websocket-key" => vec![&b"dGhlIHNhbXBsZSBub25jZQ=="[..]],
//!     "sec-websocket-extensions" => vec![&b"permessage-deflate; client_max_window_bits"[..]],
//!     _ => vec![],
//! })?;
//! assert_eq!(offer.accept(), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
//! let (agreement, answer) = offer.negotiate_deflate(&DeflateSettings::default()).unwrap();
//! assert_eq!(answer, "permessage-deflate; server_no_context_takeover; client_no_context_takeover");
//!
//! let mut receiver = Receiver::new(Role::Server, Some(agreement));
//! let mut sender = Sender::new(Role::Server, Some(agreement));
//! let mut codec = Codec::new();
//!
//! let mut input = &b"\x81\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58"[..];
//! let event = receiver.receive(&mut input, 1024 * 1024, &mut codec)?;
//! assert_eq!(event, Some(Event::Message(Message::from("Hello"))));
//! assert_eq!(receiver.receive(&mut input, 1024 * 1024, &mut codec)?, None);
//!
//! let mut out = Vec::new();
//! let tail = sender.message(&Message::from("Hello"), &mut codec, &mut out);
//! assert_eq!((&out[..], tail), (&b"\x81\x05Hello"[..], None));
//! # Ok(())
//! # }
//! ```
//!
//! # Where the RFCs leave a choice
//!
//! - A length in more bytes than it needs: refused, as section 5.2 says, though many let it pass.
//! - A close code without a meaning on the wire: refused. That's those below 1000, 1004 to 1006, 1015 to 2999
//!   and those from 5000 on.
//! - Messages are sent in one frame each. A message that compression doesn't make smaller is sent as it is.
//! - Within a message, data that refers back further than the window that was agreed on is understood, up to
//!   32 KiB: it does no harm.
//! - Blocks with BFINAL: understood, up to [`MAX_FINAL_BLOCKS`] in a message; never sent.
//! - Compressed data that breaks off: refused, though the RFC has no word on it. No data at all, or none behind
//!   a block with BFINAL: taken for the end, since there are senders that leave out the byte that is due.
//! - `client_no_context_takeover` is answered to clients that don't offer it, as RFC 7692 section 7.1.1.2
//!   allows: otherwise the server would have to keep their windows.

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
