//! What the crate does with bytes, from outside.

mod connection;
mod encoding;
mod heads;
mod limits;
mod messages;
mod properties;
mod support;
