//! Large bodies, which their handlers receive themselves.

mod sample;

use std::io::{BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use sample::{BROKEN_OFF, connect, file_content, get, models, read_answer, start, sum, text};
use tayet_engine::{ExecutionModel, Limits};

/// More than a body's pipe holds.
const LENGTH: usize = 4 << 20;

#[test]
fn every_byte_comes_once_however_it_is_sent_and_read() {
    let body = file_content().repeat(4);
    assert_eq!(body.len(), LENGTH);
    let expected = sum(&body).to_string();
    for model in models() {
        let (engine, address) = start(model, Limits::default());
        for (room, piece) in [(1_000, 70_000), (4_096, LENGTH), (40_000, 300_000), (LENGTH, 1_000_000)] {
            let mut client = BufReader::new(connect(address));
            begin(&mut client, &format!("/sum?{room}"));
            body.chunks(piece).for_each(|piece| client.get_mut().write_all(piece).unwrap());
            assert_eq!(text(&read_answer(&mut client)), expected, "{model}, {room}");
            assert_eq!(text(&get(&mut client, "/")), "hello", "{model}, {room}: the connection lives on");
        }
        engine.shutdown();
        engine.join();
    }
}

#[test]
fn what_is_sent_behind_a_body_is_the_next_request() {
    let body = file_content().repeat(4);
    let (engine, address) = start(ExecutionModel::default(), Limits::default());
    let mut client = BufReader::new(connect(address));
    let mut sender = client.get_ref().try_clone().unwrap();
    let expected = sum(&body).to_string();
    let sending = thread::spawn(move || {
        let head = format!("POST /sum HTTP/1.1\r\nHost: x\r\nContent-Length: {LENGTH}\r\n\r\n");
        let both = [head.as_bytes(), &body].concat();
        sender.write_all(&[&both[..], &both, b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"].concat()).unwrap();
    });
    assert_eq!(text(&read_answer(&mut client)), expected);
    assert_eq!(text(&read_answer(&mut client)), expected);
    assert_eq!(text(&read_answer(&mut client)), "hello");
    sending.join().unwrap();
    engine.shutdown();
    engine.join();
}

/// One test, since they count the same.
#[test]
fn a_body_that_breaks_off_ends_its_reading() {
    let limits = Limits { receive_rate_window_ms: 400, ..Limits::default() };
    let (engine, address) = start(ExecutionModel::ThreadPool { threads: 2 }, limits);
    let broken = || BROKEN_OFF.load(Ordering::SeqCst);

    drop(partial(address, "/sum"));
    wait_until(|| broken() == 1, "the client has gone");

    let mut client = partial(address, "/sum");
    let answer = read_answer(&mut client);
    assert_eq!((answer.status, broken()), (408, 2), "the client is too slow");

    let mut client = partial(address, "/sum-in-time");
    assert_eq!(read_answer(&mut client).status, 503, "the time for it is over");
    wait_until(|| broken() == 3, "nobody waits for the answer");
    assert_eq!(client.read(&mut [0]).unwrap(), 0);

    let mut client = BufReader::new(connect(address));
    assert_eq!(text(&get(&mut client, "/")), "hello", "no thread is lost");
    engine.shutdown();
    engine.join();
}

fn begin(client: &mut BufReader<TcpStream>, target: &str) {
    let head = format!("POST {target} HTTP/1.1\r\nHost: x\r\nContent-Length: {LENGTH}\r\n\r\n");
    client.get_mut().write_all(head.as_bytes()).unwrap();
}

/// A client that sends a part of its body and no more.
fn partial(address: SocketAddr, target: &str) -> BufReader<TcpStream> {
    let mut client = BufReader::new(connect(address));
    begin(&mut client, target);
    client.get_mut().write_all(&[b'x'; 1_000]).unwrap();
    client
}

fn wait_until(is_so: impl Fn() -> bool, what: &str) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < Duration::from_secs(30), "{what}, and its handler does not learn of it");
        thread::sleep(Duration::from_millis(5));
    }
}
