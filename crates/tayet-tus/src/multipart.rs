//! Multipart bodies (RFC 7578), read part by part while they come.

use memchr::memmem;

use crate::intake::Source;
use crate::upload_error::UploadError;

/// Bytes of a part's head; past it the answer is 400.
const MAX_PART_HEAD_BYTES: usize = 16 * 1024;
/// Bytes of a boundary (RFC 2046 section 5.1.1).
const MAX_BOUNDARY_BYTES: usize = 70;
/// How much is read at a time.
const READ_BYTES: usize = 64 * 1024;

/// A multipart body.
pub(crate) struct Multipart<'b> {
    body: &'b mut dyn Source,
    /// What stands before each part: a line end, two hyphens and the boundary.
    delimiter: Vec<u8>,
    /// What has been read and not been taken.
    buffer: Vec<u8>,
    /// How much of the buffer has been taken.
    taken: usize,
    is_in_part: bool,
    has_ended: bool,
}

/// What a part says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PartHead {
    disposition: String,
    pub(crate) media_type: Option<String>,
}

impl PartHead {
    /// The file's name, if the part is a file.
    pub(crate) fn file_name(&self) -> Option<String> {
        crate::fields::parameter(&self.disposition, "filename")
    }
}

impl<'b> Multipart<'b> {
    /// A body whose `Content-Type` this is.
    pub(crate) fn new(body: &'b mut dyn Source, content_type: &str) -> Result<Self, UploadError> {
        let boundary = crate::fields::parameter(content_type, "boundary").unwrap_or_default();
        if !(1..=MAX_BOUNDARY_BYTES).contains(&boundary.len()) {
            return Err(UploadError::Malformed("the Content-Type has no boundary, or too long a one"));
        }
        let delimiter = format!("\r\n--{boundary}").into_bytes();
        // The first boundary needs no line before it.
        Ok(Self { body, delimiter, buffer: b"\r\n".to_vec(), taken: 0, is_in_part: false, has_ended: false })
    }

    /// The next part's head; what was left of the part before is thrown away.
    pub(crate) fn next_part(&mut self) -> Result<Option<PartHead>, UploadError> {
        let mut rest = [0; 4096];
        // Before the first part, this passes over the preamble.
        self.is_in_part = !self.has_ended;
        while self.read_some(&mut rest)? > 0 {}
        if self.has_ended {
            return Ok(None);
        }
        self.taken += self.delimiter.len();
        while self.left().len() < 2 {
            self.fill()?;
        }
        if self.left().starts_with(b"--") {
            self.has_ended = true;
            // The epilogue says nothing.
            while self.body.read_some(&mut rest)? > 0 {}
            return Ok(None);
        }
        let head = self.read_head()?;
        self.is_in_part = true;
        Ok(Some(head))
    }

    fn read_head(&mut self) -> Result<PartHead, UploadError> {
        let end = loop {
            match memmem::find(self.left(), b"\r\n\r\n") {
                Some(end) => break end,
                None if self.left().len() > MAX_PART_HEAD_BYTES => {
                    return Err(UploadError::Malformed("a part's head is too long"));
                }
                None => self.fill()?,
            }
        };
        let text = String::from_utf8_lossy(&self.left()[..end]).into_owned();
        self.taken += end + 4;
        let mut head = PartHead { disposition: String::new(), media_type: None };
        for line in text.split("\r\n") {
            let Some((name, value)) = line.split_once(':') else { continue };
            match name.trim().to_ascii_lowercase().as_str() {
                "content-disposition" => head.disposition = value.trim().to_owned(),
                "content-type" => head.media_type = Some(value.trim().to_owned()),
                _ => {}
            }
        }
        Ok(head)
    }

    fn left(&self) -> &[u8] {
        &self.buffer[self.taken..]
    }

    fn fill(&mut self) -> Result<(), UploadError> {
        self.buffer.drain(..self.taken);
        self.taken = 0;
        let length = self.buffer.len();
        self.buffer.resize(length + READ_BYTES, 0);
        let count = self.body.read_some(&mut self.buffer[length..])?;
        self.buffer.truncate(length + count);
        if count == 0 {
            Err(UploadError::Malformed("the form ends before its last boundary"))
        } else {
            Ok(())
        }
    }
}

