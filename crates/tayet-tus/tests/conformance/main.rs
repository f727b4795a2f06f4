//! Each MUST of the tus protocol 1.0.0 that binds a server, one test each, in the order of the specification.

mod bench;
mod checksum;
mod concatenation;
mod core;
mod creation;
mod expiration;
mod termination;
