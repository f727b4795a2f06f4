//! Compressing messages (RFC 7692 section 7.2.1).

use flate2::{Compress, Compression, FlushCompress};

/// What the flush at a message's end leaves behind, and what isn't sent.
pub(crate) const TAIL: [u8; 4] = [0x00, 0x00, 0xff, 0xff];

/// DEFLATE encoders have windows of 2^9 bytes and more. The one of 2^9 looks back 250 bytes at most, since it
/// keeps the longest match and the next one's start ahead, and so it serves for 2^8 too.
const MIN_ENCODER_WINDOW_BITS: u8 = 9;

/// Room made when the output is full; more than a flush needs, so that no flush is done twice.
const MIN_ROOM_BYTES: usize = 64;

/// A compressor with its window.
#[derive(Debug)]
pub(crate) struct Compressor {
    stream: Compress,
    level: u32,
    window_bits: u8,
}

impl Compressor {
    pub(crate) fn new(level: u32, window_bits: u8) -> Self {
        let encoder_bits = window_bits.max(MIN_ENCODER_WINDOW_BITS);
        Self {
            stream: Compress::new_with_window_bits(Compression::new(level), false, encoder_bits),
            level,
            window_bits,
        }
    }

    pub(crate) fn is_for(&self, level: u32, window_bits: u8) -> bool {
        self.level == level && self.window_bits == window_bits
    }

    /// Forgets what has been compressed.
    pub(crate) fn restart(&mut self) {
        self.stream.reset();
    }

    /// Compresses a message into `out`, which is overwritten. Whether that has made it smaller; if not, the
    /// message must be sent as it is, and the compressor has forgotten everything, as the peer will not have
    /// it in its window.
    pub(crate) fn compress(&mut self, payload: &[u8], out: &mut Vec<u8>) -> bool {
        out.clear();
        let mut rest = payload;
        loop {
            out.reserve(MIN_ROOM_BYTES.max(rest.len() / 2));
            let taken_before = self.stream.total_in();
            let outcome = self.stream.compress_vec(rest, out, FlushCompress::Sync);
            rest = &rest[(self.stream.total_in() - taken_before) as usize..];
            let is_done = rest.is_empty() && out.len() < out.capacity();
            if outcome.is_err() || out.len() >= payload.len() + TAIL.len() {
                self.restart();
                return false;
            }
            if is_done {
                debug_assert!(out.ends_with(&TAIL), "a flush ends with an empty stored block");
                out.truncate(out.len() - TAIL.len());
                return true;
            }
        }
    }
}
