//! A message that is being received.

use bytes::Bytes;

use crate::codec::Blocks;
use crate::header::{Header, Opcode};
use crate::inflater::{Inflater, MAX_FINAL_BLOCKS, MAX_WINDOW_BYTES, Stop};
use crate::mask::Mask;
use crate::partial_text::PartialText;
use crate::window::Window;
use crate::{Codec, Failure, Message};

/// What has come of a message.
#[derive(Debug)]
pub(crate) struct PartialMessage {
    content: Content,
    compression: Option<Compression>,
    frame: Option<DataFrame>,
}

/// What is needed to receive a message.
pub(crate) struct Means<'m> {
    pub(crate) max_message_bytes: usize,
    pub(crate) window: &'m Window,
    pub(crate) codec: &'m mut Codec,
}

/// How far a message has come.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    WithinFrame,
    BetweenFrames,
    Complete,
}

/// The frame that is being received.
#[derive(Debug)]
struct DataFrame {
    is_final: bool,
    remaining: usize,
    mask: Option<Mask>,
}

#[derive(Debug)]
enum Content {
    Text(PartialText),
    Binary(Vec<u8>),
}

#[derive(Debug)]
struct Compression {
    inflater: Inflater,
    received_bytes: usize,
    final_blocks: u8,
}

/// A part of a frame's payload.
#[derive(Debug)]
struct Piece<'p> {
    bytes: &'p [u8],
    /// The most that can come of the message, this piece included: for more no room is made.
    most: usize,
}

impl PartialMessage {
    /// A message of which the first header has come.
    pub(crate) fn begin(header: &Header, means: &mut Means<'_>) -> Self {
        let content = match header.opcode {
            Opcode::Text => Content::Text(PartialText::default()),
            _ => Content::Binary(Vec::new()),
        };
        let compression = header.is_compressed.then(|| Compression {
            inflater: means.codec.lend_inflater(means.window),
            received_bytes: 0,
            final_blocks: 0,
        });
        Self { content, compression, frame: None }
    }

    /// Begins a frame. Fails if its payload makes the message too big.
    pub(crate) fn begin_frame(&mut self, header: &Header, max_message_bytes: usize) -> Result<(), Failure> {
        let (received, max) = match &self.compression {
            None => (self.content.len(), max_message_bytes),
            Some(compression) => (compression.received_bytes, max_compressed_bytes(max_message_bytes)),
        };
        let remaining = usize::try_from(header.payload_bytes).map_err(|_| Failure::MessageTooBig)?;
        if remaining > max.saturating_sub(received) {
            return Err(Failure::MessageTooBig);
        }
        self.frame = Some(DataFrame { is_final: header.is_final, remaining, mask: header.mask });
        Ok(())
    }

    pub(crate) fn is_compressed(&self) -> bool {
        self.compression.is_some()
    }

    /// Takes payload of the frame that has begun off the front of `input`.
    pub(crate) fn receive(&mut self, input: &mut &[u8], means: &mut Means<'_>) -> Result<Progress, Failure> {
        let Some(mut frame) = self.frame.take() else { return Ok(Progress::BetweenFrames) };
        let (payload, rest) = input.split_at(frame.remaining.min(input.len()));
        *input = rest;
        let limit = means.max_message_bytes.saturating_sub(self.content.len());
        let most = if frame.is_final { frame.remaining } else { limit };
        frame.remaining -= payload.len();
        self.push(Piece { bytes: payload, most }, frame.mask.as_mut(), means)?;
        if frame.remaining > 0 {
            self.frame = Some(frame);
            return Ok(Progress::WithinFrame);
        }
        Ok(if frame.is_final { Progress::Complete } else { Progress::BetweenFrames })
    }

    /// The message, now that its last frame has come.
    pub(crate) fn finish(mut self, means: &mut Means<'_>) -> Result<Message, Failure> {
        if let Some(mut compression) = self.compression {
            let sink = |inflated: &[u8]| self.content.push_inflated(inflated, means.max_message_bytes);
            compression.inflater.finish(means.codec.blocks().inflated, sink)?;
            means.codec.take_back_inflater(compression.inflater);
        }
        match self.content {
            Content::Text(text) => text.finish().map(Message::Text),
            Content::Binary(bytes) => Ok(Message::Binary(Bytes::from(bytes))),
        }
    }

