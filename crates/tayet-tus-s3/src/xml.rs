//! The XML that S3 speaks.

use std::time::SystemTime;

use serde::{Deserialize, Deserializer, Serialize, de};

use crate::failure::Failure;

/// The answer to the beginning of a multipart upload.
#[derive(Debug, Deserialize)]
pub(crate) struct InitiateMultipartUploadResult {
    #[serde(rename = "UploadId")]
    pub(crate) upload_id: String,
}

/// The answer to a copy as a part.
#[derive(Debug, Deserialize)]
pub(crate) struct CopyPartResult {
    #[serde(rename = "ETag")]
    pub(crate) etag: String,
}

/// A page of the parts of a multipart upload.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct ListPartsResult {
    #[serde(default)]
    pub(crate) is_truncated: bool,
    pub(crate) next_part_number_marker: Option<u32>,
    #[serde(default, rename = "Part")]
    pub(crate) parts: Vec<ListedPart>,
}

/// A part of a multipart upload.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct ListedPart {
    pub(crate) part_number: usize,
    pub(crate) size: u64,
    /// Some servers leave it out, and do not ask for it either.
    #[serde(rename = "ETag")]
    pub(crate) etag: Option<String>,
    pub(crate) last_modified: Option<Time>,
}

/// A page of the objects of a bucket.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct ListBucketResult {
    #[serde(default)]
    pub(crate) is_truncated: bool,
    pub(crate) next_continuation_token: Option<String>,
    #[serde(default)]
    pub(crate) contents: Vec<ListedObject>,
}

/// An object of a bucket.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct ListedObject {
    pub(crate) key: String,
    pub(crate) last_modified: Option<Time>,
}

/// What a multipart upload is to be made of.
#[derive(Debug, Serialize)]
pub(crate) struct CompleteMultipartUpload<'p> {
    #[serde(rename = "Part")]
    pub(crate) parts: Vec<CompletedPart<'p>>,
}

/// A part that a multipart upload is to be made of.
#[derive(Debug, Serialize)]
pub(crate) struct CompletedPart<'p> {
    #[serde(rename = "PartNumber")]
    pub(crate) number: usize,
    #[serde(rename = "ETag", skip_serializing_if = "Option::is_none")]
    pub(crate) etag: Option<&'p str>,
}

/// A time as S3 writes it, by ISO 8601.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Time(pub(crate) SystemTime);

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let time: jiff::Timestamp = text.parse().map_err(de::Error::custom)?;
        Ok(Self(time.into()))
    }
}

#[derive(Debug, Deserialize)]
struct ErrorBody {
    #[serde(rename = "Code")]
    code: String,
}

/// Reads an answer.
pub(crate) fn parse<T: for<'de> Deserialize<'de>>(body: &[u8]) -> Result<T, Failure> {
    quick_xml::de::from_reader(body).map_err(|error| Failure::Garbled(error.to_string()))
}

/// The code of an error; `None` where the body is none. A success of 200 may turn out to be one, too.
pub(crate) fn error_code(body: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(body).ok()?;
    text.contains("<Error")
        .then(|| quick_xml::de::from_str::<ErrorBody>(text).ok().map(|error| error.code))?
}

impl CompleteMultipartUpload<'_> {
    pub(crate) fn to_xml(&self) -> Result<String, Failure> {
        quick_xml::se::to_string(self).map_err(|error| Failure::Garbled(error.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn parts_are_listed_with_and_without_their_etags() {
        let body = br#"<?xml version="1.0" encoding="UTF-8"?>
            <ListPartsResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Bucket>cloth</Bucket>
            <Initiator><ID>a</ID></Initiator><NextPartNumberMarker>2</NextPartNumberMarker>
            <IsTruncated>true</IsTruncated>
            <Part><PartNumber>1</PartNumber><LastModified>1970-01-01T00:00:07.000Z</LastModified>
            <ETag>&quot;7778aef83f66abc1fa1e8477f296d394&quot;</ETag><Size>10485760</Size></Part>
            <Part><PartNumber>2</PartNumber><Size>5</Size></Part></ListPartsResult>"#;
        let page: ListPartsResult = parse(body).unwrap();
        assert!(page.is_truncated);
        assert_eq!(page.next_part_number_marker, Some(2));
        let [first, second] = page.parts.as_slice() else { panic!("{page:?}") };
        assert_eq!(first.etag.as_deref(), Some("\"7778aef83f66abc1fa1e8477f296d394\""));
        let at = SystemTime::UNIX_EPOCH + Duration::from_secs(7);
        assert_eq!(first.last_modified, Some(Time(at)));
        assert_eq!((second.part_number, second.size, second.etag.as_deref()), (2, 5, None));
        let empty: ListPartsResult = parse(b"<ListPartsResult></ListPartsResult>").unwrap();
        assert!(empty.parts.is_empty() && !empty.is_truncated);
    }

    #[test]
    fn what_is_completed_is_named_in_order() {
        let parts =
            vec![CompletedPart { number: 1, etag: Some("\"a\"") }, CompletedPart { number: 2, etag: None }];
        assert_eq!(
            CompleteMultipartUpload { parts }.to_xml().unwrap(),
            "<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>\"a\"</ETag></Part>\
             <Part><PartNumber>2</PartNumber></Part></CompleteMultipartUpload>"
        );
    }

    #[test]
    fn an_error_is_known_by_its_body() {
        let error = br#"<?xml version="1.0"?><Error><Code>SlowDown</Code><Message>a</Message></Error>"#;
        assert_eq!(error_code(error).as_deref(), Some("SlowDown"));
        assert_eq!(error_code(b"<CompleteMultipartUploadResult/>"), None);
        assert_eq!(error_code(b""), None);
        assert_eq!(error_code(b"<html><h1>Error</h1></html>"), None);
        assert!(parse::<ListPartsResult>(b"not at all").is_err());
    }
}
