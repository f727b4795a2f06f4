//! The engine over real sockets: a small service, raw clients.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use tayet_engine::{
    Address, Body, BodyUse, Engine, EngineConfig, ExecutionModel, Head, Limits, Match, Request, Response,
    Route, RouteId, Service,
};

/// Routes by path; each shows one way to answer.
struct Sample;

const PATHS: [&str; 9] =
    ["/", "/sleep", "/echo", "/upload", "/panic", "/defer", "/chunks", "/timeout", "/large"];

impl Service for Sample {
    fn routes(&self) -> Vec<Route> {
        let route = |path: &&str| Route {
            label: (*path).to_owned(),
            body: match *path {
                "/echo" => BodyUse::Buffered,
                "/upload" => BodyUse::Streamed,
                _ => BodyUse::Adaptive,
            },
            timeout_ms: (*path == "/timeout").then_some(100),
            ..Route::default()
        };
        PATHS.iter().map(route).collect()
    }

    fn find(&self, head: &Head) -> Match {
        let at = PATHS.iter().position(|path| *path == head.path()).unwrap_or(0);
        Match { route: RouteId(at as u32), ..Match::default() }
    }

    fn call(&self, request: &mut Request) -> Response {
        match request.path() {
            "/sleep" => {
                std::thread::sleep(Duration::from_millis(50));
                Response::new("slept")
            }
            "/echo" => Response::new(request.bytes().unwrap()),
            "/upload" => {
                let mut sink = Vec::new();
                let count = request.stream().read_to_end(&mut sink).unwrap();
                Response::new(count.to_string())
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
            "/large" => Response::new(vec![b'x'; 4 << 20]),
            _ => Response::new("hello"),
        }
    }
}

fn start(execution: ExecutionModel, limits: Limits) -> (Engine, SocketAddr) {
    let listen = vec![Address::Ip("127.0.0.1:0".parse().unwrap())];
    let config = EngineConfig { listen, loops: 2, execution, limits, ..EngineConfig::default() };
    let engine = Engine::start(config, Arc::new(Sample)).unwrap();
    let Address::Ip(address) = engine.addresses()[0] else { panic!("an IP address was asked for") };
    (engine, address)
}

fn models() -> [ExecutionModel; 3] {
    [ExecutionModel::default(), ExecutionModel::ThreadPool { threads: 4 }, ExecutionModel::Inline]
}

fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_nodelay(true).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    stream
}

struct Answer {
    status: u16,
    head: String,
    body: Vec<u8>,
}

