//! Decoding a request's body while it is read.

use std::io::{self, BufRead, BufReader, Read};

use brotli_decompressor::{BrotliDecoderParameter, Decompressor};
use flate2::bufread::{MultiGzDecoder, ZlibDecoder};
use tayet_engine::{BodyError, RequestBody};

use crate::ContentCoding;

/// How much of the encoded body is read at a time.
const INPUT_BYTES: usize = 16 * 1024;
/// How far back a body of `zstd` may refer: 8 MiB (RFC 9659 section 3).
const MAX_ZSTD_WINDOW_BITS: u32 = 23;

/// A body without its coding. What is malformed, cut short, or followed by something else is an error, and stays one.
pub(super) struct Decoder {
    format: Format,
    state: State,
}

enum Format {
    Gzip(Box<MultiGzDecoder<Input>>),
    Deflate(Box<ZlibDecoder<Input>>),
    Brotli(Box<Decompressor<Input>>),
    Zstd(zstd::Decoder<'static, Input>),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Decoding,
    Ended,
    Failed,
}

type Input = BufReader<RequestBody>;

impl Decoder {
    pub(super) fn new(coding: ContentCoding, body: RequestBody) -> io::Result<Self> {
        let input = BufReader::with_capacity(INPUT_BYTES, body);
        let format = match coding {
            ContentCoding::Gzip => Format::Gzip(Box::new(MultiGzDecoder::new(input))),
            ContentCoding::Deflate => Format::Deflate(Box::new(ZlibDecoder::new(input))),
            ContentCoding::Brotli => {
                let mut decoder = Decompressor::new(input, INPUT_BYTES);
                // Windows of up to 1 GiB are no part of RFC 7932.
                decoder.set_parameter(BrotliDecoderParameter::BROTLI_DECODER_PARAM_LARGE_WINDOW, 0);
                Format::Brotli(Box::new(decoder))
            }
            ContentCoding::Zstd => {
                let mut decoder = zstd::Decoder::with_buffer(input)?;
                decoder.window_log_max(MAX_ZSTD_WINDOW_BITS)?;
                Format::Zstd(decoder)
            }
        };
        Ok(Self { format, state: State::Decoding })
    }

    fn decode(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.format.decoder().read(into)?;
        if count == 0 {
            self.state = State::Ended;
            // Brotli's decoder tells of what follows when it is asked again.
            let is_all = self.format.decoder().read(into)? == 0 && self.format.input().fill_buf()?.is_empty();
            return if is_all { Ok(0) } else { Err(BodyError::Undecodable.into()) };
        }
        Ok(count)
    }
}

impl Read for Decoder {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.state == State::Ended || into.is_empty() {
            return Ok(0);
        }
        if self.state == State::Failed {
            return Err(BodyError::Undecodable.into());
        }
        self.decode(into).inspect_err(|_| self.state = State::Failed)
    }
}

impl Format {
    fn decoder(&mut self) -> &mut dyn Read {
        match self {
            Self::Gzip(decoder) => decoder,
            Self::Deflate(decoder) => decoder,
            Self::Brotli(decoder) => decoder,
            Self::Zstd(decoder) => decoder,
        }
    }

    fn input(&mut self) -> &mut Input {
        match self {
            Self::Gzip(decoder) => decoder.get_mut(),
            Self::Deflate(decoder) => decoder.get_mut(),
            Self::Brotli(decoder) => decoder.get_mut(),
            Self::Zstd(decoder) => decoder.get_mut(),
        }
    }
}
