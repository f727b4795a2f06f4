//! The driver through real sockets of the loopback interface.

use std::io::{Read, Write};
use std::net::{self as std_net, SocketAddr, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use super::*;
use crate::Address;

/// Longest that a test waits for what must come.
const PATIENCE: Duration = Duration::from_secs(20);

/// How long a test looks for what must not come.
const SILENCE: Duration = Duration::from_millis(20);

const TOKEN: Token = Token { index: 0, generation: 0 };
const OTHER: Token = Token { index: 1, generation: 0 };

fn listening() -> (Epoll, SocketAddr) {
    let mut driver = Epoll::new().unwrap();
    let listener = Listener::bind(&"127.0.0.1:0".parse().unwrap(), false).unwrap();
    let Address::Ip(address) = *listener.address() else { panic!("an IP address was asked for") };
    driver.listen(0, Arc::new(listener)).unwrap();
    (driver, address)
}

/// A driver with one connection, and its client.
fn connected() -> (Epoll, TcpStream) {
    let (mut driver, address) = listening();
    let client = connect(&mut driver, address, TOKEN);
    (driver, client)
}

fn connect(driver: &mut Epoll, address: SocketAddr, token: Token) -> TcpStream {
    let client = TcpStream::connect(address).unwrap();
    client.set_read_timeout(Some(PATIENCE)).unwrap();
    match next(driver) {
        Completion::Accepted { listener: 0, peer } => {
            assert_eq!(peer, PeerAddress::Ip(client.local_addr().unwrap()));
        }
        other => panic!("{other:?}"),
    }
    driver.attach(token).unwrap();
    client
}

/// The next completion, waited for.
fn next(driver: &mut Epoll) -> Completion {
    let deadline = Moment::now() + PATIENCE;
    loop {
        if let Some(completion) = driver.next() {
            return completion;
        }
        assert!(Moment::now() < deadline, "nothing came");
        driver.wait(Some(PATIENCE)).unwrap();
    }
}

#[track_caller]
fn assert_silent(driver: &mut Epoll) {
    let end = Moment::now() + SILENCE;
    while Moment::now() < end {
        if let Some(completion) = driver.next() {
            panic!("{completion:?} came");
        }
        driver.wait(Some(SILENCE)).unwrap();
    }
}

#[track_caller]
fn assert_received(driver: &mut Epoll, token: Token, bytes: &[u8]) {
    match next(driver) {
        Completion::Received(from) => assert_eq!((from, driver.received()), (token, bytes)),
        other => panic!("{other:?}"),
    }
}

/// Receives up to the end of the peer's sending direction.
fn receive_to_end(driver: &mut Epoll, token: Token) -> Vec<u8> {
    let mut bytes = Vec::new();
    loop {
        match next(driver) {
            Completion::Received(from) if from == token => {
                assert!((1..=RECEIVE_BYTES).contains(&driver.received().len()));
                bytes.extend_from_slice(driver.received());
            }
            Completion::Ended(from) if from == token => return bytes,
            other => panic!("{other:?}"),
        }
    }
}

fn pattern(length: usize) -> Vec<u8> {
    (0..length).map(|at| (at * 7 + at / 251) as u8).collect()
}

/// Sends from a thread, in pieces of these sizes over and over, then ends.
fn send_in_pieces(
    mut client: TcpStream,
    bytes: Vec<u8>,
    sizes: &'static [usize],
) -> thread::JoinHandle<TcpStream> {
    thread::spawn(move || {
        let mut rest = &bytes[..];
        for size in sizes.iter().cycle() {
            let (piece, behind) = rest.split_at((*size).min(rest.len()));
            client.write_all(piece).unwrap();
            rest = behind;
            if rest.is_empty() {
                break;
            }
        }
        client.shutdown(std_net::Shutdown::Write).unwrap();
        client
    })
}

/// Sends until the kernel takes no more, so that a send is under way.
fn fill(driver: &mut Epoll, token: Token, bytes: &[u8]) -> usize {
    let mut outgoing = Outgoing { head: Vec::new(), tail: bytes.to_vec().into(), sent: 0 };
    loop {
        let sent = outgoing.sent;
        match driver.send(token, outgoing) {
            Submitted::Done(back, Ok(_)) => outgoing = back,
            Submitted::Done(_, Err(error)) => panic!("{error}"),
            Submitted::Pending => return sent,
        }
    }
}

#[test]
fn an_end_right_behind_the_last_bytes_is_told_behind_them() {
    let (mut driver, address) = listening();
    for generation in 0..200 {
        let token = Token { index: 0, generation };
        let mut client = connect(&mut driver, address, token);
        client.write_all(b"abc").unwrap();
        client.shutdown(std_net::Shutdown::Write).unwrap();
        assert_eq!(receive_to_end(&mut driver, token), b"abc");
        driver.detach(token);
    }
    assert_silent(&mut driver);
}

#[test]
fn an_end_is_told_once_and_the_other_direction_lives_on() {
    let (mut driver, mut client) = connected();
    client.shutdown(std_net::Shutdown::Write).unwrap();
    assert!(matches!(next(&mut driver), Completion::Ended(TOKEN)));
    driver.set_receiving(TOKEN, false);
    driver.set_receiving(TOKEN, true);
    assert_silent(&mut driver);
    let outgoing = Outgoing { head: b"head".to_vec(), tail: "tail".into(), sent: 0 };
    assert!(matches!(driver.send(TOKEN, outgoing), Submitted::Done(_, Ok(8))));
    driver.shutdown_send(TOKEN);
    let mut text = String::new();
    client.read_to_string(&mut text).unwrap();
    assert_eq!(text, "headtail");
}

#[test]
fn bursts_of_any_size_arrive_whole() {
    for length in [1, RECEIVE_BYTES - 1, RECEIVE_BYTES, RECEIVE_BYTES + 1, 2 * RECEIVE_BYTES, 3_000_000] {
        let (mut driver, client) = connected();
        let sender = send_in_pieces(client, pattern(length), &[usize::MAX]);
        assert!(receive_to_end(&mut driver, TOKEN) == pattern(length), "{length} bytes");
        sender.join().unwrap();
    }
}

#[test]
fn what_comes_after_a_full_read_is_a_new_edge() {
    let (mut driver, mut client) = connected();
    let mut received = Vec::new();
    client.write_all(&pattern(RECEIVE_BYTES)).unwrap();
    while received.len() < RECEIVE_BYTES {
        assert!(matches!(next(&mut driver), Completion::Received(TOKEN)));
        received.extend_from_slice(driver.received());
    }
    assert_silent(&mut driver);
    client.write_all(b"more").unwrap();
    assert_received(&mut driver, TOKEN, b"more");
}

#[test]
fn what_comes_while_receiving_is_paused_stays_until_it_is_resumed() {
    let (mut driver, mut client) = connected();
    driver.set_receiving(TOKEN, false);
    client.write_all(b"abc").unwrap();
    assert_silent(&mut driver);
    driver.set_receiving(TOKEN, true);
    assert_received(&mut driver, TOKEN, b"abc");

    driver.set_receiving(TOKEN, false);
    client.write_all(b"def").unwrap();
    client.shutdown(std_net::Shutdown::Write).unwrap();
    assert_silent(&mut driver);
    driver.set_receiving(TOKEN, true);
    assert_eq!(receive_to_end(&mut driver, TOKEN), b"def");
}

#[test]
fn pausing_within_a_burst_loses_nothing() {
    let (mut driver, client) = connected();
    let length = 4_000_000;
    let sender = send_in_pieces(client, pattern(length), &[1, 100_000, 7, 65_536, 3_000]);
    let mut received = Vec::new();
    loop {
        match next(&mut driver) {
            Completion::Received(TOKEN) => received.extend_from_slice(driver.received()),
            Completion::Ended(TOKEN) => break,
            other => panic!("{other:?}"),
        }
        driver.set_receiving(TOKEN, false);
        driver.wait(Some(Duration::ZERO)).unwrap();
        assert!(driver.next().is_none(), "something came while receiving was paused");
        driver.set_receiving(TOKEN, true);
    }
    assert!(received == pattern(length));
    sender.join().unwrap();
}

#[test]
fn a_send_without_room_finishes_when_there_is_some() {
    let (mut driver, mut client) = connected();
    let bytes = pattern(16_000_000);
    let mut sent = fill(&mut driver, TOKEN, &bytes);
    assert!(sent > 0);
    assert_silent(&mut driver);
    let reader = thread::spawn({
        let length = bytes.len();
        move || {
            let mut received = vec![0; length];
            client.read_exact(&mut received).unwrap();
            received
        }
    });
    while sent < bytes.len() {
        match next(&mut driver) {
            Completion::Sent(TOKEN, outgoing, Ok(count)) => {
                assert!(count > 0);
                sent += count;
                assert_eq!(outgoing.sent, sent);
                sent = if outgoing.remaining() > 0 { sent + resend(&mut driver, outgoing) } else { sent };
            }
            other => panic!("{other:?}"),
        }
    }
    assert!(reader.join().unwrap() == bytes);
}

/// Goes on with a send; gives how much more was sent at once.
fn resend(driver: &mut Epoll, mut outgoing: Outgoing) -> usize {
    let before = outgoing.sent;
    while outgoing.remaining() > 0 {
        let sent = outgoing.sent;
        match driver.send(TOKEN, outgoing) {
            Submitted::Done(back, Ok(_)) => outgoing = back,
            Submitted::Done(_, Err(error)) => panic!("{error}"),
            Submitted::Pending => return sent - before,
        }
    }
    outgoing.sent - before
}

#[test]
fn a_peer_that_resets_breaks_the_connection_and_the_send_under_way() {
    let (mut driver, client) = connected();
    fill(&mut driver, TOKEN, &pattern(16_000_000));
    rustix::net::sockopt::set_socket_linger(&client, Some(Duration::ZERO)).unwrap();
    drop(client);
    let mut has_broken = false;
    let mut has_failed = false;
    while !(has_broken && has_failed) {
        match next(&mut driver) {
            // Whichever of both comes first gets the error, and the other an end.
            Completion::Broken(TOKEN, _) | Completion::Ended(TOKEN) => has_broken = true,
            Completion::Sent(TOKEN, _, Err(_)) => has_failed = true,
            other => panic!("{other:?}"),
        }
    }
    assert_silent(&mut driver);
}

#[test]
fn detaching_closes_though_others_hold_the_socket() {
    let (mut driver, mut client) = connected();
    let socket = driver.socket(TOKEN).unwrap();
    driver.detach(TOKEN);
    assert_eq!(client.read(&mut [0]).unwrap(), 0);
    assert!(socket.send(b"x", b"").is_err());
    let _ = client.write_all(b"abc");
    assert_silent(&mut driver);
}

#[test]
fn a_detached_connection_completes_nothing_more() {
    let (mut driver, mut client) = connected();
    fill(&mut driver, TOKEN, &pattern(16_000_000));
    client.write_all(b"abc").unwrap();
    driver.wait(Some(PATIENCE)).unwrap();
    driver.detach(TOKEN);
    let _ = client.read_to_end(&mut Vec::new());
    assert_silent(&mut driver);
}

#[test]
fn an_event_for_one_that_was_detached_meanwhile_is_not_told() {
    let (mut driver, address) = listening();
    let mut clients = [TOKEN, OTHER].map(|token| connect(&mut driver, address, token));
    assert_silent(&mut driver);
    clients.iter_mut().for_each(|client| client.write_all(b"abc").unwrap());
    let (first, second) = match next(&mut driver) {
        Completion::Received(TOKEN) => (TOKEN, OTHER),
        Completion::Received(OTHER) => (OTHER, TOKEN),
        other => panic!("{other:?}"),
    };
    driver.detach(second);
    assert_silent(&mut driver);
    driver.detach(first);
}

#[test]
fn a_token_of_an_earlier_connection_does_nothing() {
    let (mut driver, address) = listening();
    let first = connect(&mut driver, address, TOKEN);
    driver.detach(TOKEN);
    drop(first);
    let newer = Token { generation: 1, ..TOKEN };
    let mut client = connect(&mut driver, address, newer);
    driver.set_receiving(TOKEN, false);
    driver.shutdown_send(TOKEN);
    driver.detach(TOKEN);
    assert!(driver.socket(TOKEN).is_none());
    let outgoing = Outgoing { head: b"x".to_vec(), ..Outgoing::default() };
    assert!(matches!(driver.send(TOKEN, outgoing), Submitted::Done(_, Err(_))));
    client.write_all(b"abc").unwrap();
    assert_received(&mut driver, newer, b"abc");
    let outgoing = Outgoing { head: b"y".to_vec(), ..Outgoing::default() };
    assert!(matches!(driver.send(newer, outgoing), Submitted::Done(_, Ok(1))));
}

#[test]
fn a_client_that_floods_does_not_keep_others_from_their_turn() {
    let (mut driver, address) = listening();
    let mut flooding = connect(&mut driver, address, TOKEN);
    let mut modest = connect(&mut driver, address, OTHER);
    assert_silent(&mut driver);
    let socket = &driver.source(TOKEN).unwrap().socket.0;
    rustix::net::sockopt::set_socket_recv_buffer_size(socket, 16 * RECEIVE_BYTES).unwrap();
    flooding.set_nonblocking(true).unwrap();
    while flooding.write(&pattern(RECEIVE_BYTES)).is_ok() {}
    assert!(matches!(next(&mut driver), Completion::Received(TOKEN)));
    assert_eq!(driver.received().len(), RECEIVE_BYTES, "there is more");
    modest.write_all(b"abc").unwrap();
    assert_received(&mut driver, OTHER, b"abc");
}

#[test]
fn more_connections_than_one_turn_takes_are_all_accepted() {
    let (mut driver, address) = listening();
    let clients = (0..3 * ACCEPTS_A_TURN).map(|_| TcpStream::connect(address).unwrap()).collect::<Vec<_>>();
    for index in 0..clients.len() {
        assert!(matches!(next(&mut driver), Completion::Accepted { .. }));
        driver.attach(Token { index: index as u32, generation: 0 }).unwrap();
    }
    assert_silent(&mut driver);
}

#[test]
fn a_connection_that_is_not_attached_is_closed() {
    let (mut driver, address) = listening();
    let mut client = TcpStream::connect(address).unwrap();
    client.set_read_timeout(Some(PATIENCE)).unwrap();
    assert!(matches!(next(&mut driver), Completion::Accepted { .. }));
    assert!(driver.next().is_none());
    assert_eq!(client.read(&mut [0]).unwrap(), 0);
    assert!(driver.attach(TOKEN).is_err());
}

#[test]
fn accepting_pauses_resumes_and_stops() {
    let (mut driver, address) = listening();
    for generation in 0..3 {
        driver.set_accepting(false);
        let client = TcpStream::connect(address).unwrap();
        assert_silent(&mut driver);
        driver.set_accepting(true);
        assert!(matches!(next(&mut driver), Completion::Accepted { .. }));
        let token = Token { index: 0, generation };
        driver.attach(token).unwrap();
        driver.detach(token);
        drop(client);
    }
    driver.stop_accepting();
    assert!(TcpStream::connect(address).is_err());
    assert_silent(&mut driver);
}

#[test]
fn listeners_of_all_kinds_say_who_they_are() {
    let path = std::env::temp_dir().join(format!("tayet-epoll-{}.sock", std::process::id()));
    let mut driver = Epoll::new().unwrap();
    let unix = Listener::bind(&Address::Unix(path.clone()), false).unwrap();
    let ip = Listener::bind(&"127.0.0.1:0".parse().unwrap(), false).unwrap();
    let Address::Ip(address) = *ip.address() else { panic!("an IP address was asked for") };
    driver.listen(5, Arc::new(unix)).unwrap();
    driver.listen(9, Arc::new(ip)).unwrap();
    let _unix = std::os::unix::net::UnixStream::connect(&path).unwrap();
    assert!(matches!(next(&mut driver), Completion::Accepted { listener: 5, peer: PeerAddress::Unix }));
    let _ip = TcpStream::connect(address).unwrap();
    assert!(matches!(next(&mut driver), Completion::Accepted { listener: 9, peer: PeerAddress::Ip(_) }));
}

#[test]
fn a_wake_ends_the_wait_under_way_or_the_next() {
    let mut driver = Epoll::new().unwrap();
    let waker = driver.waker();
    waker.wake();
    driver.wait(None).unwrap();
    assert!(driver.next().is_none());
    let waking = thread::spawn(move || waker.wake());
    driver.wait(None).unwrap();
    waking.join().unwrap();
}

#[test]
fn no_wake_is_lost_among_many() {
    const WAKERS: usize = 4;
    const WAKES: usize = 5_000;
    let mut driver = Epoll::new().unwrap();
    let done = Arc::new(AtomicUsize::new(0));
    let wakers = (0..WAKERS).map(|_| {
        let (waker, done) = (driver.waker(), Arc::clone(&done));
        thread::spawn(move || {
            for _ in 0..WAKES {
                done.fetch_add(1, Ordering::SeqCst);
                waker.wake();
            }
        })
    });
    let wakers = wakers.collect::<Vec<_>>();
    // Each count is followed by a wake, so that nobody sleeps before the last.
    while done.load(Ordering::SeqCst) < WAKERS * WAKES {
        driver.wait(None).unwrap();
        assert!(driver.next().is_none());
    }
    wakers.into_iter().for_each(|waker| waker.join().unwrap());
}

#[test]
fn a_wait_ends_when_its_time_is_up() {
    let mut driver = Epoll::new().unwrap();
    let before = Moment::now();
    driver.wait(Some(SILENCE)).unwrap();
    assert!(Moment::now().since(before) >= SILENCE);
    driver.wait(Some(Duration::ZERO)).unwrap();
}

#[test]
fn a_socket_waits_for_room_and_no_longer_than_it_may() {
    let (mut driver, mut client) = connected();
    let socket = driver.socket(TOKEN).unwrap();
    fill(&mut driver, TOKEN, &pattern(16_000_000));
    assert_eq!(socket.send(b"x", b"").unwrap_err().kind(), io::ErrorKind::WouldBlock);
    assert_eq!(socket.wait_writable(SILENCE).unwrap_err().kind(), io::ErrorKind::TimedOut);
    let reader = thread::spawn(move || {
        let mut part = vec![0; 1 << 20];
        while client.read(&mut part).is_ok_and(|count| count > 0) {}
    });
    socket.wait_writable(PATIENCE).unwrap();
    socket.shutdown();
    reader.join().unwrap();
}
