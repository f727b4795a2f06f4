//! A message that is being received.

use bytes::Bytes;

use crate::codec::Codec;
use crate::header::{Header, Opcode};
use crate::inflater::{Inflater, MAX_FINAL_BLOCKS, MAX_WINDOW_BYTES, Stop};
use crate::mask::Mask;
use crate::partial_text::PartialText;
use crate::window::Window;
use crate::{Failure, Message};

/// What has come of a message.
#[derive(Debug)]
pub(crate) struct PartialMessage {
    content: Content,
    compression: Option<Compression>,
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

/// A piece of a frame's payload.
#[derive(Debug)]
pub(crate) struct Piece<'p> {
    pub(crate) payload: &'p [u8],
    /// The bytes of the message that are known to come, these ones included. At most that much room is made.
    pub(crate) remaining: Option<usize>,
}

impl PartialMessage {
    /// A message of which the first header has come.
    pub(crate) fn begin(header: &Header, window: &Window, codec: &mut Codec) -> Self {
        let content = match header.opcode {
            Opcode::Text => Content::Text(PartialText::default()),
            _ => Content::Binary(Vec::new()),
        };
        let begin_compression = || {
            let mut inflater = codec.lend_inflater();
            if !window.as_bytes().is_empty() {
                inflater.restart(window.as_bytes());
            }
            Compression { inflater, received_bytes: 0, final_blocks: 0 }
        };
        Self { content, compression: header.is_compressed.then(begin_compression) }
    }

    pub(crate) fn is_compressed(&self) -> bool {
        self.compression.is_some()
    }

    /// Fails if a frame with so much payload makes the message too big.
    pub(crate) fn check_size(&self, payload_bytes: u64, max_message_bytes: usize) -> Result<(), Failure> {
        let (received, max) = match &self.compression {
            None => (self.content.len(), max_message_bytes),
            Some(compression) => (compression.received_bytes, max_compressed_bytes(max_message_bytes)),
        };
        if payload_bytes > max.saturating_sub(received) as u64 {
            return Err(Failure::MessageTooBig);
        }
        Ok(())
    }

    /// Adds payload that is masked.
    pub(crate) fn push_masked(
        &mut self,
        piece: Piece<'_>,
        mask: &mut Mask,
        max_message_bytes: usize,
        window: &Window,
        codec: &mut Codec,
    ) -> Result<(), Failure> {
        if let (Content::Binary(bytes), None) = (&mut self.content, &self.compression) {
            let start = bytes.len();
            append(bytes, &piece);
            mask.apply(&mut bytes[start..]);
            return Ok(());
        }
        let (unmasked, inflated) = codec.blocks.both();
        let mut rest = piece;
        while !rest.payload.is_empty() {
            let block = rest.split_front(unmasked.len());
            let unmasked = &mut unmasked[..block.payload.len()];
            unmasked.copy_from_slice(block.payload);
            mask.apply(unmasked);
            self.push_block(Piece { payload: unmasked, ..block }, max_message_bytes, window, inflated)?;
        }
        Ok(())
    }

    /// Adds payload.
    pub(crate) fn push(
        &mut self,
        piece: Piece<'_>,
        max_message_bytes: usize,
        window: &Window,
        codec: &mut Codec,
    ) -> Result<(), Failure> {
        let (_, inflated) = codec.blocks.both();
        self.push_block(piece, max_message_bytes, window, inflated)
    }

    fn push_block(
        &mut self,
        piece: Piece<'_>,
        max_message_bytes: usize,
        window: &Window,
        inflated: &mut [u8],
    ) -> Result<(), Failure> {
        let Some(compression) = &mut self.compression else { return self.content.push(&piece) };
        compression.received_bytes += piece.payload.len();
        let mut input = piece.payload;
        while !input.is_empty() {
            let content = &mut self.content;
            let stop = compression
                .inflater
                .inflate(&mut input, inflated, |block| content.push_inflated(block, max_message_bytes))?;
            if stop == Stop::FinalBlock {
                compression.go_on_behind_final_block(content, window)?;
            }
        }
        Ok(())
    }

    /// The message, now that its last frame has come.
    pub(crate) fn finish(mut self, max_message_bytes: usize, codec: &mut Codec) -> Result<Message, Failure> {
        if let Some(mut compression) = self.compression.take() {
            let (_, inflated) = codec.blocks.both();
            let content = &mut self.content;
            compression.inflater.finish(inflated, |block| content.push_inflated(block, max_message_bytes))?;
            codec.take_back_inflater(compression.inflater);
        }
        match self.content {
            Content::Text(text) => text.finish().map(Message::Text),
            Content::Binary(bytes) => Ok(Message::Binary(Bytes::from(bytes))),
        }
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
        let own = content.last_bytes();
        if own.len() >= MAX_WINDOW_BYTES {
            self.inflater.restart(&own);
        } else {
            self.inflater.restart(&[window.as_bytes(), &own].concat());
        }
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
                text.push(piece.payload)
            }
            Self::Binary(bytes) => {
                append(bytes, piece);
                Ok(())
            }
        }
    }

    fn push_inflated(&mut self, block: &[u8], max_message_bytes: usize) -> Result<(), Failure> {
        let room = max_message_bytes.saturating_sub(self.len());
        // What fits is looked at first, or the outcome would depend on how the input is cut.
        let fitting = &block[..block.len().min(room)];
        self.push(&Piece { payload: fitting, remaining: None })?;
        if fitting.len() < block.len() { Err(Failure::MessageTooBig) } else { Ok(()) }
    }

    /// The last bytes of what has come, at least a window's if there are as many.
    fn last_bytes(&self) -> Vec<u8> {
        match self {
            Self::Text(text) => text.last_bytes(MAX_WINDOW_BYTES),
            Self::Binary(bytes) => bytes[bytes.len().saturating_sub(MAX_WINDOW_BYTES)..].to_vec(),
        }
    }
}

impl<'p> Piece<'p> {
    /// Takes up to `length` bytes off the front.
    fn split_front(&mut self, length: usize) -> Self {
        let (front, rest) = self.payload.split_at(length.min(self.payload.len()));
        let remaining = self.remaining;
        self.payload = rest;
        self.remaining = remaining.map(|remaining| remaining - front.len());
        Self { payload: front, remaining }
    }

    /// How much room to reserve: twice what is there, but no more than is known to come.
    fn room(&self, length: usize, capacity: usize) -> usize {
        let needed = self.payload.len();
        if capacity - length >= needed {
            return needed;
        }
        let wished = needed.max(length);
        self.remaining.map_or(wished, |remaining| wished.min(remaining.max(needed)))
    }
}

/// Appends a piece, growing with what has come rather than with what is announced.
fn append(bytes: &mut Vec<u8>, piece: &Piece<'_>) {
    bytes.reserve_exact(piece.room(bytes.len(), bytes.capacity()));
    bytes.extend_from_slice(piece.payload);
}

/// What a message of `max_message_bytes` can take compressed, by an encoder in its right mind: nine bits for
/// eight.
fn max_compressed_bytes(max_message_bytes: usize) -> usize {
    max_message_bytes.saturating_add(max_message_bytes / 8).saturating_add(64)
}
