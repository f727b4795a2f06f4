//! What a client says, at random, and what it must be told.

use std::time::Duration;

use tayet_testkit::{Answer, Client, End, Random, Reading, Transcript};

use super::application::{HINT, Kind, pattern};

/// A client's requests, and how it ends.
#[derive(Clone, Debug)]
pub(super) struct Conversation {
    requests: Vec<Asked>,
    is_pipelined: bool,
    ending: Ending,
}

#[derive(Clone, Debug)]
struct Asked {
    /// The request up to its body, and the body as it is sent; a client that expects a 100 waits between them.
    head: Vec<u8>,
    body: Vec<u8>,
    is_head: bool,
    expects_continue: bool,
    status: u16,
    answer: Vec<u8>,
}

/// How a conversation ends.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Ending {
    /// The client says no more.
    Silence,
    /// The client ends its sending direction.
    HalfClose,
    /// The client closes when it has its answers.
    Close,
    /// The last request asks the server to close, and these bytes follow it: they must not be answered. If they come when
    /// the connection is closed, they reset it, and the client may lose what it has not read.
    Closing(Vec<u8>),
    /// The last request has a body that is not read: the server may close.
    Ignored,
    /// Something that must be refused with this status.
    Refused(Vec<u8>, u16),
    /// A request that breaks off.
    CutShort(Vec<u8>),
    /// The client resets the connection at some time.
    Reset,
    /// The client resets the connection within an answer.
    ResetWithin,
}

/// Longest wait between the pieces of what a client sends.
const MAX_GAP: Duration = Duration::from_millis(20);

/// Longest that a conversation may take, behind five others whose clients read slowly and whose workers are few.
const MAX_TIME: Duration = Duration::from_secs(30);

impl Conversation {
    pub(super) fn any(random: &mut Random) -> Self {
        let is_pipelined = random.chance(600);
        let mut requests =
            (0..random.size(1..=5)).map(|_| Asked::any(random, is_pipelined)).collect::<Vec<_>>();
        let ending = match random.within(0..=9) {
            0 => Ending::Silence,
            1 | 2 => Ending::HalfClose,
            3 => Ending::Close,
            4 => {
                requests.push(Asked::closing(random));
                let follows = random.pick(&["", "GET /Plain/0/0 HTTP/1.1\r\nHost: x\r\n\r\n", "no HTTP"]);
                Ending::Closing(follows.as_bytes().to_vec())
            }
            5 => {
                requests.push(Asked::ignored(random));
                Ending::Ignored
            }
            6 => {
                let (bytes, status) = *random.pick(REFUSED);
                Ending::Refused(bytes.as_bytes().to_vec(), status)
            }
            7 => Ending::CutShort(random.pick(CUT_SHORT).as_bytes().to_vec()),
            8 => Ending::Reset,
            _ => Ending::ResetWithin,
        };
        Self { requests, is_pipelined, ending }
    }

    /// The client that has this conversation, behind these bytes.
    pub(super) fn client(&self, random: &mut Random, greeting: &str) -> Client {
        let mut client = Client::connecting_at(Duration::from_millis(random.within(0..=50)))
            .send_cut(greeting, random, 3, MAX_GAP)
            .buffers(random.size(500..=200_000), random.size(2_000..=100_000))
            .reading(match random.within(0..=2) {
                0 => Reading::slow(
                    random.size(2_000..=60_000),
                    Duration::from_micros(random.within(1..=20_000)),
                ),
                _ => Reading::eager(),
            });
        if self.ending == Ending::ResetWithin {
            let bytes = self.requests.iter().map(|asked| asked.answer.len() + 100).sum();
            client = client.reset_after_reading(random.size(1..=bytes));
        }
        client =
            if self.is_pipelined { self.send_all(client, random) } else { self.send_in_turn(client, random) };
        match &self.ending {
            Ending::HalfClose => client.half_close(),
            Ending::Close if self.is_pipelined => client,
            Ending::Close => client.close(),
            Ending::CutShort(_) => client.half_close(),
            Ending::Reset => client.wait(Duration::from_micros(random.within(0..=50_000))).reset(),
            _ => client,
        }
    }

