//! A small service and a client that reads answers by the letter.
#![allow(dead_code, reason = "each test binary uses a part of it")]

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use tayet_engine::{
    Address, Body, BodyError, BodyPart, BodyUse, Captures, Engine, EngineConfig, ExecutionModel, Head,
    IoDriver, Limits, Pin, Request, RequestBody, Response, Route, RouteId, Service,
};

/// Routes by path; each shows one way to answer.
pub(crate) struct Sample;

const PATHS: [&str; 18] = [
    "/",
    "/sleep",
    "/echo",
    "/upload",
    "/panic",
    "/defer",
    "/chunks",
    "/timeout",
    "/large",
    "/arrival",
    "/huge",
    "/endless",
    "/hours",
    "/nap",
    "/file",
    "/parts",
    "/sum",
    "/sum-in-time",
];

/// How many bodies of `/sum` and `/sum-in-time` broke off.
pub(crate) static BROKEN_OFF: AtomicUsize = AtomicUsize::new(0);

impl Service for Sample {
    fn routes(&self) -> Vec<Route> {
        let route = |path: &&str| Route {
            label: (*path).to_owned(),
            body: match *path {
                "/echo" => BodyUse::Buffered,
                "/upload" | "/sum" | "/sum-in-time" => BodyUse::Streamed,
                _ => BodyUse::Adaptive,
            },
            pin: (*path == "/nap").then_some(Pin::Inline),
            timeout_ms: ["/timeout", "/sum-in-time"].contains(path).then_some(100),
            ..Route::default()
        };
        PATHS.iter().map(route).collect()
    }

    fn find(&self, head: &Head, _: &mut Captures) -> RouteId {
        RouteId(PATHS.iter().position(|path| *path == head.path()).unwrap_or(0) as u32)
    }

    fn call(&self, request: &mut Request) -> Response {
        match request.path() {
            "/sleep" => {
                std::thread::sleep(Duration::from_millis(50));
                Response::new("slept")
            }
            // Long enough for the loop to be taken, each time, as the route is pinned.
            "/nap" => {
                std::thread::sleep(Duration::from_millis(5));
                Response::new("napped")
            }
            "/echo" => Response::new(request.bytes().unwrap()),
            "/upload" => {
                let (mut count, mut part) = (0, [0; 4_096]);
                loop {
                    match request.stream().read_some(&mut part) {
                        Ok(0) => return Response::new(count.to_string()),
                        Ok(length) => count += length,
                        Err(error) => return Response::new(error.to_string()).with_status(error.status()),
                    }
                }
            }
            "/sum" | "/sum-in-time" => {
                let room = request.query().map_or(4_096, |bytes| bytes.parse().unwrap());
                match sum_of(request.stream(), room) {
                    Ok(sum) => Response::new(sum.to_string()),
                    Err(error) => {
                        BROKEN_OFF.fetch_add(1, Ordering::SeqCst);
                        Response::new(error.to_string()).with_status(error.status())
                    }
                }
            }
            "/panic" => panic!("as asked"),
            "/defer" => {
                let responder = request.defer();
                std::thread::spawn(move || {
                    std::thread::sleep(Duration::from_millis(5));
                    responder.respond(Response::new("deferred"));
                });
                Response::default()
            }
            "/chunks" => Response::new(Body::from_writer(|out| {
                for n in 0..1_000 {
                    writeln!(out, "line {n}")?;
                }
                Ok(())
            })),
            "/timeout" => {
                std::thread::sleep(Duration::from_millis(600));
                Response::new("too late")
            }
            "/arrival" => {
                let is_whole = request.stream().is_whole();
                std::io::copy(request.stream(), &mut std::io::sink()).unwrap();
                Response::new(if is_whole { "whole" } else { "arriving" })
            }
            "/huge" => Response::new(vec![b'x'; 64 << 20]),
            "/file" => Response::new(Body::from_file(Arc::clone(&FILE), 0..FILE_BYTES as u64)),
            "/parts" => {
                let part = |range| BodyPart::File { file: Arc::clone(&FILE), range };
                let middle = BodyPart::Bytes("between".into());
                Response::new(Body::from_parts([part(100_000..900_000), middle, part(5..7)]))
            }
            "/endless" => Response::new(Body::from_writer(|out| {
                loop {
                    out.write_all(&[b'x'; 4_096])?;
                }
            })),
            "/hours" => {
                std::thread::sleep(Duration::from_secs(3_600));
                Response::default()
            }
            "/large" => Response::new(vec![b'x'; 4 << 20]),
            _ => Response::new("hello"),
        }
    }
}

