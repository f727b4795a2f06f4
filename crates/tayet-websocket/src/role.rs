//! The two ends of a connection.

/// Which end of the connection this is. A client masks what it sends (RFC 6455 section 5.3).
#[derive(Copy, Clone, Debug)]
pub enum Role {
    /// The end that was connected to.
    Server,
    /// The end that connected, with where its masking keys come from.
    Client(MaskSource),
}

/// Gives a new masking key at each call.
///
/// Within a browser the keys must be strongly random, so that a script can't choose what is on the wire; a
/// client that trusts whoever gives it messages may use any generator.
pub type MaskSource = fn() -> [u8; 4];

impl Role {
    pub(crate) fn is_server(self) -> bool {
        matches!(self, Self::Server)
    }
}
