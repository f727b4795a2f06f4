//! What connections borrow while they work.

use std::fmt;

use crate::compressor::Compressor;
use crate::deflate_settings::DeflateAgreement;
use crate::inflater::Inflater;
use crate::window::Window;

/// The inflaters that a [`Codec`] keeps for the next message, some 48 KiB each.
pub const MAX_IDLE_INFLATERS: usize = 4;

/// The compressors that a [`Codec`] keeps for the next message, up to some 400 KiB each.
pub const MAX_IDLE_COMPRESSORS: usize = 4;

/// The bytes of a compressed message for which a [`Codec`] keeps room.
pub const MAX_IDLE_COMPRESSED_BYTES: usize = 64 * 1024;

/// What is unmasked at once, so that it is still in the cache when it is read again.
const UNMASKED_BLOCK_BYTES: usize = 4 * 1024;

/// What is inflated at once.
const INFLATED_BLOCK_BYTES: usize = 8 * 1024;

/// Compressors, inflaters and scratch space, lent to the connections of a thread or loop.
///
/// It allocates when something is needed for the first time, and keeps a bounded amount.
#[derive(Default)]
pub struct Codec {
    unmasked: Vec<u8>,
    inflated: Vec<u8>,
    compressed: Vec<u8>,
    inflaters: Vec<Inflater>,
    compressors: Vec<Compressor>,
}

/// Scratch space for what is received.
pub(crate) struct Blocks<'c> {
    pub(crate) unmasked: &'c mut [u8],
    pub(crate) inflated: &'c mut [u8],
}

impl Codec {
    /// A codec that has allocated nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    pub(crate) fn blocks(&mut self) -> Blocks<'_> {
        self.unmasked.resize(UNMASKED_BLOCK_BYTES, 0);
        self.inflated.resize(INFLATED_BLOCK_BYTES, 0);
        Blocks { unmasked: &mut self.unmasked, inflated: &mut self.inflated }
    }

    /// An inflater for a message that may refer to `window`.
    pub(crate) fn lend_inflater(&mut self, window: &Window) -> Inflater {
        match self.inflaters.pop() {
            Some(mut inflater) => {
                inflater.restart(window.as_bytes());
                inflater
            }
            None => Inflater::new(window.as_bytes()),
        }
    }

    pub(crate) fn take_back_inflater(&mut self, inflater: Inflater) {
        if self.inflaters.len() < MAX_IDLE_INFLATERS {
            self.inflaters.push(inflater);
        }
    }

    /// Compresses `payload` by itself. `None`: that would not make it smaller.
    pub(crate) fn compress_alone(
        &mut self,
        payload: &[u8],
        agreement: &DeflateAgreement,
        window_bits: u8,
    ) -> Option<&[u8]> {
        let mut compressor = self.lend_compressor(agreement.level(), window_bits);
        let is_smaller = compressor.compress(payload, &mut self.compressed);
        self.take_back_compressor(compressor);
        self.compressed_if(is_smaller)
    }

    /// Compresses `payload` with a connection's own compressor. `None`: that would not make it smaller, and
    /// the compressor starts anew.
    pub(crate) fn compress_with(&mut self, compressor: &mut Compressor, payload: &[u8]) -> Option<&[u8]> {
        let is_smaller = compressor.compress(payload, &mut self.compressed);
        self.compressed_if(is_smaller)
    }

    fn compressed_if(&mut self, is_smaller: bool) -> Option<&[u8]> {
        if is_smaller {
            return Some(&self.compressed);
        }
        self.release_compressed();
        None
    }

    /// To be called when what `compress_*` gave has been used.
    pub(crate) fn release_compressed(&mut self) {
        self.compressed.clear();
        self.compressed.shrink_to(MAX_IDLE_COMPRESSED_BYTES);
    }

    fn lend_compressor(&mut self, level: u32, window_bits: u8) -> Compressor {
        let kept = self.compressors.iter().position(|kept| kept.is_for(level, window_bits));
        match kept {
            Some(position) => {
                let mut compressor = self.compressors.remove(position);
                compressor.restart();
                compressor
            }
            None => Compressor::new(level, window_bits),
        }
    }

    fn take_back_compressor(&mut self, compressor: Compressor) {
        if self.compressors.len() == MAX_IDLE_COMPRESSORS {
            self.compressors.remove(0);
        }
        self.compressors.push(compressor);
    }
}

impl fmt::Debug for Codec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Codec")
            .field("inflaters", &self.inflaters.len())
            .field("compressors", &self.compressors.len())
            .finish_non_exhaustive()
    }
}
