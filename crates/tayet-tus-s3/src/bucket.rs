//! What a bucket can be asked to do.

use std::ops::Range;
use std::time::SystemTime;

use rusty_s3::Method;
use tayet_tus::UploadId;

use crate::client::{Answer, Call, Client, Payload, drained};
use crate::config::CheckedConfig;
use crate::failure::Failure;
use crate::gathered::Gathered;
use crate::xml::{
    self, CompleteMultipartUpload, CompletedPart, CopyPartResult, InitiateMultipartUploadResult,
    ListBucketResult, ListPartsResult, ListedObject, ListedPart,
};

/// Where what is not finished is. No upload's name begins with a dot.
const WORKSHOP: &str = ".uploads/";
/// What the key of an end ends with.
const END: &str = ".part";
/// Most pages of a list, each with up to 1,000 entries.
const MAX_LIST_PAGES: usize = 10_000;

/// A bucket, as far as it is under the prefix.
#[derive(Debug)]
pub(crate) struct UploadBucket {
    client: Client,
    prefix: String,
}

/// A part that a multipart upload has.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    pub(crate) bytes: u64,
    pub(crate) etag: Option<String>,
}

/// What there is of a part that is not full yet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct End {
    pub(crate) bytes: u64,
    pub(crate) last_modified: Option<SystemTime>,
}

/// An object of the workshop.
#[derive(Debug)]
pub(crate) struct WorkshopObject {
    pub(crate) id: UploadId,
    pub(crate) is_record: bool,
    pub(crate) key: String,
    pub(crate) last_modified: Option<SystemTime>,
}

impl UploadBucket {
    pub(crate) fn new(config: CheckedConfig) -> Self {
        Self { client: Client::new(config.bucket, config.credentials, config.limits), prefix: config.prefix }
    }

    /// The key of what is finished.
    pub(crate) fn file_key(&self, name: &str) -> String {
        format!("{}{name}", self.prefix)
    }

    /// The key of a part of a concatenation.
    pub(crate) fn bytes_key(&self, id: UploadId) -> String {
        format!("{}{WORKSHOP}{id}.bytes", self.prefix)
    }

    fn record_key(&self, id: UploadId) -> String {
        format!("{}{WORKSHOP}{id}.json", self.prefix)
    }

    /// The number is in the key, since not every bucket stores an object and its metadata at once.
    fn end_key(&self, id: UploadId, part_number: usize) -> String {
        format!("{}{WORKSHOP}{id}.{part_number}{END}", self.prefix)
    }
}

/// Objects.
impl UploadBucket {
    pub(crate) fn put(&self, key: &str, payload: Payload<'_>) -> Result<(), Failure> {
        self.client.command(&Call::new(Method::Put, key).payload(payload))
    }

    /// Whether there is an object, and of how many bytes.
    pub(crate) fn length(&self, key: &str) -> Result<Option<u64>, Failure> {
        found(self.client.call(&Call::new(Method::Head, key), |answer| content_length(&answer)))
    }

    pub(crate) fn delete(&self, key: &str) -> Result<(), Failure> {
        found(self.client.command(&Call::new(Method::Delete, key))).map(drop)
    }

    /// Some bytes of an object.
    pub(crate) fn read(&self, key: &str, range: Range<u64>) -> Result<Vec<u8>, Failure> {
        let wanted = usize::try_from(range.end - range.start).unwrap_or(usize::MAX);
        let range = format!("bytes={}-{}", range.start, range.end - 1);
        let call = Call::new(Method::Get, key).header("range", range);
        self.client.call(&call, |answer| {
            let bytes = drained(answer)?;
            if bytes.len() == wanted { Ok(bytes) } else { Err(garbled("a range has another length")) }
        })
    }

    pub(crate) fn read_record(&self, id: UploadId) -> Result<Option<Vec<u8>>, Failure> {
        found(self.client.call(&Call::new(Method::Get, &self.record_key(id)), drained))
    }

    pub(crate) fn write_record(&self, id: UploadId, json: &[u8]) -> Result<(), Failure> {
        self.put(&self.record_key(id), Payload::Bytes(json))
    }

    pub(crate) fn delete_record(&self, id: UploadId) -> Result<(), Failure> {
        self.delete(&self.record_key(id))
    }

