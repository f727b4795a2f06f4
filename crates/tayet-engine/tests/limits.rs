//! The limits that show over real sockets only; the others have their tests beside what keeps them.

mod sample;

use std::io::{BufReader, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use sample::{connect, get, models, read_answer, start, text};
use tayet_engine::{ExecutionModel, Limits};

fn post(client: &mut BufReader<TcpStream>, path: &str, body: &[u8]) {
    let length = body.len();
    let head = format!("POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {length}\r\n\r\n");
    client.get_mut().write_all(&[head.as_bytes(), body].concat()).unwrap();
}

fn post_chunked(client: &mut BufReader<TcpStream>, path: &str, body: &[u8]) {
    let length = body.len();
    let head = format!("POST {path} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n{length:x}\r\n");
    client.get_mut().write_all(&[head.as_bytes(), body, b"\r\n0\r\n\r\n"].concat()).unwrap();
}

#[test]
fn max_body_bytes_refuses_a_known_length_before_it_comes_and_an_unknown_one_when_it_shows() {
    for model in models() {
        let (engine, address) =
            start(model, Limits { max_body_bytes: 10, linger_timeout_ms: 50, ..Limits::default() });
        let mut client = BufReader::new(connect(address));
        post(&mut client, "/echo", b"0123456789");
        assert_eq!(text(&read_answer(&mut client)), "0123456789", "{model}");
        write!(client.get_mut(), "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 11\r\n\r\n").unwrap();
        assert_eq!(read_answer(&mut client).status, 413, "{model}");
        let mut client = BufReader::new(connect(address));
        post_chunked(&mut client, "/echo", b"0123456789a");
        assert_eq!(read_answer(&mut client).status, 413, "{model}");
        engine.shutdown();
        engine.join();
    }
}

#[test]
fn max_stream_bytes_holds_for_streams() {
    for model in models() {
        let (engine, address) =
            start(model, Limits { max_stream_bytes: 100_000, linger_timeout_ms: 50, ..Limits::default() });
        let mut client = BufReader::new(connect(address));
        post(&mut client, "/upload", &[b'x'; 100_000]);
        assert_eq!(text(&read_answer(&mut client)), "100000", "{model}");
        write!(client.get_mut(), "POST /upload HTTP/1.1\r\nHost: x\r\nContent-Length: 100001\r\n\r\n")
            .unwrap();
        assert_eq!(read_answer(&mut client).status, 413, "{model}");
        let mut client = BufReader::new(connect(address));
        post_chunked(&mut client, "/upload", &[b'x'; 100_001]);
        let answer = read_answer(&mut client);
        assert_eq!((answer.status, text(&answer)), (413, "the body is larger than 100000 bytes"), "{model}");
        engine.shutdown();
        engine.join();
    }
}

#[test]
fn max_stream_bytes_holds_for_what_is_small_enough_to_be_waited_for() {
    let (engine, address) = start(
        ExecutionModel::default(),
        Limits { max_stream_bytes: 10, linger_timeout_ms: 50, ..Limits::default() },
    );
    for (length, status) in [(10, 200), (11, 413), (1_000, 413)] {
        let mut client = BufReader::new(connect(address));
        post_chunked(&mut client, "/arrival", &vec![b'x'; length]);
        assert_eq!(read_answer(&mut client).status, status, "{length} bytes");
    }
    engine.shutdown();
    engine.join();
}

#[test]
fn stream_threshold_bytes_decides_whether_a_plain_handler_waits_for_its_body() {
    let (engine, address) =
        start(ExecutionModel::default(), Limits { stream_threshold_bytes: 10, ..Limits::default() });
    for (length, expected) in [(10, "whole"), (11, "arriving")] {
        let mut client = BufReader::new(connect(address));
        write!(client.get_mut(), "POST /arrival HTTP/1.1\r\nHost: x\r\nContent-Length: {length}\r\n\r\n")
            .unwrap();
        client.get_mut().write_all(b"12345").unwrap();
        std::thread::sleep(Duration::from_millis(20));
        let rest = vec![b'x'; length - 5];
        client.get_mut().write_all(&rest).unwrap();
        assert_eq!(text(&read_answer(&mut client)), expected);
    }
    engine.shutdown();
    engine.join();
}

#[test]
fn coalesce_bytes_bounds_what_is_gathered_and_order_is_kept_beyond_it() {
    let (engine, address) =
        start(ExecutionModel::default(), Limits { coalesce_bytes: 64, ..Limits::default() });
    let mut client = BufReader::new(connect(address));
    let requests = "GET / HTTP/1.1\r\nHost: x\r\n\r\n".repeat(100);
    client.get_mut().write_all(requests.as_bytes()).unwrap();
    for _ in 0..100 {
        assert_eq!(text(&read_answer(&mut client)), "hello");
    }
    engine.shutdown();
    engine.join();
}

#[test]
fn max_connections_lets_the_next_wait_until_one_goes() {
    let (engine, address) =
        start(ExecutionModel::default(), Limits { max_connections: 2, ..Limits::default() });
    // The kernel spreads connections over the loops' listeners, so each loop may have one before it looks.
    let mut served = (0..2).map(|_| BufReader::new(connect(address))).collect::<Vec<_>>();
    for client in &mut served {
        assert_eq!(text(&get(client, "/")), "hello");
    }
    let mut waiting = (0..4).map(|_| BufReader::new(connect(address))).collect::<Vec<_>>();
    for client in &mut waiting {
        write!(client.get_mut(), "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
    }
    std::thread::sleep(Duration::from_millis(50));
    assert!(engine.metrics().connections_open <= 3, "{}", engine.metrics().connections_open);
    drop(served);
    for client in &mut waiting {
        assert_eq!(text(&read_answer(client)), "hello");
    }
    engine.shutdown();
    engine.join();
}

#[test]
fn write_stall_timeout_ms_cuts_a_client_that_reads_nothing() {
    for (model, path) in models().into_iter().flat_map(|model| [(model, "/huge"), (model, "/endless")]) {
        let (engine, address) = start(model, Limits { write_stall_timeout_ms: 200, ..Limits::default() });
        let mut stalled = connect(address);
        write!(stalled, "GET {path} HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
        let mut other = BufReader::new(connect(address));
        let began = Instant::now();
        while engine.metrics().connections_open > 1 || began.elapsed() < Duration::from_millis(50) {
            assert_eq!(text(&get(&mut other, "/")), "hello", "{model} {path}");
            assert!(began.elapsed() < Duration::from_secs(20), "{model} {path}: never cut");
        }
        // What the kernel had taken is still to be read, and then the connection is at its end.
        let mut rest = Vec::new();
        let _ = stalled.read_to_end(&mut rest);
        assert!(rest.len() < 64 << 20, "{model} {path}: all of it came");
        engine.shutdown();
        engine.join();
    }
}

#[test]
fn shutdown_deadline_ms_ends_the_wait_for_a_handler() {
    for model in [ExecutionModel::default(), ExecutionModel::ThreadPool { threads: 2 }] {
        let (engine, address) = start(model, Limits { shutdown_deadline_ms: 100, ..Limits::default() });
        let mut client = BufReader::new(connect(address));
        write!(client.get_mut(), "GET /hours HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
        while engine.metrics().connections_open == 0 {
            std::thread::yield_now();
        }
        std::thread::sleep(Duration::from_millis(20));
        engine.shutdown();
        engine.join();
        assert_eq!(client.read(&mut [0]).unwrap_or(0), 0, "{model}");
    }
}
