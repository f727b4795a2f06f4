//! What a request says its body comes to.

use tayet::{HeaderMap, Request};

use crate::checksum::{Algorithm, Checksum, InvalidChecksum, Running};
use crate::upload_error::UploadError;

/// What a request says its body comes to (tus 1.0.0, checksum and checksum-trailer).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum WantedChecksum {
    /// It says nothing.
    None,
    /// `Upload-Checksum` stands in the head.
    InHead(Checksum),
    /// `Upload-Checksum` will stand in the trailers, which alone name the algorithm.
    InTrailers,
}

/// The sums that are computed while a body comes.
pub(crate) struct Sums(Vec<Running>);

const FIELD: &str = "upload-checksum";

impl WantedChecksum {
    pub(crate) fn of(request: &Request) -> Result<Self, UploadError> {
        let trailers = request.headers().get_all("trailer");
        let is_announced = trailers
            .iter()
            .filter_map(|value| value.to_str().ok())
            .flat_map(|value| value.split(','))
            .any(|name| name.trim().eq_ignore_ascii_case(FIELD));
        match (request.header(FIELD), is_announced) {
            (Some(text), _) => Ok(Self::InHead(text.parse().map_err(refused)?)),
            (None, true) => Ok(Self::InTrailers),
            (None, false) => Ok(Self::None),
        }
    }

    pub(crate) fn start(&self) -> Sums {
        Sums(match self {
            Self::None => vec![],
            Self::InHead(checksum) => vec![checksum.algorithm().start()],
            Self::InTrailers => Algorithm::ALL.map(Algorithm::start).into(),
        })
    }

    /// Checks the sums of a body that has come whole.
    pub(crate) fn verify(&self, sums: Sums, trailers: Option<&HeaderMap>) -> Result<(), UploadError> {
        let checksum = match self {
            Self::None => return Ok(()),
            Self::InHead(checksum) => checksum.clone(),
            Self::InTrailers => {
                let text =
                    trailers.and_then(|fields| fields.get(FIELD)).and_then(|value| value.to_str().ok());
                let missing =
                    UploadError::Malformed("the trailers lack the Upload-Checksum that was announced");
                text.ok_or(missing)?.parse().map_err(refused)?
            }
        };
        if sums.0.into_iter().any(|sum| checksum.is(sum)) {
            Ok(())
        } else {
            Err(UploadError::ChecksumMismatch)
        }
    }
}

impl Sums {
    pub(crate) fn update(&mut self, bytes: &[u8]) {
        self.0.iter_mut().for_each(|sum| sum.update(bytes));
    }
}

fn refused(error: InvalidChecksum) -> UploadError {
    UploadError::Malformed(match error {
        InvalidChecksum::Form => "Upload-Checksum is an algorithm, a space and the checksum in base64",
        InvalidChecksum::Algorithm => UNKNOWN_ALGORITHM,
    })
}

const UNKNOWN_ALGORITHM: &str = "Upload-Checksum must be by sha1, sha256, md5 or crc32c";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checksum::ALGORITHMS;

    fn wanted(fields: &[(&str, &str)]) -> Result<WantedChecksum, UploadError> {
        let builder = Request::builder("PATCH", "/");
        let request = fields.iter().fold(builder, |builder, (name, value)| builder.header(name, value));
        WantedChecksum::of(&request.build().unwrap())
    }

    fn verify(wanted: &WantedChecksum, body: &[u8], trailer: Option<&str>) -> Result<(), u16> {
        let mut sums = wanted.start();
        sums.update(body);
        let mut trailers = HeaderMap::new();
        if let Some(value) = trailer {
            trailers.insert(FIELD, value.parse().unwrap());
        }
        wanted.verify(sums, Some(&trailers)).map_err(|error| error.status().as_u16())
    }

    #[test]
    fn a_sum_in_the_head_is_checked() {
        let wanted = wanted(&[("Upload-Checksum", "crc32c mnG7TA==")]).unwrap();
        assert_eq!(verify(&wanted, b"hello", None), Ok(()));
        assert_eq!(verify(&wanted, b"hellO", None), Err(460));
    }

    #[test]
    fn a_sum_in_the_trailers_may_be_by_any_algorithm() {
        let wanted = wanted(&[("Trailer", "X-Other, upload-checksum")]).unwrap();
        for sum in ["crc32c mnG7TA==", "md5 XUFAKrxLKna5cZ2REBfFkg=="] {
            assert_eq!(verify(&wanted, b"hello", Some(sum)), Ok(()));
            assert_eq!(verify(&wanted, b"hellO", Some(sum)), Err(460));
        }
        assert_eq!(verify(&wanted, b"hello", None), Err(400));
    }

    #[test]
    fn an_unknown_algorithm_is_named() {
        let error = wanted(&[("Upload-Checksum", "sha3 YQ==")]).unwrap_err();
        assert_eq!(error.status(), 400);
        assert!(ALGORITHMS.split(',').all(|name| error.to_string().contains(name)));
        assert_eq!(wanted(&[]).unwrap(), WantedChecksum::None);
    }
}
