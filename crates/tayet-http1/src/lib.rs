//! HTTP/1.0 and HTTP/1.1 for servers, without I/O: bytes in, requests out; responses in, bytes out.
//!
//! There's no socket, thread, clock or global here. [`Connection`] reads what a client sends,
//! [`ResponseHead`], [`encode_chunk`] and [`encode_last_chunk`] write what the server answers, and whoever
//! calls moves the bytes.
//!
//! It is strict. Where RFC 9112 lets a server repair a message, this refuses it ([`Refusal`]), since another
//! server on the way may have repaired it in another way: that is how requests are smuggled. How the input is
//! cut makes no difference, to the outcome or to its cost, which is linear.
//!
//! One request and its answer:
//!
//! ```
//! use std::time::SystemTime;
//! use tayet_http1::{BodyEvent, BodyLength, Connection, Date, Head, HeadLimits};
//! use tayet_http1::{Refusal, ResponseHead, ResponseLength};
//!
//! # fn main() -> Result<(), Refusal> {
//! let mut input = &b"POST /greet?loud HTTP/1.1\r\nHost: example.com\r\nContent-Length: 5\r\n\r\nWorld"[..];
//! let mut connection = Connection::new();
//! let mut head = Head::default();
//!
//! assert!(connection.receive_head(&mut input, &mut head, &HeadLimits::default())?);
//! assert_eq!((head.method().as_str(), head.path(), head.query()), ("POST", "/greet", Some("loud")));
//! assert_eq!(head.get("host"), Some(&b"example.com"[..]));
//! assert_eq!(head.body_length(), BodyLength::Fixed(5));
//!
//! let mut body = b"Hello, ".to_vec();
//! while let Some(event) = connection.receive_body(&mut input)? {
//!     match event {
//!         BodyEvent::Data(data) => body.extend_from_slice(data),
//!         BodyEvent::End { .. } => break,
//!     }
//! }
//!
//! let mut out = Vec::new();
//! ResponseHead {
//!     status: http::StatusCode::OK,
//!     reason: None,
//!     request_version: head.version(),
//!     keep_alive: head.is_persistent(),
//!     length: ResponseLength::Fixed(body.len() as u64),
//!     content_type: Some(&http::HeaderValue::from_static("text/plain")),
//!     fields: None,
//!     date: &Date::from(SystemTime::now()),
//! }
//! .encode(&mut out);
//! out.extend_from_slice(&body);
//!
//! assert!(out.starts_with(b"HTTP/1.1 200 OK\r\n"));
//! assert!(out.ends_with(b"content-length: 12\r\n\r\nHello, World"));
//! # Ok(())
//! # }
//! ```
//!
//! # Where the RFCs leave a choice
//!
//! - HTTP/0.9, HTTP/1.2 and above, folded lines, LF alone, lists or repetitions of Content-Length: refused.
//! - Transfer codings besides `chunked`: 501, also where `chunked` comes last. There's no TE to ask for them.
//! - Empty lines before a request line: skipped, up to [`MAX_LEADING_EMPTY_LINES`].
//! - A target's path and query may hold any visible ASCII but `#`, as browsers send it; decoding is for whoever
//!   routes. User information in a target or in Host, IPv6 zones and `IPvFuture`: refused.
//! - A Host that differs from the authority of an absolute-form target: the target's counts. So ask
//!   [`Head::authority`] rather than Host.
//! - Expect in HTTP/1.0: ignored. Another expectation than `100-continue` in HTTP/1.1: 417.
//! - Chunk extensions: checked, bounded and skipped.
//! - Trailers that delimit, route or authenticate a message: refused when received, left out when sent.

mod authority;
mod byte;
mod chunk_decoder;
mod chunk_encoder;
mod chunk_extension;
mod connection;
mod date;
mod field;
mod framing;
mod head;
mod head_parser;
mod limits;
mod line;
mod refusal;
mod request_line;
mod response;
mod short_text;
mod target;
mod trailers;

pub use chunk_encoder::{encode_chunk, encode_chunk_size, encode_last_chunk};
pub use connection::{BodyEvent, Connection};
pub use date::Date;
pub use framing::BodyLength;
pub use head::Head;
pub use limits::{
    HeadLimits, MAX_CHUNK_EXTENSION_BYTES, MAX_CHUNK_SIZE_DIGITS, MAX_HEAD_BYTES_CEILING,
    MAX_HEADERS_CEILING, MAX_LEADING_EMPTY_LINES, MAX_TRAILER_BYTES, MAX_TRAILERS,
};
pub use refusal::Refusal;
pub use response::{CONTINUE, ResponseHead, ResponseLength, encode_interim, encode_ok};
pub use short_text::is_same_text;