/// Reads a body with so much room; its bytes are summed up so that it shows if one is lost, doubled or in the wrong place.
fn sum_of(body: &mut RequestBody, room: usize) -> Result<u64, BodyError> {
    let (mut sum, mut part) = (0, vec![0; room]);
    loop {
        match body.read_some(&mut part)? {
            0 => return Ok(sum),
            count => sum = part[..count].iter().fold(sum, add),
        }
    }
}

/// What `/sum` answers to these bytes.
pub(crate) fn sum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, add)
}

fn add(sum: u64, byte: &u8) -> u64 {
    sum.wrapping_mul(31).wrapping_add(u64::from(*byte))
}

/// The length of what `/file` answers: more than the kernel takes of a client that reads nothing.
pub(crate) const FILE_BYTES: usize = 1 << 20;

static FILE: LazyLock<Arc<File>> = LazyLock::new(|| {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(&file_content()).unwrap();
    Arc::new(file)
});

pub(crate) fn file_content() -> Vec<u8> {
    (0..FILE_BYTES).map(|at| (at * 7 + at / 251) as u8).collect()
}

/// How many loops a test has that does not care.
const LOOPS: usize = 2;

pub(crate) fn start(execution: ExecutionModel, limits: Limits) -> (Engine, SocketAddr) {
    start_with_loops(LOOPS, execution, limits)
}

pub(crate) fn start_with_loops(
    loops: usize,
    execution: ExecutionModel,
    limits: Limits,
) -> (Engine, SocketAddr) {
    let engine = start_engine(Address::Ip("127.0.0.1:0".parse().unwrap()), loops, execution, limits);
    let Address::Ip(address) = engine.addresses()[0] else { panic!("an IP address was asked for") };
    (engine, address)
}

pub(crate) fn start_at(address: Address, execution: ExecutionModel, limits: Limits) -> Engine {
    start_engine(address, LOOPS, execution, limits)
}

fn start_engine(address: Address, loops: usize, execution: ExecutionModel, limits: Limits) -> Engine {
    let listen = vec![address];
    let config = EngineConfig { listen, loops, execution, limits, io: io(), ..EngineConfig::default() };
    Engine::start(config, Arc::new(Sample)).unwrap()
}

/// What the tests run on, by the name of their binary.
fn io() -> IoDriver {
    if !module_path!().starts_with("io_uring::") {
        return IoDriver::Epoll;
    }
    match IoDriver::IoUring.open(1) {
        Ok(_) => IoDriver::IoUring,
        Err(error) => {
            eprintln!("SKIPPED on io_uring and run on epoll: {error}");
            IoDriver::Epoll
        }
    }
}

pub(crate) fn models() -> [ExecutionModel; 3] {
    [ExecutionModel::default(), ExecutionModel::ThreadPool { threads: 4 }, ExecutionModel::Inline]
}

pub(crate) fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_nodelay(true).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    stream
}

pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

pub(crate) fn read_answer(reader: &mut impl BufRead) -> Answer {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        assert_ne!(reader.read_line(&mut head).unwrap(), 0, "ended within a head: {head:?}");
    }
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    let lower = head.to_ascii_lowercase();
    let mut body = Vec::new();
    if let Some(length) = lower.split("content-length: ").nth(1) {
        let length = length.split("\r\n").next().unwrap().parse().unwrap();
        body.resize(length, 0);
        reader.read_exact(&mut body).unwrap();
    } else if lower.contains("transfer-encoding: chunked") {
        loop {
            let mut size = String::new();
            reader.read_line(&mut size).unwrap();
            let size = usize::from_str_radix(size.trim_end(), 16).unwrap();
            let at = body.len();
            body.resize(at + size, 0);
            reader.read_exact(&mut body[at..]).unwrap();
            reader.read_line(&mut String::new()).unwrap();
            if size == 0 {
                break;
            }
        }
    }
    Answer { status, head, body }
}

pub(crate) fn get<S: Read + Write>(reader: &mut BufReader<S>, path: &str) -> Answer {
    write!(reader.get_mut(), "GET {path} HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
    read_answer(reader)
}

pub(crate) fn text(answer: &Answer) -> &str {
    std::str::from_utf8(&answer.body).unwrap()
}
