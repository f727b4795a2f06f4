//! Taking a form apart, without I/O (RFC 7578, RFC 2046 section 5.1).

use std::fmt;

use memchr::memmem::Finder;
use memchr::{memmem, memrchr};

use super::boundary::is_boundary;
use super::{MultipartError, MultipartLimits, PartHead};

/// What the first boundary needs not have before it.
const ASSUMED_LINE_END: &[u8] = b"\r\n";

/// Takes a body of `multipart/form-data` apart as it comes: bytes in, [`Event`]s out. It makes no difference how the bytes
/// are cut.
///
/// [`Multipart`](crate::Multipart) reads a request's body with it; alone it is of use where the bytes come from elsewhere.
///
/// ```
/// use tayet::MultipartLimits;
/// use tayet::multipart::{Event, Parser};
///
/// let body = b"--b\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\nwarp\r\n--b--\r\n";
/// let mut parser = Parser::new("b", MultipartLimits::default())?;
/// let (mut input, mut text) = (&body[..], String::new());
/// while let Some(event) = parser.receive(&mut input)? {
///     match event {
///         Event::Part(head) => text += head.name(),
///         Event::Data(data) => text += std::str::from_utf8(data).unwrap(),
///         Event::PartEnd => text += ";",
///         Event::End => text += ".",
///     }
/// }
/// parser.finish()?;
/// assert_eq!(text, "awarp;.");
/// # Ok::<(), tayet::MultipartError>(())
/// ```
pub struct Parser {
    limits: MultipartLimits,
    /// CRLF, two hyphens and the boundary.
    delimiter: Finder<'static>,
    /// How much of the delimiter stood at the end of what has been received.
    matched: usize,
    state: State,
    fields: usize,
    files: usize,
}

/// What has come of a form.
#[derive(Debug, PartialEq, Eq)]
pub enum Event<'e> {
    /// A part begins.
    Part(Box<PartHead>),
    /// Content of the part; never empty.
    Data(&'e [u8]),
    /// The part ends.
    PartEnd,
    /// The form ends. Nothing follows but what has no meaning.
    End,
}

#[derive(Debug)]
enum State {
    /// Before the first boundary.
    Preamble {
        seen: usize,
    },
    /// Behind a boundary, on its line. A part has ended when the line has: what is no boundary line may be content that was
    /// not escaped.
    BoundaryLine {
        line: BoundaryLine,
        padding: usize,
        ends_part: bool,
    },
    /// In a part's header.
    Header {
        lines: Vec<u8>,
        padding: usize,
    },
    /// In a part's content, of which so much may still come before `excess`.
    Content {
        left: u64,
        excess: MultipartError,
    },
    /// Right behind the last boundary.
    Closed,
    /// Behind that.
    Epilogue {
        line: EpilogueLine,
        seen: usize,
    },
    Failed(MultipartError),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BoundaryLine {
    Start,
    Hyphen,
    Padding,
    CarriageReturn,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EpilogueLine {
    Padding,
    CarriageReturn,
    Text,
}

/// What stands at the front of the input.
enum Found {
    /// So many bytes that are not of a delimiter.
    Other(usize),
    /// So many bytes that were received before, and looked like a delimiter.
    Held(usize),
    Delimiter,
    /// All is taken; what is to be said of it the next bytes tell.
    Nothing,
}

impl Parser {
    /// A parser of a form with this boundary.
    ///
    /// # Errors
    ///
    /// [`MultipartError::InvalidBoundary`] for what is none.
    pub fn new(boundary: &str, limits: MultipartLimits) -> Result<Self, MultipartError> {
        if !is_boundary(boundary) {
            return Err(MultipartError::InvalidBoundary);
        }
        Ok(Self {
            limits,
            delimiter: Finder::new(format!("\r\n--{boundary}").as_bytes()).into_owned(),
            matched: ASSUMED_LINE_END.len(),
            state: State::Preamble { seen: 0 },
            fields: 0,
            files: 0,
        })
    }

    /// Sets the limits for what follows.
    pub(super) fn set_limits(&mut self, limits: MultipartLimits) {
        self.limits = limits;
    }

    pub(super) fn limits(&self) -> &MultipartLimits {
        &self.limits
    }

    /// What [`Event::Data`] holds where nothing was taken off the input for it: the first bytes of this.
    pub(super) fn delimiter(&self) -> &[u8] {
        self.delimiter.needle()
    }

    /// Takes bytes off the front of `input`, up to the next event. `None`: all were taken.
    ///
    /// # Errors
    ///
    /// What is wrong with the form; it stays so.
    pub fn receive<'e, 'i: 'e>(
        &'e mut self,
        input: &mut &'i [u8],
    ) -> Result<Option<Event<'e>>, MultipartError> {
        loop {
            let progress = match self.state {
                State::Preamble { .. } => self.receive_preamble(input),
                State::BoundaryLine { .. } => self.receive_boundary_line(input),
                State::Header { .. } => self.receive_header(input),
                State::Content { .. } => self.receive_content(input),
                State::Closed => {
                    self.state = State::Epilogue { line: EpilogueLine::Padding, seen: 0 };
                    Ok(Progress::End)
                }
                State::Epilogue { .. } => self.receive_epilogue(input),
                State::Failed(ref error) => return Err(error.clone()),
            };
            match progress {
                Ok(Progress::Again) => {}
                Ok(Progress::Wait) => return Ok(None),
                Ok(Progress::Part(head)) => return Ok(Some(Event::Part(head))),
                Ok(Progress::Data(data)) => return Ok(Some(Event::Data(data))),
                Ok(Progress::Held(length)) => return Ok(Some(Event::Data(&self.delimiter()[..length]))),
                Ok(Progress::PartEnd) => return Ok(Some(Event::PartEnd)),
                Ok(Progress::End) => return Ok(Some(Event::End)),
                Err(error) => {
                    self.state = State::Failed(error.clone());
                    return Err(error);
                }
            }
        }
    }

