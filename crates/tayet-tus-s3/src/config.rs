//! Where a bucket is, and who uses it.

use std::fmt;
use std::path::PathBuf;

use rusty_s3::{Bucket, UrlStyle};

use crate::limits::{MAX_PART_BYTES, MIN_PART_BYTES};
use crate::{S3Credentials, S3Limits};

/// The region where none is named.
const DEFAULT_REGION: &str = "us-east-1";
/// Most bytes of a prefix: a key has 1,024 at most, and an upload's own part of it needs up to 300.
const MAX_PREFIX_BYTES: usize = 512;

/// Where a bucket is, and who uses it.
///
/// ```
/// use tayet_tus_s3::{S3Config, S3Credentials, S3Store};
///
/// let config = S3Config::new("cloth", S3Credentials::new("key", "secret"))
///     .endpoint("https://s3.weaver.example")
///     .prefix("incoming/");
/// assert!(S3Store::new(config).is_ok());
/// ```
#[derive(Clone, Debug)]
pub struct S3Config {
    bucket: String,
    credentials: Option<S3Credentials>,
    endpoint: Option<String>,
    region: String,
    prefix: String,
    has_virtual_host: Option<bool>,
    workshop: PathBuf,
    limits: S3Limits,
}

impl S3Config {
    /// A bucket of Amazon's in `us-east-1`, unless something else is said.
    pub fn new(bucket: impl Into<String>, credentials: S3Credentials) -> Self {
        Self::with(bucket.into(), Some(credentials))
    }

    /// As the environment has it: `AWS_ACCESS_KEY_ID` and `AWS_SECRET_ACCESS_KEY`, without which there is no store, and
    /// `AWS_SESSION_TOKEN`, `AWS_REGION` or `AWS_DEFAULT_REGION`, `AWS_ENDPOINT_URL_S3` or `AWS_ENDPOINT_URL`.
    pub fn from_environment(bucket: impl Into<String>) -> Self {
        Self::from_variables(bucket.into(), |name| std::env::var(name).ok())
    }

    fn from_variables(bucket: String, variable: impl Fn(&str) -> Option<String>) -> Self {
        let variable = |name| variable(name).filter(|value| !value.is_empty());
        let credentials = match (variable("AWS_ACCESS_KEY_ID"), variable("AWS_SECRET_ACCESS_KEY")) {
            (Some(key), Some(secret)) => Some(match variable("AWS_SESSION_TOKEN") {
                Some(token) => S3Credentials::with_session_token(key, secret, token),
                None => S3Credentials::new(key, secret),
            }),
            _ => None,
        };
        let mut config = Self::with(bucket, credentials);
        if let Some(region) = variable("AWS_REGION").or_else(|| variable("AWS_DEFAULT_REGION")) {
            config.region = region;
        }
        config.endpoint = variable("AWS_ENDPOINT_URL_S3").or_else(|| variable("AWS_ENDPOINT_URL"));
        config
    }

    fn with(bucket: String, credentials: Option<S3Credentials>) -> Self {
        Self {
            bucket,
            credentials,
            endpoint: None,
            region: DEFAULT_REGION.to_owned(),
            prefix: String::new(),
            has_virtual_host: None,
            workshop: std::env::temp_dir(),
            limits: S3Limits::default(),
        }
    }

    /// The server's URL. Default: Amazon's of the region.
    #[must_use]
    pub fn endpoint(mut self, url: impl Into<String>) -> Self {
        self.endpoint = Some(url.into());
        self
    }

    /// The region. Default: `us-east-1`, which most other servers do not mind.
    #[must_use]
    pub fn region(mut self, region: impl Into<String>) -> Self {
        self.region = region.into();
        self
    }

    /// What the keys of all objects begin with; a slash is put behind it. Default: nothing.
    #[must_use]
    pub fn prefix(mut self, prefix: impl Into<String>) -> Self {
        self.prefix = prefix.into();
        self
    }

    /// Whether the bucket's name is a part of the host's, and not of the path. Default: with Amazon only.
    #[must_use]
    pub fn virtual_host(mut self, has_virtual_host: bool) -> Self {
        self.has_virtual_host = Some(has_virtual_host);
        self
    }

    /// The local directory in which parts are gathered, in files without a name. Default: the system's for what is
    /// temporary, which is memory on some systems.
    #[must_use]
    pub fn workshop(mut self, directory: impl Into<PathBuf>) -> Self {
        self.workshop = directory.into();
        self
    }

    /// What the bucket's use may cost.
    #[must_use]
    pub fn limits(mut self, limits: S3Limits) -> Self {
        self.limits = limits;
        self
    }