    fn push(
        &mut self,
        piece: Piece<'_>,
        mask: Option<&mut Mask>,
        means: &mut Means<'_>,
    ) -> Result<(), Failure> {
        if let (Content::Binary(bytes), None) = (&mut self.content, &self.compression) {
            let start = bytes.len();
            append(bytes, &piece);
            if let Some(mask) = mask {
                mask.apply(&mut bytes[start..]);
            }
            return Ok(());
        }
        let Blocks { unmasked, inflated } = means.codec.blocks();
        let Some(mask) = mask else {
            return self.push_unmasked(piece, means.max_message_bytes, means.window, inflated);
        };
        let mut rest = piece;
        while let Some(block) = rest.split_front(unmasked.len()) {
            let unmasked = &mut unmasked[..block.bytes.len()];
            unmasked.copy_from_slice(block.bytes);
            mask.apply(unmasked);
            let block = Piece { bytes: unmasked, ..block };
            self.push_unmasked(block, means.max_message_bytes, means.window, inflated)?;
        }
        Ok(())
    }

    fn push_unmasked(
        &mut self,
        piece: Piece<'_>,
        max_message_bytes: usize,
        window: &Window,
        block: &mut [u8],
    ) -> Result<(), Failure> {
        let Self { content, compression, .. } = self;
        let Some(compression) = compression else { return content.push(&piece) };
        compression.received_bytes += piece.bytes.len();
        let mut input = piece.bytes;
        while !input.is_empty() {
            let sink = |inflated: &[u8]| content.push_inflated(inflated, max_message_bytes);
            if compression.inflater.inflate(&mut input, block, sink)? == Stop::FinalBlock {
                compression.go_on_behind_final_block(content, window)?;
            }
        }
        Ok(())
    }
}

impl Compression {
    /// Sets the inflater up again, with what has been inflated in its window.
    #[cold]
    fn go_on_behind_final_block(&mut self, content: &Content, window: &Window) -> Result<(), Failure> {
        if self.final_blocks == MAX_FINAL_BLOCKS {
            return Err(Failure::TooManyFinalBlocks);
        }
        self.final_blocks += 1;
        self.inflater.restart(&[window.as_bytes(), &content.last_bytes(MAX_WINDOW_BYTES)].concat());
        Ok(())
    }
}

impl Content {
    fn len(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Binary(bytes) => bytes.len(),
        }
    }

    fn push(&mut self, piece: &Piece<'_>) -> Result<(), Failure> {
        match self {
            Self::Text(text) => {
                text.reserve_exact(piece.room(text.len(), text.capacity()));
                text.push(piece.bytes)
            }
            Self::Binary(bytes) => {
                append(bytes, piece);
                Ok(())
            }
        }
    }

    fn push_inflated(&mut self, inflated: &[u8], max_message_bytes: usize) -> Result<(), Failure> {
        let most = max_message_bytes.saturating_sub(self.len());
        // What fits is looked at first, or the outcome would depend on how the input is cut.
        let fitting = &inflated[..inflated.len().min(most)];
        self.push(&Piece { bytes: fitting, most })?;
        if fitting.len() < inflated.len() { Err(Failure::MessageTooBig) } else { Ok(()) }
    }

    /// The last bytes that have come, up to `max_bytes`.
    fn last_bytes(&self, max_bytes: usize) -> Vec<u8> {
        match self {
            Self::Text(text) => text.last_bytes(max_bytes),
            Self::Binary(bytes) => bytes[bytes.len().saturating_sub(max_bytes)..].to_vec(),
        }
    }
}

impl<'p> Piece<'p> {
    /// Takes up to `length` bytes off the front; `None` at the end.
    fn split_front(&mut self, length: usize) -> Option<Self> {
        let (front, rest) = self.bytes.split_at(length.min(self.bytes.len()));
        let most = self.most;
        *self = Self { bytes: rest, most: most.saturating_sub(front.len()) };
        (!front.is_empty()).then_some(Self { bytes: front, most })
    }

    /// How much room to make behind `length` bytes: as much again, so that growing stays cheap.
    fn room(&self, length: usize, capacity: usize) -> usize {
        let needed = self.bytes.len();
        if capacity.saturating_sub(length) >= needed { needed } else { needed.max(length.min(self.most)) }
    }
}

/// Appends a piece, growing with what has come rather than with what is announced.
fn append(bytes: &mut Vec<u8>, piece: &Piece<'_>) {
    bytes.reserve_exact(piece.room(bytes.len(), bytes.capacity()));
    bytes.extend_from_slice(piece.bytes);
}

/// What a message of `max_message_bytes` takes compressed by an encoder in its right mind: nine bits for
/// eight, at worst.
fn max_compressed_bytes(max_message_bytes: usize) -> usize {
    max_message_bytes.saturating_add(max_message_bytes / 8).saturating_add(64)
}
