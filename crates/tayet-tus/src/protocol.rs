//! The protocols by which uploads come.

pub(crate) mod ietf;
pub(crate) mod plain;
pub(crate) mod range;
mod resumption;
pub(crate) mod tus;
