//! What the crate does with bytes, from outside.

mod closing;
mod deflate;
mod differential;
mod frames;
mod handshake;
mod limits;
mod memory;
mod pair;
mod properties;
mod reference;
mod sending;
mod support;
mod utf8;
