//! What the fuzz targets share.

mod content;
mod fragments;
mod http1;
mod websocket;

pub use content::{AcceptEncodingText, MultipartBytes};
pub use http1::Http1Bytes;
pub use websocket::{Agreement, Frame, Outcome, outcome};

/// `bytes` in pieces of these lengths; the rest is one more.
pub fn pieces<'a>(mut bytes: &'a [u8], lengths: &[u8]) -> impl Iterator<Item = &'a [u8]> {
    let mut lengths = lengths.iter().map(|&length| usize::from(length)).chain([usize::MAX]);
    std::iter::from_fn(move || {
        let (piece, rest) = bytes.split_at(lengths.next()?.min(bytes.len()));
        bytes = rest;
        Some(piece)
    })
}
