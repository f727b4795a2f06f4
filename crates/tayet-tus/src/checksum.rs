//! Checksums of what a client sends.

use std::str::FromStr;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use digest::Digest;
use md5::Md5;
use sha1::Sha1;
use sha2::Sha256;

/// The algorithms of `Tus-Checksum-Algorithm`, as that field lists them.
pub(crate) const ALGORITHMS: &str = "sha1,sha256,md5,crc32c";

/// What a body is said to come to: the value of `Upload-Checksum` (tus 1.0.0, checksum).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Checksum {
    algorithm: Algorithm,
    expected: Vec<u8>,
}

/// How a checksum is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Algorithm {
    Sha1,
    Sha256,
    Md5,
    Crc32c,
}

/// A checksum under way. It uses what the processor offers for it.
#[derive(Clone)]
pub(crate) enum Running {
    Sha1(Sha1),
    Sha256(Sha256),
    Md5(Md5),
    Crc32c(u32),
}

impl Checksum {
    pub(crate) fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    /// Whether this is what it was to come to.
    pub(crate) fn is(&self, running: Running) -> bool {
        running.algorithm() == self.algorithm && running.finish() == self.expected
    }
}

impl FromStr for Checksum {
    type Err = InvalidChecksum;

    fn from_str(text: &str) -> Result<Self, InvalidChecksum> {
        let (name, value) = text.trim().split_once(' ').ok_or(InvalidChecksum::Form)?;
        let algorithm = match name.to_ascii_lowercase().as_str() {
            "sha1" => Algorithm::Sha1,
            "sha256" => Algorithm::Sha256,
            "md5" => Algorithm::Md5,
            "crc32c" => Algorithm::Crc32c,
            _ => return Err(InvalidChecksum::Algorithm),
        };
        let expected = STANDARD.decode(value.trim()).map_err(|_| InvalidChecksum::Form)?;
        if expected.len() != algorithm.length_bytes() {
            return Err(InvalidChecksum::Form);
        }
        Ok(Self { algorithm, expected })
    }
}

impl Algorithm {
    pub(crate) const ALL: [Self; 4] = [Self::Sha1, Self::Sha256, Self::Md5, Self::Crc32c];

    pub(crate) fn start(self) -> Running {
        match self {
            Self::Sha1 => Running::Sha1(Sha1::new()),
            Self::Sha256 => Running::Sha256(Sha256::new()),
            Self::Md5 => Running::Md5(Md5::new()),
            Self::Crc32c => Running::Crc32c(0),
        }
    }

    fn length_bytes(self) -> usize {
        match self {
            Self::Sha1 => 20,
            Self::Sha256 => 32,
            Self::Md5 => 16,
            Self::Crc32c => 4,
        }
    }
}

impl Running {
    pub(crate) fn update(&mut self, bytes: &[u8]) {
        match self {
            Self::Sha1(state) => state.update(bytes),
            Self::Sha256(state) => state.update(bytes),
            Self::Md5(state) => state.update(bytes),
            Self::Crc32c(state) => *state = crc32c::crc32c_append(*state, bytes),
        }
    }

    fn finish(self) -> Vec<u8> {
        match self {
            Self::Sha1(state) => state.finalize().to_vec(),
            Self::Sha256(state) => state.finalize().to_vec(),
            Self::Md5(state) => state.finalize().to_vec(),
            Self::Crc32c(state) => state.to_be_bytes().to_vec(),
        }
    }

    fn algorithm(&self) -> Algorithm {
        match self {
            Self::Sha1(_) => Algorithm::Sha1,
            Self::Sha256(_) => Algorithm::Sha256,
            Self::Md5(_) => Algorithm::Md5,
            Self::Crc32c(_) => Algorithm::Crc32c,
        }
    }
}

/// Bytes as lower-case hexadecimal digits.
pub(crate) fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// An `Upload-Checksum` that cannot be checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InvalidChecksum {
    /// Not an algorithm, a space and base64 of the algorithm's length.
    Form,
    /// Not one of [`ALGORITHMS`].
    Algorithm,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of the text `hello`.
    const KNOWN: [&str; 4] = [
        "sha1 qvTGHdzF6KLavt4PO0gs2a6pQ00=",
        "sha256 LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ=",
        "md5 XUFAKrxLKna5cZ2REBfFkg==",
        "crc32c mnG7TA==",
    ];

    #[test]
    fn known_sums_are_right_and_others_wrong() {
        for text in KNOWN {
            let checksum: Checksum = text.parse().unwrap();
            for (input, is_right) in [(&b"hello"[..], true), (b"hellO", false), (b"", false)] {
                let mut running = checksum.algorithm().start();
                input.chunks(2).for_each(|part| running.update(part));
                assert_eq!(checksum.is(running), is_right, "{text} of {input:?}");
            }
        }
    }

    #[test]
    fn every_known_algorithm_is_listed() {
        let names: Vec<_> = KNOWN.iter().map(|text| text.split(' ').next().unwrap()).collect();
        assert_eq!(names.join(","), ALGORITHMS);
    }

    #[test]
    fn what_cannot_be_checked_is_refused() {
        for text in ["", "sha1", "sha1 ", "sha1 !", "sha1 YQ==", "crc32c qvTGHdzF6KLavt4PO0gs2a6pQ00="] {
            assert_eq!(text.parse::<Checksum>(), Err(InvalidChecksum::Form), "{text}");
        }
        assert_eq!("sha3 YQ==".parse::<Checksum>(), Err(InvalidChecksum::Algorithm));
    }
}
