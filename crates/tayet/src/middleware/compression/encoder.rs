//! Encoding content, piece by piece.

use std::io::{self, Write};

use brotli::CompressorWriter;
use flate2::write::{GzEncoder, ZlibEncoder};

use super::kept_encoder::{KeptEncoder, MAX_KEPT_CONTENT_BYTES};
use crate::ContentCoding;

/// How much is encoded before what came of it is passed on.
const INPUT_BYTES: usize = 64 * 1024;
/// Memory for what an encoder of Brotli gives at once.
const BROTLI_OUTPUT_BYTES: usize = 16 * 1024;
/// How far encoders look back for repetitions, at most: a power of two, 1 MiB. Each stream costs a few times that.
const MAX_WINDOW_BITS: u32 = 20;
/// The least that encoders know.
const MIN_WINDOW_BITS: u32 = 10;

/// An encoder of any coding; what it has encoded lies in its `Vec`.
enum Encoder {
    Gzip(GzEncoder<Vec<u8>>),
    Deflate(ZlibEncoder<Vec<u8>>),
    Brotli(Box<CompressorWriter<Vec<u8>>>),
    Zstd(zstd::Encoder<'static, Vec<u8>>),
}

impl Encoder {
    /// `length` is that of the content, if it is known: less content needs less memory.
    fn new(coding: ContentCoding, level: u32, length: Option<u64>) -> io::Result<Self> {
        let out = Vec::new();
        Ok(match coding {
            ContentCoding::Gzip => Self::Gzip(GzEncoder::new(out, flate2::Compression::new(level))),
            ContentCoding::Deflate => Self::Deflate(ZlibEncoder::new(out, flate2::Compression::new(level))),
            ContentCoding::Brotli => {
                let window_bits = window_bits(length);
                let writer = CompressorWriter::new(out, BROTLI_OUTPUT_BYTES, level, window_bits);
                Self::Brotli(Box::new(writer))
            }
            ContentCoding::Zstd => {
                let mut encoder = zstd::Encoder::new(out, level as i32)?;
                encoder.window_log(window_bits(length))?;
                encoder.set_pledged_src_size(length)?;
                Self::Zstd(encoder)
            }
        })
    }

    fn input(&mut self) -> &mut dyn Write {
        match self {
            Self::Gzip(encoder) => encoder,
            Self::Deflate(encoder) => encoder,
            Self::Brotli(encoder) => encoder,
            Self::Zstd(encoder) => encoder,
        }
    }

    fn output(&mut self) -> &mut Vec<u8> {
        match self {
            Self::Gzip(encoder) => encoder.get_mut(),
            Self::Deflate(encoder) => encoder.get_mut(),
            Self::Brotli(encoder) => encoder.get_mut(),
            Self::Zstd(encoder) => encoder.get_mut(),
        }
    }

    fn finish(self) -> io::Result<Vec<u8>> {
        match self {
            Self::Gzip(encoder) => encoder.finish(),
            Self::Deflate(encoder) => encoder.finish(),
            Self::Brotli(encoder) => Ok(encoder.into_inner()),
            Self::Zstd(encoder) => encoder.finish(),
        }
    }
}

fn window_bits(length: Option<u64>) -> u32 {
    let needed = length.map_or(MAX_WINDOW_BITS, |length| u64::BITS - length.leading_zeros());
    needed.clamp(MIN_WINDOW_BITS, MAX_WINDOW_BITS)
}

/// Encodes bytes that are all there.
pub(super) fn encode(coding: ContentCoding, level: u32, bytes: &[u8]) -> io::Result<Vec<u8>> {
    if bytes.len() <= MAX_KEPT_CONTENT_BYTES
        && let Some(encoder) = KeptEncoder::take(coding, level)?
    {
        return encoder.encode(bytes);
    }
    let mut encoder = Encoder::new(coding, level, Some(bytes.len() as u64))?;
    encoder.input().write_all(bytes)?;
    encoder.finish()
}

/// Encodes what is written to it, and writes that on. [`Write::flush`] passes on all that has been written.
pub(super) struct EncodingWriter<'a> {
    encoder: Encoder,
    out: &'a mut dyn Write,
    /// Whether something was written since the last flush: an encoder would spend bytes on flushing nothing.
    is_dirty: bool,
}

impl<'a> EncodingWriter<'a> {
    pub(super) fn new(
        coding: ContentCoding,
        level: u32,
        length: Option<u64>,
        out: &'a mut dyn Write,
    ) -> io::Result<Self> {
        Ok(Self { encoder: Encoder::new(coding, level, length)?, out, is_dirty: false })
    }

    /// Ends the content.
    pub(super) fn finish(self) -> io::Result<()> {
        self.out.write_all(&self.encoder.finish()?)
    }

    fn pass_on(&mut self) -> io::Result<()> {
        let encoded = self.encoder.output();
        self.out.write_all(encoded)?;
        encoded.clear();
        Ok(())
    }
}

impl Write for EncodingWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.encoder.input().write(&bytes[..bytes.len().min(INPUT_BYTES)])?;
        self.is_dirty |= count > 0;
        self.pass_on()?;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        if std::mem::take(&mut self.is_dirty) {
            self.encoder.input().flush()?;
            self.pass_on()?;
        }
        self.out.flush()
    }
}
