//! What the crate does with bytes, from outside.

mod closing;
mod deflate;
mod frames;
mod handshake;
mod pair;
mod reference;
mod support;
mod utf8;