    /// Keeps the beginning of a part, whose number counts from 1.
    pub(crate) fn write_end(
        &self,
        id: UploadId,
        part_number: usize,
        bytes: &Gathered,
    ) -> Result<(), Failure> {
        self.put(&self.end_key(id, part_number), bytes.payload())
    }

    /// What there is of a part, without its bytes.
    pub(crate) fn find_end(&self, id: UploadId, part_number: usize) -> Result<Option<End>, Failure> {
        let end = |answer: Answer| {
            let field = answer.headers().get("last-modified").and_then(|value| value.to_str().ok());
            Ok(End { bytes: content_length(&answer)?, last_modified: field.and_then(http_date) })
        };
        found(self.client.call(&Call::new(Method::Head, &self.end_key(id, part_number)), end))
    }

    /// Reads what there is of a part.
    pub(crate) fn read_end(
        &self,
        id: UploadId,
        part_number: usize,
        into: &mut Gathered,
    ) -> Result<(), Failure> {
        self.client.call(&Call::new(Method::Get, &self.end_key(id, part_number)), |answer| {
            let expected = content_length(&answer)?;
            into.fill(&mut answer.into_body().as_reader())?;
            if into.bytes() == expected { Ok(()) } else { Err(garbled("an object is shorter than it says")) }
        })
    }

    pub(crate) fn delete_end(&self, id: UploadId, part_number: usize) -> Result<(), Failure> {
        self.delete(&self.end_key(id, part_number))
    }

    /// Removes what there is of any part.
    pub(crate) fn delete_ends(&self, id: UploadId) -> Result<(), Failure> {
        let objects = self.objects(&format!("{}{WORKSHOP}{id}.", self.prefix))?;
        let mut ends = objects.iter().filter(|object| object.key.ends_with(END));
        ends.try_for_each(|end| self.delete(&end.key))
    }

    /// Everything in the workshop.
    pub(crate) fn workshop(&self) -> Result<Vec<WorkshopObject>, Failure> {
        let prefix = format!("{}{WORKSHOP}", self.prefix);
        let objects = self.objects(&prefix)?.into_iter();
        Ok(objects.filter_map(|object| workshop_object(&prefix, object)).collect())
    }

    /// Everything whose key begins so.
    fn objects(&self, prefix: &str) -> Result<Vec<ListedObject>, Failure> {
        let mut objects = Vec::new();
        let mut token = None;
        for _ in 0..MAX_LIST_PAGES {
            let mut call = Call::new(Method::Get, "").query("list-type", "2").query("prefix", prefix);
            if let Some(token) = token {
                call = call.query("continuation-token", token);
            }
            let page: ListBucketResult = self.client.call(&call, |answer| xml::parse(&drained(answer)?))?;
            objects.extend(page.contents);
            token = page.next_continuation_token.filter(|_| page.is_truncated);
            if token.is_none() {
                return Ok(objects);
            }
        }
        Err(garbled("a list has no end"))
    }
}

/// Objects that are put together from parts.
impl UploadBucket {
    pub(crate) fn begin_multipart(&self, key: &str) -> Result<String, Failure> {
        let call = Call::new(Method::Post, key).query("uploads", "");
        let begun: InitiateMultipartUploadResult =
            self.client.call(&call, |answer| xml::parse(&drained(answer)?))?;
        Ok(begun.upload_id)
    }

    /// Sends a part, whose number counts from 1.
    pub(crate) fn put_part(
        &self,
        key: &str,
        multipart: &str,
        number: usize,
        bytes: &Gathered,
    ) -> Result<Part, Failure> {
        let call = part_call(key, multipart, number).payload(bytes.payload());
        let etag = self.client.call(&call, |answer| {
            let etag = answer.headers().get("etag").and_then(|value| value.to_str().ok()).map(str::to_owned);
            drained(answer)?;
            Ok(etag)
        })?;
        Ok(Part { bytes: bytes.bytes(), etag })
    }

    /// Copies some bytes of another object as a part.
    pub(crate) fn copy_part(
        &self,
        key: &str,
        multipart: &str,
        number: usize,
        source: &str,
        range: Range<u64>,
    ) -> Result<Part, Failure> {
        let source = format!("/{}/{source}", self.client.bucket_name());
        let call = part_call(key, multipart, number)
            .header("x-amz-copy-source", source)
            .header("x-amz-copy-source-range", format!("bytes={}-{}", range.start, range.end - 1));
        let copied: CopyPartResult = self.client.call(&call, |answer| {
            let body = drained(answer)?;
            fail_if_error(&body)?;
            xml::parse(&body)
        })?;
        Ok(Part { bytes: range.end - range.start, etag: Some(copied.etag) })
    }