    fn last_words(&self) -> &[u8] {
        match &self.ending {
            Ending::Closing(bytes) | Ending::Refused(bytes, _) | Ending::CutShort(bytes) => bytes,
            _ => b"",
        }
    }

    fn send_all(&self, client: Client, random: &mut Random) -> Client {
        let requests = self.requests.iter().flat_map(|asked| asked.head.iter().chain(&asked.body).copied());
        let bytes = requests.chain(self.last_words().iter().copied()).collect::<Vec<_>>();
        let max_cuts = *random.pick(&[0, 2, 12]);
        client.send_cut(bytes, random, max_cuts, MAX_GAP)
    }

    fn send_in_turn(&self, mut client: Client, random: &mut Random) -> Client {
        let mut answers = 0;
        for (at, asked) in self.requests.iter().enumerate() {
            client = client.send_cut(asked.head.clone(), random, 3, MAX_GAP);
            if asked.expects_continue {
                answers += 1;
                client = client.await_answers(answers);
            }
            if !asked.body.is_empty() {
                client = client.send_cut(asked.body.clone(), random, 5, MAX_GAP);
            }
            answers += 1;
            let is_last = at + 1 == self.requests.len();
            if !is_last || matches!(self.ending, Ending::Close) {
                client = client.await_answers(answers);
            }
        }
        let last_words = self.last_words();
        if last_words.is_empty() { client } else { client.send_cut(last_words, random, 3, MAX_GAP) }
    }

    /// Checks what the client was told: each answer once, in order, with the right bytes, and the right end.
    pub(super) fn check(&self, transcript: &Transcript) {
        let (answered, refused) = self.check_answers(transcript);
        let statuses = refused.iter().map(|answer| answer.status).collect::<Vec<_>>();
        if matches!(self.ending, Ending::Reset | Ending::ResetWithin) {
            return;
        }
        let is_reset = matches!(transcript.end, Some(End::Reset(_)));
        if is_reset && matches!(&self.ending, Ending::Closing(follows) if !follows.is_empty()) {
            return;
        }
        assert_eq!(answered, self.expected().len(), "answers are missing: {}", self.describe());
        match &self.ending {
            Ending::Refused(_, status) => assert_eq!(statuses, [*status], "{}", self.describe()),
            Ending::CutShort(_) => assert_eq!(statuses, [400], "{}", self.describe()),
            _ => assert!(statuses.is_empty(), "{statuses:?}: {}", self.describe()),
        }
        assert!(!is_reset, "the connection was reset: {}", self.describe());
        self.check_time(transcript);
    }

    /// Checks that the server let nothing lie that it could have gone on with.
    fn check_time(&self, transcript: &Transcript) {
        let last = transcript.bytes.len().checked_sub(1).and_then(|last| transcript.arrived_at(last));
        let last = last.unwrap_or_default();
        assert!(last < MAX_TIME, "the last byte came at {last:?}: {}", self.describe());
        if self.ending == Ending::Close && !self.is_pipelined {
            return;
        }
        let Some(end) = transcript.end else { panic!("the connection was not closed: {}", self.describe()) };
        let closes_at_once = match &self.ending {
            Ending::HalfClose | Ending::Closing(_) | Ending::Refused(..) | Ending::CutShort(_) => true,
            Ending::Silence | Ending::Close | Ending::Ignored | Ending::Reset | Ending::ResetWithin => false,
        };
        let is_prompt = end.at() <= last + MAX_GAP * 15;
        assert!(
            is_prompt || !closes_at_once,
            "the end came at {end:?}, not at {last:?}: {}",
            self.describe()
        );
    }

