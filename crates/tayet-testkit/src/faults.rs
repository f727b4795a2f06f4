//! What goes wrong, and how often.

use crate::Random;

/// How often things go wrong that may always go wrong, in a thousand. The default is never.
#[derive(Clone, Debug, Default)]
pub struct Faults {
    /// A receive gives less than has come.
    pub short_read: u32,
    /// A send takes less than there is room for.
    pub short_write: u32,
    /// A send takes nothing at first, though there is room.
    pub would_block: u32,
    /// One more connection is received from before the first is told of; no fault, but what a driver may do.
    pub receive_ahead: u32,
    /// A wait ends and nothing has happened, as after EINTR.
    pub empty_wake: u32,
    /// A connection is gone when it is to be accepted (ECONNABORTED).
    pub accept: u32,
    /// There is no descriptor for a connection (EMFILE), this once.
    pub exhausted: u32,
    /// A connection cannot be registered.
    pub attach: u32,
}

impl Faults {
    /// Any mixture of what a server must bear without any client noticing: short reads and writes, sends that block,
    /// empty wakes, and descriptors that run out now and then.
    pub fn bearable(random: &mut Random) -> Self {
        let mut often = || *random.pick(&[0, 0, 50, 300, 900]);
        Self {
            short_read: often(),
            short_write: often(),
            would_block: often(),
            receive_ahead: often(),
            empty_wake: often() / 2,
            exhausted: often() / 2,
            ..Self::default()
        }
    }
}