    /// The parts that a multipart upload has, by their numbers; `None` when there is no such multipart upload.
    pub(crate) fn parts(&self, key: &str, multipart: &str) -> Result<Option<Vec<ListedPart>>, Failure> {
        let mut parts: Vec<ListedPart> = Vec::new();
        let mut marker = None;
        for _ in 0..MAX_LIST_PAGES {
            let mut call = Call::new(Method::Get, key).query("uploadId", multipart);
            if let Some(marker) = marker {
                call = call.query("part-number-marker", u32::to_string(&marker));
            }
            let page = self.client.call(&call, |answer| xml::parse::<ListPartsResult>(&drained(answer)?));
            let Some(page) = found(page)? else { return Ok(None) };
            parts.extend(page.parts);
            marker = page.next_part_number_marker.filter(|_| page.is_truncated);
            if marker.is_none() {
                parts.sort_by_key(|part| part.part_number);
                return Ok(Some(parts));
            }
        }
        Err(garbled("a list of parts has no end"))
    }

    /// Makes an object of parts. One that was made before, unheard, is made; then it has `length` bytes.
    pub(crate) fn complete_multipart(
        &self,
        key: &str,
        multipart: &str,
        parts: &[Part],
        length: u64,
    ) -> Result<(), Failure> {
        let completed = |(index, part): (usize, &'_ Part)| (index + 1, part.etag.clone());
        let numbered: Vec<_> = parts.iter().enumerate().map(completed).collect();
        let parts =
            numbered.iter().map(|(number, etag)| CompletedPart { number: *number, etag: etag.as_deref() });
        let body = CompleteMultipartUpload { parts: parts.collect() }.to_xml()?;
        let call = Call::new(Method::Post, key)
            .query("uploadId", multipart)
            .payload(Payload::Bytes(body.as_bytes()));
        // A success may turn out to be an error while it is read: the server says 200 early, to be heard of at all.
        let completed = self.client.call(&call, |answer| fail_if_error(&drained(answer)?));
        match completed {
            Err(failure) if failure.is_refusal() && self.length(key)? == Some(length) => Ok(()),
            completed => completed,
        }
    }

    pub(crate) fn abort_multipart(&self, key: &str, multipart: &str) -> Result<(), Failure> {
        found(self.client.command(&Call::new(Method::Delete, key).query("uploadId", multipart))).map(drop)
    }
}

fn part_call<'c>(key: &'c str, multipart: &str, number: usize) -> Call<'c> {
    Call::new(Method::Put, key).query("partNumber", number.to_string()).query("uploadId", multipart)
}

/// An answer that there is nothing of that name is none of an error.
fn found<T>(answer: Result<T, Failure>) -> Result<Option<T>, Failure> {
    match answer {
        Ok(answer) => Ok(Some(answer)),
        Err(failure) if failure.is_not_found() => Ok(None),
        Err(failure) => Err(failure),
    }
}

fn fail_if_error(body: &[u8]) -> Result<(), Failure> {
    match xml::error_code(body) {
        Some(code) => Err(Failure::Refused { status: 200, code }),
        None => Ok(()),
    }
}

fn content_length(answer: &Answer) -> Result<u64, Failure> {
    let length = answer.headers().get("content-length").and_then(|value| value.to_str().ok()?.parse().ok());
    length.ok_or_else(|| garbled("an object has no length"))
}

fn http_date(text: &str) -> Option<SystemTime> {
    jiff::fmt::rfc2822::parse(text).ok().map(|at| at.timestamp().into())
}

fn workshop_object(prefix: &str, object: ListedObject) -> Option<WorkshopObject> {
    let (id, kind) = object.key.strip_prefix(prefix)?.split_once('.')?;
    let (id, is_record) = (id.parse().ok()?, kind == "json");
    let last_modified = object.last_modified.map(|at| at.0);
    Some(WorkshopObject { id, is_record, key: object.key, last_modified })
}

fn garbled(what: &str) -> Failure {
    Failure::Garbled(what.to_owned())
}
