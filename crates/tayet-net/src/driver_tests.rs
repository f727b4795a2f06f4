//! What every driver does, through real sockets of the loopback interface: one table of tests for all of them.

use std::io::{self, Read, Write};
use std::net::{self as std_net, SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use crate::{
    Address, Completion, Driver, Epoll, IoUring, Listener, Moment, Outgoing, PeerAddress, Submitted, Token,
    epoll, io_uring,
};

/// A driver that the tests are run on.
pub(crate) trait Subject: Driver + Sized {
    /// Most bytes that one completion brings.
    const RECEIVE_BYTES: usize;

    /// Most completions of one connection that come before another's that is ready.
    const BURST: usize;

    fn open() -> Self;

    /// Why the kernel gives none.
    fn refusal() -> Option<String>;
}

impl Subject for Epoll {
    const RECEIVE_BYTES: usize = epoll::RECEIVE_BYTES;
    const BURST: usize = 1;

    fn open() -> Self {
        Self::new().unwrap()
    }

    fn refusal() -> Option<String> {
        None
    }
}

impl Subject for IoUring {
    const RECEIVE_BYTES: usize = io_uring::RECEIVE_BUFFER_BYTES;
    const BURST: usize = io_uring::MOST_RECEIVE_BUFFERS as usize;

    fn open() -> Self {
        Self::new().unwrap()
    }

    fn refusal() -> Option<String> {
        Self::new().err().map(|unavailable| unavailable.to_string())
    }
}

macro_rules! on_every_driver {
    ($($test:ident),* $(,)?) => {
        mod on_epoll {
            $(#[test] fn $test() { super::run::<crate::Epoll>(super::$test::<crate::Epoll>); })*
        }

        mod on_io_uring {
            $(#[test] fn $test() { super::run::<crate::IoUring>(super::$test::<crate::IoUring>); })*
        }
    };
}

fn run<D: Subject>(test: fn()) {
    match D::refusal() {
        None => test(),
        Some(reason) => eprintln!("SKIPPED, as the kernel refuses the driver: {reason}"),
    }
}

on_every_driver!(
    an_end_right_behind_the_last_bytes_is_told_behind_them,
    an_end_is_told_once_and_the_other_direction_lives_on,
    bursts_of_any_size_arrive_whole,
    what_comes_after_a_full_read_is_a_new_edge,
    what_comes_while_receiving_is_paused_stays_until_it_is_resumed,
    pausing_within_a_burst_loses_nothing,
    what_comes_while_receiving_is_lent_is_for_those_who_have_it,
    a_send_without_room_finishes_when_there_is_some,
    a_peer_that_resets_breaks_the_connection_and_the_send_under_way,
    room_that_is_waited_for_is_told_once,
    room_is_told_to_whoever_drives_by_then,
    room_that_there_is_already_is_told_at_once,
    a_peer_that_resets_ends_the_wait_for_room,
    detaching_closes_though_others_hold_the_socket,
    a_detached_connection_completes_nothing_more,
    an_event_for_one_that_was_detached_meanwhile_is_not_told,
    a_token_of_an_earlier_connection_does_nothing,
    a_client_that_floods_does_not_keep_others_from_their_turn,
    more_connections_than_one_turn_takes_are_all_accepted,
    a_connection_that_is_not_attached_is_closed,
    accepting_pauses_resumes_and_stops,
    listeners_of_all_kinds_say_who_they_are,
    a_wake_ends_the_wait_under_way_or_the_next,
    no_wake_is_lost_among_many,
    a_wait_ends_when_its_time_is_up,
    a_socket_waits_for_room_and_no_longer_than_it_may,
);

/// Longest that a test waits for what must come.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// How long a test looks for what must not come.
pub(crate) const SILENCE: Duration = Duration::from_millis(20);

pub(crate) const TOKEN: Token = Token { index: 0, generation: 0 };
pub(crate) const OTHER: Token = Token { index: 1, generation: 0 };

pub(crate) fn listening<D: Subject>() -> (D, SocketAddr) {
    let mut driver = D::open();
    let listener = Listener::bind(&"127.0.0.1:0".parse().unwrap(), false).unwrap();
    let Address::Ip(address) = *listener.address() else { panic!("an IP address was asked for") };
    driver.listen(0, Arc::new(listener)).unwrap();
    (driver, address)
}

/// A driver with one connection, and its client.
pub(crate) fn connected<D: Subject>() -> (D, TcpStream) {
    let (mut driver, address) = listening::<D>();
    let client = connect(&mut driver, address, TOKEN);
    (driver, client)
}

pub(crate) fn connect(driver: &mut impl Driver, address: SocketAddr, token: Token) -> TcpStream {
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
pub(crate) fn next(driver: &mut impl Driver) -> Completion {
    next_within(driver, PATIENCE).expect("nothing came")
}

/// The next completion, if one comes in this time.
pub(crate) fn next_within(driver: &mut impl Driver, time: Duration) -> Option<Completion> {
    let end = Moment::now() + time;
    while Moment::now() < end {
        if let Some(completion) = driver.next() {
            return Some(completion);
        }
        driver.wait(Some(time)).unwrap();
    }
    None
}

#[track_caller]
pub(crate) fn assert_silent(driver: &mut impl Driver) {
    if let Some(completion) = next_within(driver, SILENCE) {
        panic!("{completion:?} came");
    }
}

#[track_caller]
pub(crate) fn assert_received(driver: &mut impl Driver, token: Token, bytes: &[u8]) {
    match next(driver) {
        Completion::Received(from, _) => assert_eq!((from, driver.received()), (token, bytes)),
        other => panic!("{other:?}"),
    }
}

/// Receives up to the end of the peer's sending direction.
pub(crate) fn receive_to_end<D: Subject>(driver: &mut D, token: Token) -> Vec<u8> {
    let mut bytes = Vec::new();
    loop {
        match next(driver) {
            Completion::Received(from, _) if from == token => {
                assert!((1..=D::RECEIVE_BYTES).contains(&driver.received().len()));
                bytes.extend_from_slice(driver.received());
            }
            Completion::Ended(from) if from == token => return bytes,
            other => panic!("{other:?}"),
        }
    }
}

pub(crate) fn pattern(length: usize) -> Vec<u8> {
    (0..length).map(|at| (at * 7 + at / 251) as u8).collect()
}

/// Sends from a thread, in pieces of these sizes over and over, then ends.
pub(crate) fn send_in_pieces(
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
pub(crate) fn fill(driver: &mut impl Driver, token: Token, bytes: &[u8]) -> usize {
    let mut outgoing = Outgoing { head: Vec::new(), tail: bytes.to_vec().into(), sent: 0 };
    loop {
        let sent = outgoing.sent;
        match driver.send(token, &mut outgoing) {
            Submitted::Done(Ok(_)) => {}
            Submitted::Done(Err(error)) => panic!("{error}"),
            Submitted::Pending => match next_within(driver, SILENCE) {
                Some(Completion::Sent(from, back, Ok(_))) if from == token => outgoing = *back,
                Some(other) => panic!("{other:?}"),
                None => return sent,
            },
        }
    }
}

/// Sends once, and waits for what comes of it.
pub(crate) fn send(driver: &mut impl Driver, token: Token, mut outgoing: Outgoing) -> io::Result<usize> {
    match driver.send(token, &mut outgoing) {
        Submitted::Done(result) => result,
        Submitted::Pending => match next(driver) {
            Completion::Sent(from, _, result) if from == token => result,
            other => panic!("{other:?}"),
        },
    }
}

fn an_end_right_behind_the_last_bytes_is_told_behind_them<D: Subject>() {
    let (mut driver, address) = listening::<D>();
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

fn an_end_is_told_once_and_the_other_direction_lives_on<D: Subject>() {
    let (mut driver, mut client) = connected::<D>();
    client.shutdown(std_net::Shutdown::Write).unwrap();
    assert!(matches!(next(&mut driver), Completion::Ended(TOKEN)));
    driver.set_receiving(TOKEN, false);
    driver.set_receiving(TOKEN, true);
    assert_silent(&mut driver);
    let outgoing = Outgoing { head: b"head".to_vec(), tail: "tail".into(), sent: 0 };
    assert_eq!(send(&mut driver, TOKEN, outgoing).unwrap(), 8);
    driver.shutdown_send(TOKEN);
    let mut text = String::new();
    client.read_to_string(&mut text).unwrap();
    assert_eq!(text, "headtail");
}

fn bursts_of_any_size_arrive_whole<D: Subject>() {
    let full = D::RECEIVE_BYTES;
    for length in [1, full - 1, full, full + 1, 2 * full, 3_000_000, 16_000_000] {
        let (mut driver, client) = connected::<D>();
        let sender = send_in_pieces(client, pattern(length), &[usize::MAX]);
        assert!(receive_to_end(&mut driver, TOKEN) == pattern(length), "{length} bytes");
        sender.join().unwrap();
    }
}

fn what_comes_after_a_full_read_is_a_new_edge<D: Subject>() {
    let (mut driver, mut client) = connected::<D>();
    let mut received = Vec::new();
    client.write_all(&pattern(D::RECEIVE_BYTES)).unwrap();
    while received.len() < D::RECEIVE_BYTES {
        assert!(matches!(next(&mut driver), Completion::Received(TOKEN, _)));
        received.extend_from_slice(driver.received());
    }
    assert_silent(&mut driver);
    client.write_all(b"more").unwrap();
    assert_received(&mut driver, TOKEN, b"more");
}

fn what_comes_while_receiving_is_paused_stays_until_it_is_resumed<D: Subject>() {
    let (mut driver, mut client) = connected::<D>();
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

fn what_comes_while_receiving_is_lent_is_for_those_who_have_it<D: Subject>() {
    let (mut driver, mut client) = connected::<D>();
    client.write_all(b"before").unwrap();
    assert_received(&mut driver, TOKEN, b"before");
    assert!(driver.lend_receiving(TOKEN));
    client.write_all(b"lent").unwrap();
    assert_silent(&mut driver);
    let socket = driver.socket(TOKEN).unwrap();
    socket.wait_readable(Duration::from_secs(10)).unwrap();
    let mut part = [0; 3];
    assert_eq!((socket.receive(&mut part).unwrap(), &part), (3, b"len"));
    assert_eq!((socket.receive(&mut part).unwrap(), part[0]), (1, b't'));
    let nothing = socket.receive(&mut part).unwrap_err();
    assert_eq!(nothing.kind(), io::ErrorKind::WouldBlock);
    let nothing = socket.wait_readable(Duration::from_millis(1)).unwrap_err();
    assert_eq!(nothing.kind(), io::ErrorKind::TimedOut);

    client.write_all(b"behind").unwrap();
    client.shutdown(std_net::Shutdown::Write).unwrap();
    assert_silent(&mut driver);
    driver.set_receiving(TOKEN, true);
    assert_eq!(receive_to_end(&mut driver, TOKEN), b"behind");
    assert!(!driver.lend_receiving(TOKEN), "there is nothing more to receive");
}

fn pausing_within_a_burst_loses_nothing<D: Subject>() {
    let (mut driver, client) = connected::<D>();
    let length = 4_000_000;
    let sender = send_in_pieces(client, pattern(length), &[1, 100_000, 7, 65_536, 3_000]);
    let mut received = Vec::new();
    loop {
        match next(&mut driver) {
            Completion::Received(TOKEN, _) => received.extend_from_slice(driver.received()),
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

fn a_send_without_room_finishes_when_there_is_some<D: Subject>() {
    let (mut driver, mut client) = connected::<D>();
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
                sent = if outgoing.remaining() > 0 { sent + resend(&mut driver, *outgoing) } else { sent };
            }
            other => panic!("{other:?}"),
        }
    }
    assert!(reader.join().unwrap() == bytes);
}

/// Goes on with a send; gives how much more was sent at once.
fn resend(driver: &mut impl Driver, mut outgoing: Outgoing) -> usize {
    let before = outgoing.sent;
    while outgoing.remaining() > 0 {
        let sent = outgoing.sent;
        match driver.send(TOKEN, &mut outgoing) {
            Submitted::Done(Ok(_)) => {}
            Submitted::Done(Err(error)) => panic!("{error}"),
            Submitted::Pending => return sent - before,
        }
    }
    outgoing.sent - before
}

fn a_peer_that_resets_breaks_the_connection_and_the_send_under_way<D: Subject>() {
    let (mut driver, client) = connected::<D>();
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

/// Sends by the socket, as a worker does, until it takes no more and room is awaited.
fn fill_by_socket(driver: &mut impl Driver) {
    let socket = driver.socket(TOKEN).unwrap();
    loop {
        match socket.send(&[b'x'; 65_536], b"") {
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                driver.await_writable(TOKEN);
                // On a machine that has much to do, the kernel makes room late.
                match next_within(driver, SILENCE) {
                    Some(Completion::Writable(TOKEN)) => {}
                    Some(other) => panic!("{other:?}"),
                    None => return,
                }
            }
            Err(error) => panic!("{error}"),
        }
    }
}

/// Reads what there is, for as long as there is something.
fn read_all(mut client: TcpStream) -> thread::JoinHandle<()> {
    thread::spawn(move || {
        let mut part = vec![0; 1 << 20];
        while client.read(&mut part).is_ok_and(|count| count > 0) {}
    })
}

fn assert_writable(driver: &mut impl Driver) {
    match next(driver) {
        Completion::Writable(TOKEN) => {}
        other => panic!("{other:?}"),
    }
}

fn room_that_is_waited_for_is_told_once<D: Subject>() {
    let (mut driver, client) = connected::<D>();
    client.set_read_timeout(Some(4 * SILENCE)).unwrap();
    for _ in 0..3 {
        fill_by_socket(&mut driver);
        let reader = read_all(client.try_clone().unwrap());
        assert_writable(&mut driver);
        reader.join().unwrap();
        assert_silent(&mut driver);
    }
}

fn room_is_told_to_whoever_drives_by_then<D: Subject>() {
    let (mut driver, client) = connected::<D>();
    fill_by_socket(&mut driver);
    thread::scope(|scope| {
        let other = scope.spawn(|| {
            assert_silent(&mut driver);
            let reader = read_all(client);
            assert_writable(&mut driver);
            assert_silent(&mut driver);
            driver.detach(TOKEN);
            reader.join().unwrap();
        });
        other.join().unwrap();
    });
}

fn room_that_there_is_already_is_told_at_once<D: Subject>() {
    let (mut driver, mut client) = connected::<D>();
    for _ in 0..3 {
        driver.await_writable(TOKEN);
        assert_writable(&mut driver);
        assert_silent(&mut driver);
    }
    // What comes meanwhile is told, too.
    client.write_all(b"abc").unwrap();
    driver.await_writable(TOKEN);
    let told = [next(&mut driver), next(&mut driver)];
    assert!(told.iter().any(|completion| matches!(completion, Completion::Writable(TOKEN))), "{told:?}");
    assert!(told.iter().any(|completion| matches!(completion, Completion::Received(TOKEN, _))), "{told:?}");
}

fn a_peer_that_resets_ends_the_wait_for_room<D: Subject>() {
    let (mut driver, client) = connected::<D>();
    fill_by_socket(&mut driver);
    rustix::net::sockopt::set_socket_linger(&client, Some(Duration::ZERO)).unwrap();
    drop(client);
    let told = [next(&mut driver), next(&mut driver)];
    assert!(told.iter().any(|completion| matches!(completion, Completion::Writable(TOKEN))), "{told:?}");
    let socket = driver.socket(TOKEN).unwrap();
    assert_ne!(socket.send(b"x", b"").unwrap_err().kind(), io::ErrorKind::WouldBlock);
}

fn detaching_closes_though_others_hold_the_socket<D: Subject>() {
    let (mut driver, mut client) = connected::<D>();
    let socket = driver.socket(TOKEN).unwrap();
    driver.detach(TOKEN);
    assert_eq!(client.read(&mut [0]).unwrap(), 0);
    assert!(socket.send(b"x", b"").is_err());
    let _ = client.write_all(b"abc");
    assert_silent(&mut driver);
}

fn a_detached_connection_completes_nothing_more<D: Subject>() {
    let (mut driver, mut client) = connected::<D>();
    fill(&mut driver, TOKEN, &pattern(16_000_000));
    client.write_all(b"abc").unwrap();
    driver.wait(Some(PATIENCE)).unwrap();
    driver.detach(TOKEN);
    let _ = client.read_to_end(&mut Vec::new());
    assert_silent(&mut driver);
}

fn an_event_for_one_that_was_detached_meanwhile_is_not_told<D: Subject>() {
    let (mut driver, address) = listening::<D>();
    let mut clients = [TOKEN, OTHER].map(|token| connect(&mut driver, address, token));
    assert_silent(&mut driver);
    clients.iter_mut().for_each(|client| client.write_all(b"abc").unwrap());
    let (first, second) = match next(&mut driver) {
        Completion::Received(TOKEN, _) => (TOKEN, OTHER),
        Completion::Received(OTHER, _) => (OTHER, TOKEN),
        other => panic!("{other:?}"),
    };
    driver.detach(second);
    assert_silent(&mut driver);
    driver.detach(first);
}

fn a_token_of_an_earlier_connection_does_nothing<D: Subject>() {
    let (mut driver, address) = listening::<D>();
    let first = connect(&mut driver, address, TOKEN);
    driver.detach(TOKEN);
    drop(first);
    let newer = Token { generation: 1, ..TOKEN };
    let mut client = connect(&mut driver, address, newer);
    driver.set_receiving(TOKEN, false);
    driver.shutdown_send(TOKEN);
    driver.detach(TOKEN);
    assert!(driver.socket(TOKEN).is_none());
    let mut outgoing = Outgoing { head: b"x".to_vec(), ..Outgoing::default() };
    assert!(matches!(driver.send(TOKEN, &mut outgoing), Submitted::Done(Err(_))));
    client.write_all(b"abc").unwrap();
    assert_received(&mut driver, newer, b"abc");
    let outgoing = Outgoing { head: b"y".to_vec(), ..Outgoing::default() };
    assert_eq!(send(&mut driver, newer, outgoing).unwrap(), 1);
}

fn a_client_that_floods_does_not_keep_others_from_their_turn<D: Subject>() {
    let (mut driver, address) = listening::<D>();
    let mut flooding = connect(&mut driver, address, TOKEN);
    let mut modest = connect(&mut driver, address, OTHER);
    assert_silent(&mut driver);
    let is_over = Arc::new(AtomicBool::new(false));
    let flood = thread::spawn({
        let is_over = Arc::clone(&is_over);
        move || {
            while !is_over.load(Ordering::Relaxed) {
                flooding.write_all(&pattern(1 << 20)).unwrap();
            }
        }
    });
    for _ in 0..4 * D::BURST {
        assert!(matches!(next(&mut driver), Completion::Received(TOKEN, _)));
    }
    modest.write_all(b"abc").unwrap();
    // What was there before it, and what its own turn brings of the other.
    let before = (0..).find(|_| match next(&mut driver) {
        Completion::Received(token, _) => token == OTHER,
        other => panic!("{other:?}"),
    });
    assert_eq!(driver.received(), b"abc");
    assert!(before.unwrap() <= 2 * D::BURST, "{before:?} came before it");
    is_over.store(true, Ordering::Relaxed);
    while !flood.is_finished() {
        driver.wait(Some(SILENCE)).unwrap();
        while driver.next().is_some() {}
    }
    flood.join().unwrap();
}

fn more_connections_than_one_turn_takes_are_all_accepted<D: Subject>() {
    let (mut driver, address) = listening::<D>();
    let clients =
        (0..3 * epoll::ACCEPTS_A_TURN).map(|_| TcpStream::connect(address).unwrap()).collect::<Vec<_>>();
    for index in 0..clients.len() {
        assert!(matches!(next(&mut driver), Completion::Accepted { .. }));
        driver.attach(Token { index: index as u32, generation: 0 }).unwrap();
    }
    assert_silent(&mut driver);
}

fn a_connection_that_is_not_attached_is_closed<D: Subject>() {
    let (mut driver, address) = listening::<D>();
    let mut client = TcpStream::connect(address).unwrap();
    client.set_read_timeout(Some(PATIENCE)).unwrap();
    assert!(matches!(next(&mut driver), Completion::Accepted { .. }));
    assert!(driver.next().is_none());
    assert_eq!(client.read(&mut [0]).unwrap(), 0);
    assert!(driver.attach(TOKEN).is_err());
}

fn accepting_pauses_resumes_and_stops<D: Subject>() {
    let (mut driver, address) = listening::<D>();
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

fn listeners_of_all_kinds_say_who_they_are<D: Subject>() {
    let path = std::env::temp_dir().join(format!(
        "tayet-driver-{}-{}.sock",
        std::process::id(),
        std::any::type_name::<D>().len()
    ));
    let mut driver = D::open();
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

fn a_wake_ends_the_wait_under_way_or_the_next<D: Subject>() {
    let mut driver = D::open();
    let waker = driver.waker();
    waker.wake();
    driver.wait(None).unwrap();
    assert!(driver.next().is_none());
    let waking = thread::spawn(move || waker.wake());
    driver.wait(None).unwrap();
    waking.join().unwrap();
}

fn no_wake_is_lost_among_many<D: Subject>() {
    const WAKERS: usize = 4;
    const WAKES: usize = 5_000;
    let mut driver = D::open();
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

fn a_wait_ends_when_its_time_is_up<D: Subject>() {
    let mut driver = D::open();
    // One that was to last longer, and ended for another reason, has no part in those behind it.
    driver.waker().wake();
    driver.wait(Some(PATIENCE)).unwrap();
    assert!(driver.next().is_none());
    for _ in 0..3 {
        let before = Moment::now();
        driver.wait(Some(SILENCE)).unwrap();
        let waited = Moment::now().since(before);
        assert!(waited >= SILENCE && waited < PATIENCE, "{waited:?}");
        assert!(driver.next().is_none());
    }
    driver.wait(Some(Duration::ZERO)).unwrap();
}

fn a_socket_waits_for_room_and_no_longer_than_it_may<D: Subject>() {
    let (mut driver, mut client) = connected::<D>();
    let socket = driver.socket(TOKEN).unwrap();
    fill(&mut driver, TOKEN, &pattern(16_000_000));
    // On a machine that has much to do, the kernel makes room late.
    let error = loop {
        match socket.send(&[b'x'; 4_096], b"") {
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                if let Err(error) = socket.wait_writable(SILENCE) {
                    break error;
                }
            }
            Err(error) => panic!("{error}"),
        }
    };
    assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    let reader = thread::spawn(move || {
        let mut part = vec![0; 1 << 20];
        while client.read(&mut part).is_ok_and(|count| count > 0) {}
    });
    socket.wait_writable(PATIENCE).unwrap();
    socket.shutdown();
    reader.join().unwrap();
}
