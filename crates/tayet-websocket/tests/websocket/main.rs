//! What the crate does with bytes, from outside.

mod closing;
mod frames;
mod pair;
mod support;
mod utf8;
