//! The chunked transfer coding, received (RFC 9112 section 7.1).

use http::HeaderMap;

use crate::chunk_extension::ChunkExtension;
use crate::limits::{MAX_CHUNK_EXTENSION_BYTES, MAX_CHUNK_SIZE_DIGITS};
use crate::trailers::Trailers;
use crate::{BodyEvent, Refusal};

/// Reads a chunked body up to the end of its trailer section.
#[derive(Debug)]
pub(crate) struct ChunkDecoder {
    state: State,
    extension_bytes_left: u16,
}

#[derive(Debug)]
enum State {
    Size { size: u64, digits: u8 },
    Extension { size: u64, extension: ChunkExtension },
    SizeLineFeed { size: u64 },
    Data { remaining: u64 },
    DataCarriageReturn,
    DataLineFeed,
    TrailersStart,
    NoTrailersLineFeed,
    Trailers(Box<Trailers>),
    End,
}

impl ChunkDecoder {
    pub(crate) fn new() -> Self {
        Self { state: State::Size { size: 0, digits: 0 }, extension_bytes_left: MAX_CHUNK_EXTENSION_BYTES }
    }

    /// Takes bytes off the front of `input` up to the end of the next event. `None`: all were taken.
    pub(crate) fn receive<'i>(&mut self, input: &mut &'i [u8]) -> Result<Option<BodyEvent<'i>>, Refusal> {
        loop {
            match &mut self.state {
                State::Data { remaining } => {
                    let Some(data) = take_data(input, remaining) else { return Ok(None) };
                    if *remaining == 0 {
                        self.state = State::DataCarriageReturn;
                    }
                    return Ok(Some(BodyEvent::Data(data)));
                }
                State::Trailers(trailers) => {
                    let fields = trailers.receive(input)?;
                    return Ok(fields.map(|fields| self.end(Some(Box::new(fields)))));
                }
                State::TrailersStart if input.first().is_some_and(|&byte| byte != b'\r') => {
                    self.state = State::Trailers(Box::default());
                }
                _ => {
                    let Some((&byte, rest)) = input.split_first() else { return Ok(None) };
                    *input = rest;
                    self.advance(byte)?;
                    if matches!(self.state, State::End) {
                        return Ok(Some(self.end(None)));
                    }
                }
            }
        }
    }

    fn end<'i>(&mut self, trailers: Option<Box<HeaderMap>>) -> BodyEvent<'i> {
        self.state = State::End;
        BodyEvent::End { trailers }
    }

    /// Takes a byte between the chunks' data.
    fn advance(&mut self, byte: u8) -> Result<(), Refusal> {
        self.state = match self.state {
            State::Size { size, digits } => self.advance_size(size, digits, byte)?,
            State::Extension { size, extension } => self.advance_extension(size, extension, byte)?,
            State::SizeLineFeed { size } => {
                expect_line_feed(byte)?;
                self.begin_chunk(size)
            }
            State::DataCarriageReturn => match byte {
                b'\r' => State::DataLineFeed,
                b'\n' => return Err(Refusal::BareLineFeed),
                _ => return Err(Refusal::ChunkOverrun),
            },
            State::DataLineFeed => {
                expect_line_feed(byte)?;
                State::Size { size: 0, digits: 0 }
            }
            State::TrailersStart => State::NoTrailersLineFeed,
            State::NoTrailersLineFeed => {
                expect_line_feed(byte)?;
                State::End
            }
            State::Data { .. } | State::Trailers(_) | State::End => {
                unreachable!("these take no single bytes")
            }
        };
        Ok(())
    }

    fn advance_size(&mut self, size: u64, digits: u8, byte: u8) -> Result<State, Refusal> {
        match (char::from(byte).to_digit(16), byte) {
            (Some(_), _) if digits == MAX_CHUNK_SIZE_DIGITS => Err(Refusal::ChunkSizeTooLong),
            (Some(digit), _) => Ok(State::Size { size: size << 4 | u64::from(digit), digits: digits + 1 }),
            (None, b'\n') => Err(Refusal::BareLineFeed),
            (None, _) if digits == 0 => Err(Refusal::MalformedChunkSize),
            (None, b'\r') => Ok(State::SizeLineFeed { size }),
            (None, _) => {
                let extension = ChunkExtension::begin(byte)?;
                self.count_extension_byte()?;
                Ok(State::Extension { size, extension })
            }
        }
    }

    fn advance_extension(
        &mut self,
        size: u64,
        extension: ChunkExtension,
        byte: u8,
    ) -> Result<State, Refusal> {
        match byte {
            b'\n' => Err(Refusal::BareLineFeed),
            b'\r' if extension.is_complete() => Ok(State::SizeLineFeed { size }),
            b'\r' => Err(Refusal::MalformedChunkExtension),
            _ => {
                self.count_extension_byte()?;
                Ok(State::Extension { size, extension: extension.next(byte)? })
            }
        }
    }

    fn count_extension_byte(&mut self) -> Result<(), Refusal> {
        let left = self.extension_bytes_left.checked_sub(1).ok_or(Refusal::ChunkExtensionsTooLong)?;
        self.extension_bytes_left = left;
        Ok(())
    }

    fn begin_chunk(&mut self, size: u64) -> State {
        if size == 0 {
            return State::TrailersStart;
        }
        let earned = u16::try_from(size).unwrap_or(u16::MAX);
        self.extension_bytes_left =
            self.extension_bytes_left.saturating_add(earned).min(MAX_CHUNK_EXTENSION_BYTES);
        State::Data { remaining: size }
    }
}

/// The front of `input` that belongs to data of which `remaining` bytes are to come. `None`: there's no
/// input.
pub(crate) fn take_data<'i>(input: &mut &'i [u8], remaining: &mut u64) -> Option<&'i [u8]> {
    let length = usize::try_from(*remaining).unwrap_or(usize::MAX).min(input.len());
    let (data, rest) = input.split_at(length);
    *input = rest;
    *remaining -= length as u64;
    (length > 0).then_some(data)
}

fn expect_line_feed(byte: u8) -> Result<(), Refusal> {
    if byte == b'\n' { Ok(()) } else { Err(Refusal::BareCarriageReturn) }
}