    pub(crate) fn check(self) -> Result<CheckedConfig, InvalidS3Config> {
        if !(MIN_PART_BYTES..=MAX_PART_BYTES).contains(&self.limits.part_bytes) {
            return Err(InvalidS3Config("part_bytes must be from 5 MiB to 5 GiB"));
        }
        let prefix = match self.prefix.trim_matches('/') {
            "" => String::new(),
            prefix if prefix.len() > MAX_PREFIX_BYTES => {
                return Err(InvalidS3Config("the prefix is too long"));
            }
            prefix => format!("{prefix}/"),
        };
        let style = match self.has_virtual_host.unwrap_or(self.endpoint.is_none()) {
            true => UrlStyle::VirtualHost,
            false => UrlStyle::Path,
        };
        let endpoint = self.endpoint.unwrap_or_else(|| format!("https://s3.{}.amazonaws.com", self.region));
        let endpoint = endpoint.parse().map_err(|_| InvalidS3Config("the endpoint is no URL"))?;
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b".-_".contains(&byte);
        if self.bucket.is_empty() || !self.bucket.bytes().all(is_name) {
            return Err(InvalidS3Config("a bucket's name has letters, digits, dots and hyphens"));
        }
        let bucket = Bucket::new(endpoint, style, self.bucket, self.region)
            .map_err(|_| InvalidS3Config("the endpoint must be an http or https URL with a host"))?;
        let credentials = self.credentials.ok_or(InvalidS3Config(
            "the environment has no AWS_ACCESS_KEY_ID, or no AWS_SECRET_ACCESS_KEY",
        ))?;
        Ok(CheckedConfig { bucket, credentials, prefix, workshop: self.workshop, limits: self.limits })
    }
}

/// A configuration that can be used.
pub(crate) struct CheckedConfig {
    pub(crate) bucket: Bucket,
    pub(crate) credentials: S3Credentials,
    /// Empty, or with a slash at its end.
    pub(crate) prefix: String,
    pub(crate) workshop: PathBuf,
    pub(crate) limits: S3Limits,
}

/// Something in an [`S3Config`] that cannot be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidS3Config(&'static str);

impl fmt::Display for InvalidS3Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl std::error::Error for InvalidS3Config {}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(variables: &[(&str, &str)]) -> Result<CheckedConfig, InvalidS3Config> {
        let find = |name: &str| variables.iter().find(|(known, _)| *known == name);
        S3Config::from_variables("cloth".to_owned(), |name| Some(find(name)?.1.to_owned())).check()
    }

    const KEYS: [(&str, &str); 2] = [("AWS_ACCESS_KEY_ID", "key"), ("AWS_SECRET_ACCESS_KEY", "secret")];

    #[test]
    fn the_environment_says_who_and_where() {
        let config = environment(&[KEYS[0], KEYS[1], ("AWS_REGION", "eu-west-1")]).unwrap();
        assert_eq!(config.bucket.base_url().as_str(), "https://cloth.s3.eu-west-1.amazonaws.com/");
        assert_eq!(config.credentials.signing().secret(), "secret");
        let elsewhere =
            [KEYS[0], KEYS[1], ("AWS_ENDPOINT_URL", "http://127.0.0.1:9000"), ("AWS_SESSION_TOKEN", "token")];
        let config = environment(&elsewhere).unwrap();
        assert_eq!(config.bucket.base_url().as_str(), "http://127.0.0.1:9000/cloth/");
        assert_eq!(config.bucket.region(), DEFAULT_REGION);
        assert_eq!(config.credentials.signing().token(), Some("token"));
        assert!(environment(&KEYS[..1]).is_err());
        assert!(environment(&[KEYS[0], ("AWS_SECRET_ACCESS_KEY", "")]).is_err());
    }

    #[test]
    fn a_prefix_has_one_slash_behind_it() {
        let new = || S3Config::new("cloth", S3Credentials::new("key", "secret"));
        for (prefix, expected) in [("", ""), ("/", ""), ("a", "a/"), ("a/b/", "a/b/"), ("/a", "a/")] {
            assert_eq!(new().prefix(prefix).check().unwrap().prefix, expected);
        }
        assert!(new().prefix("a".repeat(MAX_PREFIX_BYTES)).check().is_ok());
        assert!(new().prefix("a".repeat(MAX_PREFIX_BYTES + 1)).check().is_err());
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let new = |bucket: &str| S3Config::new(bucket, S3Credentials::new("key", "secret"));
        for bucket in ["", "a/b", "a b", "ä"] {
            assert!(new(bucket).check().is_err(), "{bucket:?}");
        }
        for endpoint in ["", "s3.example", "ftp://s3.example"] {
            assert!(new("a").endpoint(endpoint).check().is_err(), "{endpoint:?}");
        }
        for part_bytes in [MIN_PART_BYTES - 1, MAX_PART_BYTES + 1] {
            let limits = S3Limits { part_bytes, ..S3Limits::default() };
            assert!(new("a").limits(limits).check().is_err(), "{part_bytes}");
        }
    }

    #[test]
    fn secrets_are_not_shown() {
        let config = S3Config::new("cloth", S3Credentials::new("my-key", "my-secret"));
        let shown = format!("{config:?}");
        assert!(!shown.contains("my-"), "{shown}");
    }
}
