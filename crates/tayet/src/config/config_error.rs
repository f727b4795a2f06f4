//! What is wrong with a setting.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// What is wrong with a setting, and where it stands.
#[derive(Debug)]
pub struct ConfigError {
    source: Source,
    kind: Kind,
}

/// Where a setting stands.
#[derive(Clone, Debug)]
pub(super) enum Source {
    File(PathBuf),
    Variable,
    Given,
}

#[derive(Debug)]
enum Kind {
    Unreadable(io::Error),
    Malformed(String),
    Unknown { name: String, nearest: String },
    Invalid { name: String, reason: String },
}

impl ConfigError {
    pub(super) fn unreadable(path: &Path, error: io::Error) -> Self {
        Self { source: Source::File(path.to_owned()), kind: Kind::Unreadable(error) }
    }

    pub(super) fn malformed(source: &Source, error: &toml::de::Error) -> Self {
        Self { source: source.clone(), kind: Kind::Malformed(error.to_string()) }
    }

    pub(super) fn unknown(source: &Source, name: &str, nearest: String) -> Self {
        Self { source: source.clone(), kind: Kind::Unknown { name: name.to_owned(), nearest } }
    }

    pub(super) fn invalid(source: &Source, name: &str, reason: String) -> Self {
        Self { source: source.clone(), kind: Kind::Invalid { name: name.to_owned(), reason } }
    }

    /// A setting's name as it is written where it stands.
    fn written(&self, name: &str) -> String {
        match self.source {
            Source::Variable => format!("TAYET_{}", name.to_ascii_uppercase()),
            Source::File(_) | Source::Given => name.to_owned(),
        }
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Source::File(path) = &self.source {
            write!(f, "{}: ", path.display())?;
        }
        match &self.kind {
            Kind::Unreadable(error) => write!(f, "cannot be read: {error}"),
            Kind::Malformed(error) => write!(f, "not TOML: {}", error.trim_end()),
            Kind::Unknown { name, nearest } => {
                let (name, nearest) = (self.written(name), self.written(nearest));
                write!(f, "`{name}` is no setting; the nearest one is `{nearest}`")
            }
            Kind::Invalid { name, reason } => write!(f, "`{}`: {reason}", self.written(name)),
        }
    }
}

impl std::error::Error for ConfigError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.kind {
            Kind::Unreadable(error) => Some(error),
            _ => None,
        }
    }
}