    /// Checks the answers that the client has got, be they all or not: gives how many are right, and those of the others
    /// that may be there, the refusals.
    pub(super) fn check_answers(&self, transcript: &Transcript) -> (usize, Vec<Answer>) {
        let expected = self.expected();
        let answers = transcript.answers(|at| expected.get(at).is_some_and(|(_, _, is_head)| *is_head));
        let answers = answers.unwrap_or_else(|error| panic!("{error}\n{}", self.describe()));
        let mut answers = self.without_hints(answers);
        let refused = answers.split_off(expected.len().min(answers.len()));
        for (at, (answer, (status, body, is_head))) in answers.iter().zip(&expected).enumerate() {
            let is_right = answer.status == *status && (*is_head || answer.body == *body);
            let told = tell(answer);
            assert!(
                is_right,
                "answer {at} is {told}, not {status} with {} bytes\n{}",
                body.len(),
                self.describe()
            );
        }
        let may_be_refused = matches!(self.ending, Ending::Refused(..) | Ending::CutShort(_));
        assert!(refused.len() <= usize::from(may_be_refused), "more than was asked: {}", self.describe());
        (answers.len(), refused)
    }

    /// The answers without the hints, each of which must stand before the answer that it tells of.
    fn without_hints(&self, all: Vec<Answer>) -> Vec<Answer> {
        let expected = self.expected();
        let mut answers = Vec::new();
        for answer in all {
            if !answer.is_hint() {
                answers.push(answer);
                continue;
            }
            let of_answer = expected.get(answers.len()).map(|(_, body, _)| *body);
            let told = answer.field(HINT).map(str::as_bytes);
            assert!(
                told == of_answer,
                "a hint stands before answer {}: {}\n{}",
                answers.len(),
                tell(&answer),
                self.describe()
            );
        }
        answers
    }

    /// The answers that are due: status, body, and whether HEAD asks, so that the body is not sent.
    fn expected(&self) -> Vec<(u16, &[u8], bool)> {
        let mut expected = Vec::new();
        for asked in &self.requests {
            expected.extend(asked.expects_continue.then_some((100, &b""[..], false)));
            expected.push((asked.status, &asked.answer[..], asked.is_head));
        }
        expected
    }

    fn describe(&self) -> String {
        let mut text = format!("pipelined {}, ending {:?}\n", self.is_pipelined, self.ending);
        for Asked { head, body, answer, .. } in &self.requests {
            text.push_str(&format!("{} + {} -> {}\n", head.escape_ascii(), body.len(), answer.len()));
        }
        text
    }
}

impl Asked {
    fn any(random: &mut Random, is_pipelined: bool) -> Self {
        let kind = *random.pick(&[
            Kind::Plain,
            Kind::Plain,
            Kind::Blocking,
            Kind::Pinned,
            Kind::Hasty,
            Kind::Hinted,
            Kind::Hinted,
            Kind::Sized,
            Kind::Sized,
            Kind::Written,
            Kind::WrittenSized,
            Kind::File,
            Kind::File,
            Kind::Parts,
            Kind::Deferred,
            Kind::Echo,
            Kind::Adaptive,
            Kind::Streamed,
            Kind::Panicking,
        ]);
        Self::of(kind, random, is_pipelined)
    }

    fn of(kind: Kind, random: &mut Random, is_pipelined: bool) -> Self {
        let tag = random.within(1..=u64::from(u32::MAX));
        let size = match kind {
            Kind::Written | Kind::WrittenSized => random.size(0..=40_000),
            Kind::Hinted => random.size(0..=3),
            _ => *random.pick(&[0, 1, 100, 5_000, 17_000, 90_000]),
        };
        let is_head = is_pipelined && !kind.takes_body() && random.chance(100);
        let method = if kind.takes_body() {
            "POST"
        } else if is_head {
            "HEAD"
        } else {
            "GET"
        };
        let mut head = format!("{method} {} HTTP/1.1\r\nHost: x\r\n", kind.target(tag, size));
        let mut sent = Vec::new();
        let mut body = Vec::new();
        let mut expects_continue = false;
        if kind.takes_body() {
            body = pattern(tag, size);
            expects_continue = !is_pipelined && size > 0 && random.chance(300);
            if expects_continue {
                head.push_str("Expect: 100-continue\r\n");
            }
            sent = framed(&body, &mut head, random);
        }
        head.push_str("\r\n");
        let (status, answer) = kind.answer(tag, size, &body);
        Self { head: head.into_bytes(), body: sent, is_head, expects_continue, status, answer }
    }

