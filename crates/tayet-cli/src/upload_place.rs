//! Where received files go.

use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;
use tayet_tus_s3::{S3Config, S3Store};

/// Where received files go.
#[derive(Clone, Debug, Args)]
pub(crate) struct PlaceOptions {
    /// Where files go: a directory, in which .uploads has what is unfinished, or s3://BUCKET/PREFIX
    ///
    /// Who uses the bucket is said by AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, where it is by AWS_REGION and
    /// AWS_ENDPOINT_URL.
    #[arg(value_name = "DIR")]
    pub(crate) place: Place,

    /// The server of an s3:// place, unless the environment says it or it is Amazon's
    #[arg(long, value_name = "URL")]
    s3_endpoint: Option<String>,
}

/// A directory or a bucket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Directory(PathBuf),
    Bucket { name: String, prefix: String },
}

impl FromStr for Place {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let Some(bucket) = text.strip_prefix("s3://") else { return Ok(Self::Directory(text.into())) };
        match bucket.split_once('/').unwrap_or((bucket, "")) {
            ("", _) => Err("a bucket has a name: s3://BUCKET/PREFIX".to_owned()),
            (name, prefix) => Ok(Self::Bucket { name: name.to_owned(), prefix: prefix.to_owned() }),
        }
    }
}

impl PlaceOptions {
    /// The store of a bucket that has been asked and is there.
    pub(crate) fn open_bucket(&self, name: &str, prefix: &str) -> tayet::Result<S3Store> {
        let config = S3Config::from_environment(name).prefix(prefix);
        let config = match &self.s3_endpoint {
            Some(endpoint) => config.endpoint(endpoint),
            None => config,
        };
        let store = S3Store::new(config)?;
        store.check()?;
        Ok(store)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_a_directory_or_a_bucket() {
        let bucket = |name: &str, prefix: &str| Place::Bucket { name: name.into(), prefix: prefix.into() };
        assert_eq!("files".parse(), Ok(Place::Directory("files".into())));
        assert_eq!("s3://cloth".parse(), Ok(bucket("cloth", "")));
        assert_eq!("s3://cloth/in/coming".parse(), Ok(bucket("cloth", "in/coming")));
        assert!("s3:///in".parse::<Place>().is_err());
    }
}
