//! Why a bucket does not do what it is asked.

use std::fmt;
use std::io;

use tayet_tus::StoreError;

/// What servers say when there is no room: Amazon has no end, others do.
const FULL_CODES: [&str; 4] =
    ["QuotaExceeded", "QuotaExceededException", "XMinioStorageFull", "XMinioAdminBucketQuotaExceeded"];
/// What asks for another attempt, whatever the status.
const TRANSIENT_CODES: [&str; 4] = ["InternalError", "RequestTimeout", "ServiceUnavailable", "SlowDown"];

/// Why a bucket does not do what it is asked.
#[derive(Debug)]
pub(crate) enum Failure {
    /// There is no connection, or no answer in time.
    Unreachable(ureq::Error),
    /// It answers that it does not.
    Refused { status: u16, code: String },
    /// What it answers is not what S3 answers.
    Garbled(String),
    /// The local disk.
    Local(io::Error),
}

impl Failure {
    /// Whether the next attempt may succeed.
    pub(crate) fn is_transient(&self) -> bool {
        match self {
            Self::Unreachable(_) => true,
            Self::Refused { status, code } => {
                matches!(status, 408 | 429 | 500 | 502 | 503 | 504)
                    || TRANSIENT_CODES.contains(&code.as_str())
            }
            Self::Garbled(_) | Self::Local(_) => false,
        }
    }

    /// Whether there is nothing of that name.
    pub(crate) fn is_not_found(&self) -> bool {
        matches!(self, Self::Refused { status: 404, code } if code != "NoSuchBucket")
    }

    /// Whether it refuses the request itself, and not for now only.
    pub(crate) fn is_refusal(&self) -> bool {
        matches!(self, Self::Refused { status: 400..=499, .. }) && !self.is_transient()
    }

    fn is_full(&self) -> bool {
        matches!(self, Self::Refused { status, code } if *status == 507 || FULL_CODES.contains(&code.as_str()))
    }
}

impl From<Failure> for StoreError {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Local(error) => error.into(),
            _ if failure.is_full() => Self::Full(io::Error::other(failure)),
            _ if failure.is_transient() => Self::Unavailable(io::Error::other(failure)),
            _ => Self::Io(io::Error::other(failure)),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreachable(error) => write!(f, "the bucket's server does not answer: {error}"),
            Self::Refused { status, code } => write!(f, "the bucket's server answers {status} {code}"),
            Self::Garbled(what) => write!(f, "the bucket's server does not answer as S3 does: {what}"),
            Self::Local(error) => write!(f, "a part cannot be gathered: {error}"),
        }
    }
}

impl std::error::Error for Failure {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Unreachable(error) => Some(error),
            Self::Local(error) => Some(error),
            Self::Refused { .. } | Self::Garbled(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_failure_has_its_meaning() {
        let refused =
            |status, code: &str| StoreError::from(Failure::Refused { status, code: code.to_owned() });
        for (status, code) in [(503, "SlowDown"), (500, "InternalError"), (429, ""), (400, "RequestTimeout")]
        {
            assert!(matches!(refused(status, code), StoreError::Unavailable(_)), "{status} {code}");
        }
        for (status, code) in [(507, ""), (400, "XMinioStorageFull"), (403, "QuotaExceeded")] {
            assert!(matches!(refused(status, code), StoreError::Full(_)), "{status} {code}");
        }
        for (status, code) in [(403, "AccessDenied"), (404, "NoSuchBucket"), (501, "NotImplemented")] {
            assert!(matches!(refused(status, code), StoreError::Io(_)), "{status} {code}");
        }
        let unreachable = Failure::Unreachable(ureq::Error::ConnectionFailed);
        assert!(matches!(StoreError::from(unreachable), StoreError::Unavailable(_)));
        let full = Failure::Local(io::ErrorKind::StorageFull.into());
        assert!(matches!(StoreError::from(full), StoreError::Full(_)));
    }
}