fn read_answer(reader: &mut impl BufRead) -> Answer {
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

fn get(reader: &mut BufReader<TcpStream>, path: &str) -> Answer {
    write!(reader.get_mut(), "GET {path} HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
    read_answer(reader)
}

fn text(answer: &Answer) -> &str {
    std::str::from_utf8(&answer.body).unwrap()
}

#[test]
fn every_model_serves_every_kind_of_answer() {
    for model in models() {
        let (engine, address) = start(model, Limits::default());
        let mut client = BufReader::new(connect(address));
        for round in 0..3 {
            assert_eq!(text(&get(&mut client, "/")), "hello", "{model} round {round}");
            assert_eq!(text(&get(&mut client, "/sleep")), "slept", "{model} round {round}");
            assert_eq!(text(&get(&mut client, "/defer")), "deferred", "{model} round {round}");
            assert_eq!(get(&mut client, "/panic").status, 500, "{model} round {round}");
            assert!(text(&get(&mut client, "/chunks")).ends_with("line 999\n"), "{model} round {round}");
            assert_eq!(get(&mut client, "/large").body.len(), 4 << 20, "{model} round {round}");
        }
        engine.shutdown();
        engine.join();
        assert_eq!(engine.metrics().panics, 3, "{model}");
    }
}

#[test]
fn pipelined_requests_are_answered_in_order_whoever_runs_them() {
    for model in models() {
        let (engine, address) = start(model, Limits::default());
        let mut client = BufReader::new(connect(address));
        let mut requests = String::new();
        for n in 0..50 {
            requests.push_str(&format!("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\n{n:04}"));
            requests.push_str("GET /defer HTTP/1.1\r\nHost: x\r\n\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n");
            requests.push_str(&format!(
                "POST /upload HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n{n:x}\r\n{}\r\n0\r\n\r\n",
                "y".repeat(n)
            ).replace("\r\n\r\n0\r\n\r\n0\r\n\r\n", "\r\n\r\n0\r\n\r\n"));
        }
        client.get_mut().write_all(requests.as_bytes()).unwrap();
        for n in 0..50 {
            assert_eq!(text(&read_answer(&mut client)), format!("{n:04}"), "{model}");
            assert_eq!(text(&read_answer(&mut client)), "deferred", "{model}");
            assert_eq!(text(&read_answer(&mut client)), "hello", "{model}");
            assert_eq!(text(&read_answer(&mut client)), n.to_string(), "{model}");
        }
        engine.shutdown();
        engine.join();
    }
}

#[test]
fn a_large_body_streams_with_backpressure_and_a_100_comes_when_it_is_wanted() {
    for model in models() {
        let (engine, address) = start(model, Limits { stream_buffer_bytes: 4_096, ..Limits::default() });
        let mut client = BufReader::new(connect(address));
        let length = 3 << 20;
        write!(
            client.get_mut(),
            "POST /upload HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: {length}\r\n\r\n"
        )
        .unwrap();
        assert_eq!(read_answer(&mut client).status, 100, "{model}");
        client.get_mut().write_all(&vec![b'z'; length]).unwrap();
        assert_eq!(text(&read_answer(&mut client)), length.to_string(), "{model}");
        assert_eq!(text(&get(&mut client, "/")), "hello", "{model}");
        engine.shutdown();
        engine.join();
    }
}

#[test]
fn a_blocked_handler_stalls_nobody_else() {
    let (engine, address) = start(ExecutionModel::default(), Limits::default());
    let sleepers = (0..8)
        .map(|_| {
            let mut client = BufReader::new(connect(address));
            write!(client.get_mut(), "GET /sleep HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
            client
        })
        .collect::<Vec<_>>();
    let mut client = BufReader::new(connect(address));
    for _ in 0..20 {
        assert_eq!(text(&get(&mut client, "/")), "hello");
    }
    for mut sleeper in sleepers {
        assert_eq!(text(&read_answer(&mut sleeper)), "slept");
    }
    assert!(engine.metrics().takeovers > 0);
    engine.shutdown();
    engine.join();
}

#[test]
fn a_handler_past_its_time_out_is_answered_for() {
    for model in [ExecutionModel::default(), ExecutionModel::ThreadPool { threads: 2 }] {
        let (engine, address) = start(model, Limits::default());
        let mut client = BufReader::new(connect(address));
        let answer = get(&mut client, "/timeout");
        assert_eq!(answer.status, 503, "{model}");
        assert!(answer.head.to_ascii_lowercase().contains("connection: close"), "{model}: {}", answer.head);
        assert_eq!(client.read(&mut [0]).unwrap(), 0, "{model}");
        engine.shutdown();
        engine.join();
    }
}

#[test]
fn a_full_queue_answers_503_and_says_when_to_come_back() {
    let limits = Limits { queue_capacity: 1, ..Limits::default() };
    let (engine, address) = start(ExecutionModel::ThreadPool { threads: 1 }, limits);
    let mut clients = (0..12).map(|_| BufReader::new(connect(address))).collect::<Vec<_>>();
    for client in &mut clients {
        write!(client.get_mut(), "GET /sleep HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
    }
    let answers = clients.iter_mut().map(read_answer).collect::<Vec<_>>();
    let (served, refused): (Vec<_>, Vec<_>) = answers.iter().partition(|answer| answer.status == 200);
    assert!(!served.is_empty() && !refused.is_empty());
    for answer in refused {
        assert_eq!(answer.status, 503);
        assert!(answer.head.to_ascii_lowercase().contains("retry-after: 1\r\n"), "{}", answer.head);
    }
    for client in &mut clients {
        assert_eq!(text(&get(client, "/")), "hello");
    }
    engine.shutdown();
    engine.join();
}

#[test]
fn slow_clients_are_cut_while_others_are_served() {
    let limits = Limits {
        head_timeout_ms: 200,
        receive_rate_window_ms: 400,
        keep_alive_timeout_ms: 600,
        ..Limits::default()
    };
    let (engine, address) = start(ExecutionModel::default(), limits);
    let mut dripped_head = BufReader::new(connect(address));
    dripped_head.get_mut().write_all(b"GET / HTTP/1.1\r\nHo").unwrap();
    let mut dripped_body = BufReader::new(connect(address));
    dripped_body
        .get_mut()
        .write_all(b"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 50\r\n\r\nabc")
        .unwrap();
    let mut client = BufReader::new(connect(address));
    assert_eq!(text(&get(&mut client, "/")), "hello");
    assert_eq!(read_answer(&mut dripped_head).status, 408);
    assert_eq!(read_answer(&mut dripped_body).status, 408);
    assert_eq!(client.read(&mut [0]).unwrap(), 0, "an idle connection is closed without a word");
    engine.shutdown();
    engine.join();
}

#[test]
fn shutdown_answers_what_is_under_way_and_closes_the_rest() {
    for model in models() {
        let (engine, address) = start(model, Limits::default());
        let mut busy = BufReader::new(connect(address));
        let mut idle = BufReader::new(connect(address));
        assert_eq!(text(&get(&mut idle, "/")), "hello");
        write!(busy.get_mut(), "GET /sleep HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
        std::thread::sleep(Duration::from_millis(20));
        engine.shutdown();
        assert_eq!(text(&read_answer(&mut busy)), "slept", "{model}");
        assert_eq!(busy.read(&mut [0]).unwrap(), 0, "{model}");
        assert_eq!(idle.read(&mut [0]).unwrap(), 0, "{model}");
        engine.join();
        assert!(TcpStream::connect(address).is_err(), "{model}");
    }
}