    /// Says that nothing more comes.
    ///
    /// # Errors
    ///
    /// [`MultipartError::Truncated`] when the form has not ended.
    pub fn finish(&self) -> Result<(), MultipartError> {
        match &self.state {
            State::Epilogue { line: EpilogueLine::Padding | EpilogueLine::Text, .. } => Ok(()),
            State::Failed(error) => Err(error.clone()),
            _ => Err(MultipartError::Truncated),
        }
    }

    fn receive_preamble<'i>(&mut self, input: &mut &'i [u8]) -> Result<Progress<'i>, MultipartError> {
        let limit_bytes = self.limits.max_preamble_bytes;
        let found = self.find(input);
        let State::Preamble { seen } = &mut self.state else { return Ok(Progress::Again) };
        match found {
            Found::Nothing => return Ok(Progress::Wait),
            Found::Delimiter => {
                self.state = State::BoundaryLine { line: BoundaryLine::Start, padding: 0, ends_part: false };
                return Ok(Progress::Again);
            }
            Found::Held(length) => *seen += length,
            Found::Other(length) => {
                *seen += length;
                *input = &input[length..];
            }
        }
        if *seen > limit_bytes.saturating_add(ASSUMED_LINE_END.len()) {
            return Err(MultipartError::PreambleTooLarge { limit_bytes });
        }
        Ok(Progress::Again)
    }

    /// `--` behind the boundary ends the form; else white space may stand there, and the line's end (RFC 2046's
    /// `transport-padding`).
    fn receive_boundary_line<'i>(&mut self, input: &mut &'i [u8]) -> Result<Progress<'i>, MultipartError> {
        let limit_bytes = self.limits.max_part_header_bytes;
        let State::BoundaryLine { line, padding, ends_part } = &mut self.state else {
            return Ok(Progress::Again);
        };
        let at_end = if *ends_part { Progress::PartEnd } else { Progress::Again };
        while let Some((&byte, rest)) = input.split_first() {
            *input = rest;
            *line = match (*line, byte) {
                (BoundaryLine::Start, b'-') => BoundaryLine::Hyphen,
                (BoundaryLine::Hyphen, b'-') => {
                    self.state = State::Closed;
                    return Ok(at_end);
                }
                (BoundaryLine::Start | BoundaryLine::Padding, b' ' | b'\t') => {
                    *padding += 1;
                    BoundaryLine::Padding
                }
                (BoundaryLine::Start | BoundaryLine::Padding, b'\r') => BoundaryLine::CarriageReturn,
                (BoundaryLine::CarriageReturn, b'\n') => {
                    let padding = *padding;
                    self.state = State::Header { lines: Vec::new(), padding };
                    return Ok(at_end);
                }
                _ => return Err(MultipartError::MalformedBoundaryLine),
            };
            if *padding > limit_bytes {
                return Err(MultipartError::PartHeaderTooLarge { limit_bytes });
            }
        }
        Ok(Progress::Wait)
    }

    fn receive_header<'i>(&mut self, input: &mut &'i [u8]) -> Result<Progress<'i>, MultipartError> {
        const END: &[u8] = b"\r\n\r\n";
        let limit_bytes = self.limits.max_part_header_bytes;
        let State::Header { lines, padding } = &mut self.state else { return Ok(Progress::Again) };
        let length_before = lines.len();
        let room = limit_bytes - *padding - length_before;
        lines.extend_from_slice(&input[..input.len().min(room)]);
        if lines.starts_with(b"\r\n") {
            return Err(MultipartError::MalformedDisposition);
        }
        let searched = length_before.saturating_sub(END.len() - 1);
        if let Some(found) = memmem::find(&lines[searched..], END) {
            let end = searched + found;
            *input = &input[end + END.len() - length_before..];
            let head = PartHead::parse(&lines[..end])?;
            self.begin_content(&head)?;
            return Ok(Progress::Part(Box::new(head)));
        }
        if lines.len() == limit_bytes - *padding {
            return Err(MultipartError::PartHeaderTooLarge { limit_bytes });
        }
        *input = &[];
        Ok(Progress::Wait)
    }

    fn begin_content(&mut self, head: &PartHead) -> Result<(), MultipartError> {
        let MultipartLimits { max_fields, max_files, max_field_bytes, max_file_bytes, .. } = self.limits;
        let (left, excess) = if head.is_file() {
            self.files += 1;
            if self.files > max_files {
                return Err(MultipartError::TooManyFiles { limit: max_files });
            }
            (max_file_bytes, MultipartError::FileTooLarge { limit_bytes: max_file_bytes })
        } else {
            self.fields += 1;
            if self.fields > max_fields {
                return Err(MultipartError::TooManyFields { limit: max_fields });
            }
            (max_field_bytes as u64, MultipartError::FieldTooLarge { limit_bytes: max_field_bytes })
        };
        self.state = State::Content { left, excess };
        Ok(())
    }

    fn receive_content<'i>(&mut self, input: &mut &'i [u8]) -> Result<Progress<'i>, MultipartError> {
        let found = self.find(input);
        let State::Content { left, excess } = &mut self.state else { return Ok(Progress::Again) };
        let length = match found {
            Found::Nothing => return Ok(Progress::Wait),
            Found::Delimiter => {
                self.state = State::BoundaryLine { line: BoundaryLine::Start, padding: 0, ends_part: true };
                return Ok(Progress::Again);
            }
            Found::Other(length) | Found::Held(length) => length,
        };
        // What is within the limit is handed out however the input is cut.
        let allowed = usize::try_from(*left).unwrap_or(usize::MAX).min(length);
        *left -= allowed as u64;
        if allowed < length {
            let excess = excess.clone();
            self.state = State::Failed(excess);
        }
        if allowed == 0 {
            return Ok(Progress::Again);
        }
        if let Found::Held(_) = found {
            return Ok(Progress::Held(allowed));
        }
        let (data, rest) = input.split_at(allowed);
        *input = rest;
        Ok(Progress::Data(data))
    }

    fn receive_epilogue<'i>(&mut self, input: &mut &'i [u8]) -> Result<Progress<'i>, MultipartError> {
        let limit_bytes = self.limits.max_preamble_bytes;
        let State::Epilogue { line, seen } = &mut self.state else { return Ok(Progress::Again) };
        while *line != EpilogueLine::Text {
            let Some((&byte, rest)) = input.split_first() else { break };
            *input = rest;
            *seen += 1;
            *line = match (*line, byte) {
                (EpilogueLine::Padding, b' ' | b'\t') => EpilogueLine::Padding,
                (EpilogueLine::Padding, b'\r') => EpilogueLine::CarriageReturn,
                (EpilogueLine::CarriageReturn, b'\n') => EpilogueLine::Text,
                _ => return Err(MultipartError::MalformedBoundaryLine),
            };
            // Looked at for each byte, since another error may follow: which one it is must not depend on how it is cut.
            if *seen > limit_bytes {
                return Err(MultipartError::PreambleTooLarge { limit_bytes });
            }
        }
        *seen += input.len();
        *input = &[];
        if *seen > limit_bytes {
            return Err(MultipartError::PreambleTooLarge { limit_bytes });
        }
        Ok(Progress::Wait)
    }

    /// Looks for the delimiter. It is taken off the input, and so is what may be the first part of one.
    ///
    /// CR stands nowhere in a delimiter but at its start; so what looked like one and is none has no other one in it.
    fn find(&mut self, input: &mut &[u8]) -> Found {
        let delimiter = self.delimiter.needle();
        if self.matched > 0 {
            let wanted = &delimiter[self.matched..];
            let count = wanted.len().min(input.len());
            if input[..count] != wanted[..count] {
                return Found::Held(std::mem::take(&mut self.matched));
            }
            *input = &input[count..];
            self.matched += count;
            if self.matched < delimiter.len() {
                return Found::Nothing;
            }
            self.matched = 0;
            return Found::Delimiter;
        }
        let start = self.delimiter.find(input).unwrap_or_else(|| start_of_prefix(delimiter, input));
        if start > 0 {
            return Found::Other(start);
        }
        self.matched = delimiter.len().min(input.len());
        *input = &input[self.matched..];
        if self.matched < delimiter.len() {
            return Found::Nothing;
        }
        self.matched = 0;
        Found::Delimiter
    }
}

/// Where at the end of `input` a delimiter may begin; its length if none does.
fn start_of_prefix(delimiter: &[u8], input: &[u8]) -> usize {
    let tail = input.len().saturating_sub(delimiter.len() - 1);
    match memrchr(b'\r', &input[tail..]) {
        Some(at) if delimiter.starts_with(&input[tail + at..]) => tail + at,
        _ => input.len(),
    }
}

/// What a step of the parser came to.
enum Progress<'i> {
    Again,
    Wait,
    Part(Box<PartHead>),
    Data(&'i [u8]),
    /// So many bytes of the delimiter were content.
    Held(usize),
    PartEnd,
    End,
}

impl fmt::Debug for Parser {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Parser").field("state", &self.state).finish_non_exhaustive()
    }
}
