//! Encoding content that is all there, with an encoder that was used before: making one costs more than a small answer does.

use std::io;
use std::sync::{Mutex, PoisonError};

use flate2::{Compress, FlushCompress, Status};
use zstd::bulk::Compressor;

use crate::ContentCoding;

/// How many encoders are kept for the whole process; each has some hundreds of kilobytes. No more can be at work than there are
/// cores, whatever the number of threads.
const MAX_KEPT_ENCODERS: usize = 16;
/// Content of more bytes gets an encoder of its own, so that what is kept does not grow with it.
pub(super) const MAX_KEPT_CONTENT_BYTES: usize = 64 * 1024;
/// What encoded content may be longer than the content, with its framing.
const FRAMING_BYTES: usize = 64;
/// Of zlib's formats: looks back 32 KiB.
const GZIP_WINDOW_BITS: u8 = 15;

/// The encoders that nobody uses; the one that was used last is taken first.
static KEPT: Mutex<Vec<KeptEncoder>> = Mutex::new(Vec::new());

/// An encoder that can begin anew.
pub(super) struct KeptEncoder {
    coding: ContentCoding,
    level: u32,
    context: Context,
    /// Where it encodes to.
    out: Vec<u8>,
}

enum Context {
    Zlib(Compress),
    Zstd(Compressor<'static>),
}

impl KeptEncoder {
    /// One that is kept, or a new one; `None` for a coding whose encoders can be used only once: that of Brotli, as the library
    /// has it.
    pub(super) fn take(coding: ContentCoding, level: u32) -> io::Result<Option<Self>> {
        let is_alike = |kept: &Self| kept.coding == coding && kept.level == level;
        let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(at) = kept.iter().rposition(is_alike) {
            return Ok(Some(kept.remove(at)));
        }
        drop(kept);
        let zlib_level = flate2::Compression::new(level);
        let context = match coding {
            ContentCoding::Gzip => Context::Zlib(Compress::new_gzip(zlib_level, GZIP_WINDOW_BITS)),
            ContentCoding::Deflate => Context::Zlib(Compress::new(zlib_level, true)),
            ContentCoding::Zstd => Context::Zstd(Compressor::new(level as i32)?),
            ContentCoding::Brotli => return Ok(None),
        };
        Ok(Some(Self { coding, level, context, out: Vec::new() }))
    }

    /// Encodes up to [`MAX_KEPT_CONTENT_BYTES`], and keeps the encoder unless that fails.
    pub(super) fn encode(mut self, bytes: &[u8]) -> io::Result<Vec<u8>> {
        self.out.clear();
        match &mut self.context {
            Context::Zlib(context) => encode_zlib(context, bytes, &mut self.out)?,
            Context::Zstd(context) => {
                self.out.reserve(zstd::zstd_safe::compress_bound(bytes.len()));
                context.compress_to_buffer(bytes, &mut self.out)?;
            }
        }
        let encoded = self.out.to_vec();
        self.keep();
        Ok(encoded)
    }

    /// Puts it back; when there are too many, the one goes that was not used for longest.
    fn keep(self) {
        let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
        let superfluous = (kept.len() >= MAX_KEPT_ENCODERS).then(|| kept.remove(0));
        kept.push(self);
        drop(kept);
        drop(superfluous);
    }
}

fn encode_zlib(context: &mut Compress, bytes: &[u8], out: &mut Vec<u8>) -> io::Result<()> {
    context.reset();
    out.reserve(bytes.len() + FRAMING_BYTES);
    loop {
        let rest = &bytes[context.total_in() as usize..];
        match context.compress_vec(rest, out, FlushCompress::Finish)? {
            Status::StreamEnd => return Ok(()),
            Status::Ok | Status::BufError => out.reserve(FRAMING_BYTES + rest.len() / 8),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    fn decoded(coding: ContentCoding, encoded: &[u8]) -> Vec<u8> {
        let mut content = Vec::new();
        match coding {
            ContentCoding::Gzip => flate2::read::GzDecoder::new(encoded).read_to_end(&mut content),
            ContentCoding::Deflate => flate2::read::ZlibDecoder::new(encoded).read_to_end(&mut content),
            ContentCoding::Zstd => zstd::Decoder::new(encoded).unwrap().read_to_end(&mut content),
            ContentCoding::Brotli => unreachable!("it is not kept"),
        }
        .unwrap();
        content
    }

    /// Content that repeats itself for its first part and not at all for the rest, which some encoders make longer.
    fn content(length: usize, seed: u64) -> Vec<u8> {
        let mut state = seed | 1;
        let noise = std::iter::repeat_with(move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 56) as u8
        });
        let text = b"warp and weft ".iter().copied().cycle().take(length / 3);
        text.chain(noise).take(length).collect()
    }

    #[test]
    fn what_an_encoder_did_before_does_not_show() {
        for coding in [ContentCoding::Gzip, ContentCoding::Deflate, ContentCoding::Zstd] {
            for level in [1, 5, 9] {
                for (seed, length) in [MAX_KEPT_CONTENT_BYTES, 0, 1, 1_000, 60_000, 3].into_iter().enumerate()
                {
                    let content = content(length, seed as u64);
                    let encode =
                        || KeptEncoder::take(coding, level).unwrap().unwrap().encode(&content).unwrap();
                    let encoded = encode();
                    assert!(decoded(coding, &encoded) == content, "{coding} {level}: {length} bytes");
                    assert!(encode() == encoded, "{coding} {level}: {length} bytes, again");
                }
            }
        }
    }

    #[test]
    fn no_more_are_kept_than_may_be() {
        let threads =
            (0..2 * MAX_KEPT_ENCODERS).map(|_| KeptEncoder::take(ContentCoding::Gzip, 2).unwrap().unwrap());
        for encoder in threads.collect::<Vec<_>>() {
            encoder.encode(b"abc").unwrap();
        }
        let kept = KEPT.lock().unwrap();
        assert!(kept.len() <= MAX_KEPT_ENCODERS);
        assert!(kept.iter().all(|encoder| encoder.out.capacity() <= 2 * MAX_KEPT_CONTENT_BYTES));
    }

    #[test]
    fn brotli_is_not_kept() {
        assert!(KeptEncoder::take(ContentCoding::Brotli, 4).unwrap().is_none());
    }
}
