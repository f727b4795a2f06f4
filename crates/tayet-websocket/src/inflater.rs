//! Inflating messages (RFC 7692 section 7.2.2).

use flate2::{Decompress, FlushDecompress, Status};

use crate::Failure;
use crate::compressor::TAIL;
use crate::deflate_settings::MAX_WINDOW_BITS;

/// The blocks with BFINAL that a compressed message may have (RFC 7692 section 7.2.3.4): 8. One is usual where
/// there are any, and behind each the window has to be set up again.
pub const MAX_FINAL_BLOCKS: u8 = 8;

/// The bytes of the largest window.
pub(crate) const MAX_WINDOW_BYTES: usize = 1 << MAX_WINDOW_BITS;

/// An empty block with BFINAL. It is understood between blocks only, and so it shows whether the data behind
/// which it stands was whole.
const EMPTY_FINAL_BLOCK: [u8; 2] = [0x03, 0x00];

/// An inflater with its window.
#[derive(Debug)]
pub(crate) struct Inflater {
    stream: Decompress,
    /// Whether nothing has come since the start, or since a block with BFINAL.
    is_at_start: bool,
}

/// Where an inflater has stopped.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// All input is taken, and all output given.
    InputTaken,
    /// Behind a block with BFINAL: it must be restarted before it can go on.
    FinalBlock,
}

impl Inflater {
    /// An inflater for what may refer to `window`.
    pub(crate) fn new(window: &[u8]) -> Self {
        let mut inflater = Self { stream: Decompress::new(false), is_at_start: true };
        inflater.set_window(window);
        inflater
    }

    /// Begins anew.
    pub(crate) fn restart(&mut self, window: &[u8]) {
        self.stream.reset(false);
        self.is_at_start = true;
        self.set_window(window);
    }

    fn set_window(&mut self, window: &[u8]) {
        if !window.is_empty() {
            let window = &window[window.len().saturating_sub(MAX_WINDOW_BYTES)..];
            self.stream.set_dictionary(window).expect("a raw stream takes a window at its start");
        }
    }

    /// Takes compressed data off the front of `input`, and gives what comes of it to `sink`, a block at a
    /// time.
    pub(crate) fn inflate(
        &mut self,
        input: &mut &[u8],
        block: &mut [u8],
        mut sink: impl FnMut(&[u8]) -> Result<(), Failure>,
    ) -> Result<Stop, Failure> {
        self.is_at_start &= input.is_empty();
        loop {
            let (taken_before, given_before) = (self.stream.total_in(), self.stream.total_out());
            let status = self.stream.decompress(input, block, FlushDecompress::None);
            let taken = (self.stream.total_in() - taken_before) as usize;
            let given = (self.stream.total_out() - given_before) as usize;
            *input = &input[taken..];
            // What came before an error counts, or the outcome would depend on how the input is cut.
            sink(&block[..given])?;
            match status.map_err(|_| Failure::CorruptDeflate)? {
                Status::StreamEnd => return Ok(Stop::FinalBlock),
                _ if input.is_empty() && given < block.len() => return Ok(Stop::InputTaken),
                _ if taken == 0 && given == 0 => return Err(Failure::CorruptDeflate),
                _ => {}
            }
        }
    }

    /// Inflates what the sender has left out at the message's end, and checks that the message was whole.
    pub(crate) fn finish(
        &mut self,
        block: &mut [u8],
        sink: impl FnMut(&[u8]) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        // Nothing at all stands for nothing, and so does nothing behind a block with BFINAL: there are
        // senders that leave out the byte that is due.
        if self.is_at_start {
            return Ok(());
        }
        let mut tail = &TAIL[..];
        let is_tail_inflated = self.inflate(&mut tail, block, sink)? == Stop::InputTaken;
        let mut end = &EMPTY_FINAL_BLOCK[..];
        let nothing = |inflated: &[u8]| inflated.is_empty().then_some(()).ok_or(Failure::CorruptDeflate);
        let is_ended = is_tail_inflated && self.inflate(&mut end, block, nothing)? == Stop::FinalBlock;
        if is_ended && end.is_empty() { Ok(()) } else { Err(Failure::CorruptDeflate) }
    }
}