/// The bytes of the part that the head was last read of.
impl Source for Multipart<'_> {
    fn read_some(&mut self, into: &mut [u8]) -> Result<usize, UploadError> {
        if !self.is_in_part {
            return Ok(0);
        }
        loop {
            let left = self.left();
            let found = memmem::find(left, &self.delimiter);
            // The last bytes may be the beginning of a delimiter.
            let certain = found.unwrap_or((left.len() + 1).saturating_sub(self.delimiter.len()));
            if certain > 0 {
                let count = certain.min(into.len());
                into[..count].copy_from_slice(&left[..count]);
                self.taken += count;
                return Ok(count);
            }
            if found.is_some() {
                self.is_in_part = false;
                return Ok(0);
            }
            self.fill()?;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A body that comes in pieces of one size.
    struct Pieces<'b>(&'b [u8], usize);

    impl Source for Pieces<'_> {
        fn read_some(&mut self, into: &mut [u8]) -> Result<usize, UploadError> {
            let count = self.1.min(into.len()).min(self.0.len());
            into[..count].copy_from_slice(&self.0[..count]);
            self.0 = &self.0[count..];
            Ok(count)
        }
    }

    type Part = (Option<String>, Vec<u8>);

    fn parts(body: &[u8], piece: usize) -> Result<Vec<Part>, UploadError> {
        let mut source = Pieces(body, piece);
        let mut multipart = Multipart::new(&mut source, "multipart/form-data; boundary=xx")?;
        let mut parts = Vec::new();
        while let Some(head) = multipart.next_part()? {
            let (mut bytes, mut buffer) = (Vec::new(), [0; 7]);
            loop {
                match multipart.read_some(&mut buffer)? {
                    0 => break,
                    count => bytes.extend_from_slice(&buffer[..count]),
                }
            }
            parts.push((head.file_name(), bytes));
        }
        Ok(parts)
    }

    const FORM: &[u8] = b"preamble\r\n--xx\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\nvalue\
        \r\n--xx\r\ncontent-disposition: form-data; name=b; filename=\"b.txt\"\r\nContent-Type: text/plain\r\n\r\n\
        one\r\n--x\r\n-two\r\n\r\n--xx\r\nContent-Disposition: form-data; filename=c\r\n\r\n\r\n--xx--\r\nepilogue";

    #[test]
    fn parts_are_the_same_however_they_come() {
        let expected = [
            (None, b"value".to_vec()),
            (Some("b.txt".to_owned()), b"one\r\n--x\r\n-two\r\n".to_vec()),
            (Some("c".to_owned()), Vec::new()),
        ];
        for piece in 1..FORM.len() {
            assert_eq!(parts(FORM, piece).unwrap(), expected, "pieces of {piece}");
        }
        assert_eq!(parts(&FORM[b"preamble\r\n".len()..], 5).unwrap(), expected, "without a preamble");
    }

    #[test]
    fn a_form_that_breaks_off_anywhere_is_refused() {
        let last = memmem::rfind(FORM, b"--\r\nepilogue").unwrap() + 1;
        for end in 0..=last {
            assert!(parts(&FORM[..end], 9).is_err(), "cut at {end}");
        }
    }

    #[test]
    fn heads_and_boundaries_have_limits() {
        let mut long = b"--xx\r\nA: ".to_vec();
        long.resize(MAX_PART_HEAD_BYTES + READ_BYTES, b'a');
        assert_eq!(parts(&long, READ_BYTES).unwrap_err().to_string(), "a part's head is too long");
        for boundary in [String::new(), "x".repeat(MAX_BOUNDARY_BYTES + 1)] {
            let content_type = format!("multipart/form-data; boundary={boundary}");
            assert!(Multipart::new(&mut Pieces(b"", 1), &content_type).is_err());
        }
    }
}
