//! Forms with files: `multipart/form-data` (RFC 7578).
//!
//! [`Multipart`] reads a request's form part by part, while it arrives. [`Parser`] is what takes it apart, without I/O.

mod boundary;
mod error;
mod limits;
mod parameters;
mod parser;
mod part;
mod part_head;

use std::ops::Range;

use tayet_engine::{BodyUse, RequestBody};

pub use error::MultipartError;
pub use limits::MultipartLimits;
pub use parser::{Event, Parser};
pub use part::Part;
pub use part_head::PartHead;

use crate::{Context, FromRequest, Rejection, Request};

/// How much of a form is in memory at a time.
const BUFFER_BYTES: usize = 64 * 1024;

/// A form of type `multipart/form-data` (415 for another), read part by part while it arrives; its handler is called as soon
/// as the request's head is there.
///
/// The client cannot send faster than the handler reads, and 64 KiB of the form are in memory at a time, whatever its size.
/// What is malformed is a 400, what exceeds its [`MultipartLimits`] a 413.
///
/// ```
/// use tayet::{Multipart, Router};
///
/// fn receive(mut form: Multipart) -> tayet::Result<String> {
///     let mut said = String::new();
///     while let Some(mut part) = form.next_part()? {
///         let (name, file_name) = (part.name().to_owned(), part.safe_file_name().map(str::to_owned));
///         match file_name {
///             Some(file_name) => said += &format!("{file_name}: {} bytes\n", part.save_to("uploads/picture")?),
///             None => said += &format!("{name} = {}\n", part.text()?),
///         }
///     }
///     Ok(said)
/// }
///
/// let client = tayet::testing::TestClient::new(Router::new().post("/", receive));
/// let form = "--x\r\nContent-Disposition: form-data; name=\"title\"\r\n\r\nLoom\r\n--x--\r\n";
/// let request = client.post("/").header("Content-Type", "multipart/form-data; boundary=x").body(form);
/// assert_eq!(request.send().text(), "title = Loom\n");
/// ```
#[derive(Debug)]
pub struct Multipart {
    body: RequestBody,
    parser: Parser,
    buffer: Vec<u8>,
    /// What in the buffer the parser has not seen.
    unread: Range<usize>,
    /// Content of the current part that has not been read.
    content: Content,
    place: Place,
}

/// Where in the form its reader is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    BetweenParts,
    InPart,
    AtEnd,
}

/// Content of a part that has been taken out of the form.
#[derive(Clone, Debug)]
enum Content {
    /// In the buffer.
    Received(Range<usize>),
    /// In the delimiter, of which it could have been the beginning.
    Held(Range<usize>),
}

/// What comes next in a form.
enum Next {
    Part(Box<PartHead>),
    Content(Content),
    PartEnd,
    End,
}

impl Multipart {
    /// The form that a body is.
    ///
    /// # Errors
    ///
    /// When `content_type` is not that of a form with a boundary.
    pub fn new(content_type: Option<&str>, body: RequestBody) -> Result<Self, MultipartError> {
        let boundary = boundary::boundary_of(content_type)?;
        Ok(Self {
            body,
            parser: Parser::new(&boundary, MultipartLimits::default())?,
            buffer: Vec::new(),
            unread: 0..0,
            content: Content::Received(0..0),
            place: Place::BetweenParts,
        })
    }

    /// Sets what the form may cost; to be called before it is read.
    #[must_use]
    pub fn with_limits(mut self, limits: MultipartLimits) -> Self {
        self.parser.set_limits(limits);
        self
    }

    /// The next part, in the order of the form. What of the part before has not been read is passed over. `None` at the
    /// form's end.
    ///
    /// # Errors
    ///
    /// As [`MultipartError`] has them.
    pub fn next_part(&mut self) -> Result<Option<Part<'_>>, MultipartError> {
        while self.place == Place::InPart {
            self.fill_content()?;
            self.consume_content(usize::MAX);
        }
        if self.place == Place::AtEnd {
            return Ok(None);
        }
        loop {
            match self.advance()? {
                Next::Part(head) => {
                    self.place = Place::InPart;
                    return Ok(Some(Part::new(head, self)));
                }
                Next::End => {
                    self.place = Place::AtEnd;
                    self.read_epilogue()?;
                    return Ok(None);
                }
                Next::Content(_) | Next::PartEnd => {}
            }
        }
    }

    /// How many bytes of the form have been read.
    pub fn bytes_read(&self) -> u64 {
        self.body.bytes_read()
    }

    fn limits(&self) -> &MultipartLimits {
        self.parser.limits()
    }

    /// Makes sure that there is content of the current part, unless it has ended. Gives what there is.
    fn fill_content(&mut self) -> Result<&[u8], MultipartError> {
        while self.place == Place::InPart && self.content.range().is_empty() {
            match self.advance()? {
                Next::Content(content) => self.content = content,
                Next::PartEnd => self.place = Place::BetweenParts,
                Next::Part(_) | Next::End => {}
            }
        }
        Ok(match &self.content {
            Content::Received(range) => &self.buffer[range.clone()],
            Content::Held(range) => &self.parser.delimiter()[range.clone()],
        })
    }

    fn consume_content(&mut self, count: usize) {
        let (Content::Received(range) | Content::Held(range)) = &mut self.content;
        range.start += count.min(range.len());
    }

    /// Reads until the parser has something to say.
    fn advance(&mut self) -> Result<Next, MultipartError> {
        loop {
            let start = self.unread.start;
            let mut input = &self.buffer[self.unread.clone()];
            let length_before = input.len();
            let event = self.parser.receive(&mut input)?;
            let taken = length_before - input.len();
            let next = event.map(|event| match event {
                Event::Part(head) => Next::Part(head),
                Event::Data(data) if taken == 0 => Next::Content(Content::Held(0..data.len())),
                Event::Data(data) => Next::Content(Content::Received(start..start + data.len())),
                Event::PartEnd => Next::PartEnd,
                Event::End => Next::End,
            });
            self.unread.start += taken;
            match next {
                Some(next) => return Ok(next),
                None if self.fill_buffer()? => {}
                None => self.parser.finish()?,
            }
        }
    }

    /// Reads into the buffer; `false` at the body's end.
    fn fill_buffer(&mut self) -> Result<bool, MultipartError> {
        self.buffer.resize(BUFFER_BYTES, 0);
        let count = self.body.read_some(&mut self.buffer)?;
        self.unread = 0..count;
        Ok(count > 0)
    }

    /// Reads to the body's end, so that the connection can serve the next request.
    fn read_epilogue(&mut self) -> Result<(), MultipartError> {
        loop {
            let mut input = &self.buffer[self.unread.clone()];
            self.parser.receive(&mut input)?;
            if !self.fill_buffer()? {
                return self.parser.finish();
            }
        }
    }
}

impl Content {
    fn range(&self) -> &Range<usize> {
        let (Self::Received(range) | Self::Held(range)) = self;
        range
    }
}

impl<S> FromRequest<S> for Multipart {
    const BODY: BodyUse = BodyUse::Streamed;
    type Rejection = Rejection;

    fn from_request(request: &mut Request, _: Context<'_, S>) -> Result<Self, Rejection> {
        let body = request.take_body();
        Self::new(request.header("content-type"), body).map_err(Rejection::Multipart)
    }
}