    /// One with a body that its handler does not read.
    fn ignored(random: &mut Random) -> Self {
        let kind = *random.pick(&[Kind::Ignoring, Kind::Deferred]);
        let (tag, size) = (random.within(1..=1_000), *random.pick(&[0, 1, 5_000, 90_000]));
        let mut head = format!("POST {} HTTP/1.1\r\nHost: x\r\n", kind.target(tag, size));
        let body = framed(&pattern(tag, size), &mut head, random);
        head.push_str("\r\n");
        let (status, answer) = kind.answer(tag, size, b"");
        Self { head: head.into_bytes(), body, is_head: false, expects_continue: false, status, answer }
    }

    /// One behind which the server closes.
    fn closing(random: &mut Random) -> Self {
        let kind = *random.pick(&[
            Kind::Plain,
            Kind::Blocking,
            Kind::Sized,
            Kind::Written,
            Kind::File,
            Kind::Deferred,
        ]);
        let (tag, size) = (random.within(1..=1_000), random.size(0..=40_000));
        let rest = *random.pick(&["HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", "HTTP/1.0\r\n\r\n"]);
        let head = format!("GET {} {rest}", kind.target(tag, size)).into_bytes();
        let (status, answer) = kind.answer(tag, size, b"");
        Self { head, body: Vec::new(), is_head: false, expects_continue: false, status, answer }
    }
}

/// Requests that are refused, with their status.
const REFUSED: &[(&str, u16)] = &[
    ("GET / HTTP/1.1\r\n\r\n", 400),
    ("GET / HTTP/2.0\r\nHost: x\r\n\r\n", 505),
    ("POST /Echo/1/1 HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
    ("POST /Echo/1/1 HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", 501),
    ("POST /Echo/1/1 HTTP/1.1\r\nHost: x\r\nContent-Length: 9999999\r\n\r\nabcdef", 413),
    ("POST /Echo/1/1 HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabcd\r\n", 400),
    ("GET /Plain/1/1 HTTP/1.1\r\nHost: x\r\nExpect: miracles\r\n\r\n", 417),
    ("nonsense\r\n\r\n", 400),
];

/// Requests that break off.
const CUT_SHORT: &[&str] = &[
    "GET /Plain/1/1 HTTP/1.1\r\nHo",
    "G",
    "POST /Echo/1/1 HTTP/1.1\r\nHost: x\r\nContent-Length: 50\r\n\r\nabc",
    "POST /Echo/1/1 HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nab",
    "POST /Streamed/1/1 HTTP/1.1\r\nHost: x\r\nContent-Length: 50\r\n\r\nabc",
    "POST /Streamed/1/1 HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n",
];

/// A body as it is sent; its framing is added to the head.
fn framed(body: &[u8], head: &mut String, random: &mut Random) -> Vec<u8> {
    if random.chance(500) {
        head.push_str(&format!("Content-Length: {}\r\n", body.len()));
        body.to_vec()
    } else {
        head.push_str("Transfer-Encoding: chunked\r\n");
        chunked(body, random)
    }
}

fn chunked(body: &[u8], random: &mut Random) -> Vec<u8> {
    let mut sent = Vec::new();
    let mut rest = body;
    while !rest.is_empty() {
        let (chunk, behind) = rest.split_at(random.size(1..=rest.len()));
        sent.extend(format!("{:x}\r\n", chunk.len()).bytes());
        sent.extend_from_slice(chunk);
        sent.extend(b"\r\n");
        rest = behind;
    }
    sent.extend(b"0\r\n\r\n");
    sent
}

fn tell(answer: &Answer) -> String {
    let body = &answer.body[..answer.body.len().min(80)];
    format!("{} with {} bytes ({})", answer.status, answer.body.len(), body.escape_ascii())
}
