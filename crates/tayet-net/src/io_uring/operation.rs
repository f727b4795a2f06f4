//! What an operation of the ring is about, as the word that comes back with its completions.

/// An operation, and whom it is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operation {
    /// Watching the eventfd that wakes the driver.
    Wake(Epoch),
    /// Watching the listener at this position.
    Accept { position: u32, epoch: Epoch },
    /// Receiving on the connection in this slot.
    Receive { slot: u32 },
    /// Waiting until the connection in this slot takes more.
    Writable { slot: u32 },
    /// The send with this number.
    Send { number: u32 },
    /// The send in this place of a batch.
    BatchedSend { place: u32, batch: Epoch },
    /// Cancelling another: nobody waits for it.
    Cancel,
}

/// Counts the rings that a driver has had, one behind the other: what the kernel told by an earlier one says nothing of what goes on in
/// this one. Batches are counted by another. It wraps, much later than any operation lasts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Epoch(u32);

impl Epoch {
    pub(super) fn next(self) -> Self {
        Self((self.0 + 1) & EPOCH_MASK)
    }
}

const EPOCH_MASK: u32 = (1 << 24) - 1;

impl Operation {
    /// Whether an end of it, or a part, may be told of.
    pub(super) fn tells(self) -> bool {
        matches!(self, Self::Receive { .. } | Self::Send { .. } | Self::Writable { .. })
    }

    /// The kind in the upper 8 bits, the epoch in the next 24, the number in the lower 32.
    pub(super) fn to_bits(self) -> u64 {
        let (kind, epoch, number) = match self {
            Self::Cancel => (0, Epoch(0), 0),
            Self::Wake(epoch) => (1, epoch, 0),
            Self::Accept { position, epoch } => (2, epoch, position),
            Self::Receive { slot } => (3, Epoch(0), slot),
            Self::Writable { slot } => (4, Epoch(0), slot),
            Self::Send { number } => (5, Epoch(0), number),
            Self::BatchedSend { place, batch } => (6, batch, place),
        };
        kind << 56 | u64::from(epoch.0) << 32 | u64::from(number)
    }

    pub(super) fn from_bits(bits: u64) -> Self {
        let epoch = Epoch((bits >> 32) as u32 & EPOCH_MASK);
        let number = bits as u32;
        match bits >> 56 {
            1 => Self::Wake(epoch),
            2 => Self::Accept { position: number, epoch },
            3 => Self::Receive { slot: number },
            4 => Self::Writable { slot: number },
            5 => Self::Send { number },
            6 => Self::BatchedSend { place: number, batch: epoch },
            _ => Self::Cancel,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_survive_their_word() {
        for epoch in [Epoch(0), Epoch(1), Epoch(EPOCH_MASK)] {
            for number in [0, 1, u32::MAX] {
                for operation in [
                    Operation::Wake(epoch),
                    Operation::Accept { position: number, epoch },
                    Operation::Receive { slot: number },
                    Operation::Writable { slot: number },
                    Operation::Send { number },
                    Operation::BatchedSend { place: number, batch: epoch },
                    Operation::Cancel,
                ] {
                    assert_eq!(Operation::from_bits(operation.to_bits()), operation);
                }
            }
        }
    }

    #[test]
    fn epochs_wrap() {
        assert_eq!(Epoch(EPOCH_MASK).next(), Epoch(0));
    }
}
