//! What only this driver can get wrong: buffers that run out, operations that outlive what they are for.

use std::io::{Read, Write};
use std::net::TcpStream;

use super::sys::{COMPLETIONS, MOST_RECEIVE_BUFFERS, RECEIVE_BUFFER_BYTES, RECEIVE_BUFFERS};
use super::*;
use crate::driver_tests::{
    PATIENCE, SILENCE, Subject, TOKEN, assert_received, assert_silent, connect, connected, fill, listening,
    next, pattern, receive_to_end, send_in_pieces,
};

/// Runs a test, or says loudly that it cannot.
pub(super) fn with_io_uring(test: impl FnOnce()) {
    match IoUring::refusal() {
        None => test(),
        Some(reason) => eprintln!("SKIPPED, as the kernel refuses the driver: {reason}"),
    }
}

pub(super) fn token(index: usize) -> Token {
    Token { index: index as u32, generation: 0 }
}

/// A driver with this many connections, all silent, and their clients.
pub(super) fn crowd(count: usize) -> (IoUring, Vec<TcpStream>) {
    let (mut driver, address) = listening::<IoUring>();
    let clients = (0..count).map(|index| connect(&mut driver, address, token(index))).collect();
    assert_silent(&mut driver);
    (driver, clients)
}

/// Takes nothing but silence until `has_come`: on a machine that has much to do, what is to come takes its time.
#[track_caller]
fn wait_in_silence(driver: &mut IoUring, has_come: impl Fn(&IoUring) -> bool) {
    let end = Moment::now() + PATIENCE;
    assert_silent(driver);
    while !has_come(driver) && Moment::now() < end {
        assert_silent(driver);
    }
}

/// Looks until all that happens within a turn has, and nothing is left of what was let go.
pub(super) fn assert_no_source_is_left(driver: &mut IoUring) {
    wait_in_silence(driver, |driver| driver.sources.iter().flatten().next().is_none());
    assert_eq!(driver.sources.iter().flatten().count(), 0);
    assert_eq!(driver.free_slots.len(), driver.sources.len());
}

fn ran_out(driver: &IoUring) -> bool {
    driver.events.iter().any(|event| event.count() == Err(Errno::NOBUFS))
}

pub(super) fn outgoing(head: &[u8], tail: &[u8]) -> Outgoing {
    Outgoing { head: head.to_vec(), tail: tail.to_vec().into(), sent: 0 }
}

pub(super) fn read_exactly(mut client: &TcpStream, length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    client.read_exact(&mut bytes).unwrap();
    bytes
}

#[test]
fn connections_that_find_no_buffer_get_one_later_and_there_are_more_from_then_on() {
    with_io_uring(|| {
        let (mut driver, mut clients) = crowd(usize::from(RECEIVE_BUFFERS) + 50);
        for runs_out in [true, false] {
            for (index, client) in clients.iter_mut().enumerate() {
                client.write_all(&index.to_be_bytes()).unwrap();
            }
            wait_for_received(&mut driver, clients.len());
            assert_eq!(ran_out(&driver), runs_out);
            for _ in 0..clients.len() {
                let Completion::Received(Token { index, .. }, _) = next(&mut driver) else {
                    panic!("bytes were expected")
                };
                assert_eq!(driver.received(), (index as usize).to_be_bytes());
            }
            assert_silent(&mut driver);
        }
    });
}

#[test]
fn the_buffers_become_no_more_than_they_may() {
    with_io_uring(|| {
        let mut ring = Ring::open().unwrap();
        (0..20).for_each(|_| ring.provide_more());
        assert_eq!(ring.buffers(), MOST_RECEIVE_BUFFERS.into());
    });
}

#[test]
fn a_stream_for_which_the_buffers_run_out_goes_on_in_order() {
    with_io_uring(|| {
        let (mut driver, mut clients) = crowd(usize::from(RECEIVE_BUFFERS));
        for client in &mut clients[1..] {
            client.write_all(b"x").unwrap();
        }
        let length = 20 * RECEIVE_BUFFER_BYTES;
        let sender = send_in_pieces(clients.remove(0), pattern(length), &[100, 3_000, 20_000, 1, 70_000]);
        while !ran_out(&driver) {
            driver.ring.enter(Some(SILENCE), &mut driver.events).unwrap();
        }
        let mut received = Vec::new();
        loop {
            match next(&mut driver) {
                Completion::Received(TOKEN, _) => received.extend_from_slice(driver.received()),
                Completion::Received(..) => {}
                Completion::Ended(TOKEN) => break,
                other => panic!("{other:?}"),
            }
        }
        assert!(received == pattern(length));
        sender.join().unwrap();
    });
}

#[test]
fn several_that_are_ready_are_gathered_before_the_first_is_told_of() {
    with_io_uring(|| {
        let (mut driver, mut clients) = crowd(ahead::MOST + 2);
        assert!(driver.received_ahead().is_empty());
        clients.iter_mut().for_each(|client| client.write_all(b"abc").unwrap());
        wait_for_received(&mut driver, clients.len());
        let mut expected = None;
        for told in 1..=clients.len() {
            let Completion::Received(token, 3) = next(&mut driver) else { panic!("bytes were expected") };
            assert_eq!(driver.received(), b"abc");
            assert!(expected.is_none_or(|expected| expected == token));
            expected = driver.received_ahead().first().copied();
            let gathered = if told <= ahead::MOST { ahead::MOST } else { clients.len() };
            assert_eq!(driver.received_ahead().len(), gathered - told);
        }
        assert_silent(&mut driver);
    });
}

#[test]
fn receiving_is_not_lent_while_there_is_something_to_tell() {
    with_io_uring(|| {
        let (mut driver, mut clients) = crowd(2);
        clients.iter_mut().for_each(|client| client.write_all(b"abc").unwrap());
        wait_for_received(&mut driver, 2);
        let Completion::Received(told, 3) = next(&mut driver) else { panic!("bytes were expected") };
        let &[gathered] = driver.received_ahead() else { panic!("another has come besides") };
        assert!(!driver.lend_receiving(gathered), "others would receive what is behind it");
        assert!(driver.lend_receiving(told), "nothing more has come");
        assert_received(&mut driver, gathered, b"abc");

        clients[told.index as usize].write_all(b"lent").unwrap();
        assert_silent(&mut driver);
        driver.set_receiving(told, true);
        wait_for_received(&mut driver, 1);
        assert!(!driver.lend_receiving(told), "it has come, and was not looked at");
        assert_received(&mut driver, told, b"lent");

        assert!(driver.lend_receiving(told));
        driver.detach(told);
        assert!(!driver.lend_receiving(told), "it is no more");
        driver.detach(gathered);
        assert_no_source_is_left(&mut driver);
    });
}

#[test]
fn an_end_is_told_of_behind_the_bytes_before_it() {
    with_io_uring(|| {
        let (mut driver, mut clients) = crowd(3);
        clients.iter_mut().for_each(|client| client.write_all(b"abc").unwrap());
        drop(clients.swap_remove(0));
        wait_for_events(&mut driver, |events| events.iter().any(|event| event.count() == Ok(0)));
        let mut told = Vec::new();
        while told.len() < 4 {
            told.push(match next(&mut driver) {
                Completion::Received(token, length) => (token.index, length),
                Completion::Ended(token) => (token.index, 0),
                other => panic!("{other:?}"),
            });
        }
        let of_the_first: Vec<_> = told.iter().filter(|(index, _)| *index == 0).collect();
        assert_eq!(of_the_first, [&(0, 3), &(0, 0)]);
    });
}

#[test]
fn what_was_gathered_is_told_though_its_connection_is_paused_and_given_back_with_it() {
    with_io_uring(|| {
        let (mut driver, address) = listening::<IoUring>();
        // More often than there are buffers.
        for generation in 0..2 * u32::from(MOST_RECEIVE_BUFFERS) {
            let of = |index| Token { index, generation };
            let mut clients =
                (0..3).map(|index| connect(&mut driver, address, of(index))).collect::<Vec<_>>();
            clients.iter_mut().for_each(|client| client.write_all(b"abc").unwrap());
            wait_for_received(&mut driver, 3);
            let Completion::Received(first, 3) = next(&mut driver) else { panic!("bytes were expected") };
            let &[second, third] = driver.received_ahead() else { panic!("two have come besides") };
            driver.set_receiving(third, false);
            driver.detach(second);
            assert_received(&mut driver, third, b"abc");
            driver.detach(first);
            driver.detach(third);
        }
        assert_no_source_is_left(&mut driver);
    });
}

fn batched(index: usize, bytes: &[u8]) -> BatchedSend {
    BatchedSend { token: token(index), bytes: bytes.to_vec(), sent: 0 }
}

#[test]
fn a_batch_tells_how_much_of_each_went() {
    with_io_uring(|| {
        let (mut driver, mut clients) = crowd(5);
        let much = pattern(16_000_000);
        driver.detach(token(2));
        let mut sends = [(0, &b"first"[..]), (2, b"gone"), (3, &much), (4, b"last")]
            .map(|(index, bytes)| batched(index, bytes));
        driver.send_batch(&mut sends);
        let sent = sends.each_ref().map(|send| send.sent);
        assert_eq!((sent[0], sent[1], sent[3]), (5, 0, 4));
        assert!((1..much.len()).contains(&sent[2]), "{}", sent[2]);
        assert_eq!(read_exactly(&clients[0], 5), b"first");
        assert_eq!(read_exactly(&clients[4], 4), b"last");
        assert!(read_exactly(&clients[3], sent[2]) == much[..sent[2]]);
        // Of what came meanwhile nothing is lost.
        clients[0].write_all(b"next").unwrap();
        wait_for_received(&mut driver, 1);
        driver.send_batch(&mut [batched(0, b"a"), batched(4, b"b")]);
        assert_received(&mut driver, TOKEN, b"next");
    });
}

#[test]
fn a_batch_that_fails_finds_its_events_behind_those_that_had_no_room() {
    with_io_uring(|| {
        let (mut driver, clients) = crowd(2);
        // There is nothing to cancel, of which each tells.
        for _ in 0..2 * COMPLETIONS {
            driver.ring.cancel(Operation::Writable { slot: 7 });
        }
        let much = pattern(16_000_000);
        let mut sends = [batched(0, &much), batched(1, b"all")];
        driver.send_batch(&mut sends);
        assert_eq!(sends[1].sent, 3);
        assert!((1..much.len()).contains(&sends[0].sent), "{}", sends[0].sent);
        assert!(read_exactly(&clients[0], sends[0].sent) == much[..sends[0].sent]);
    });
}

/// Has the kernel lay down that so many connections have received something, or found no buffer.
#[track_caller]
pub(super) fn wait_for_received(driver: &mut IoUring, count: usize) {
    let tells_of_bytes = |event: &&Event| {
        matches!(event.operation, Operation::Receive { .. })
            && (event.count() == Err(Errno::NOBUFS) || event.count().is_ok_and(|count| count > 0))
    };
    wait_for_events(driver, |events| events.iter().filter(tells_of_bytes).count() >= count);
}

#[track_caller]
fn wait_for_events(driver: &mut IoUring, have_come: impl Fn(&VecDeque<Event>) -> bool) {
    let end = Moment::now() + PATIENCE;
    while !have_come(&driver.events) && Moment::now() < end {
        let mut more = VecDeque::new();
        driver.ring.enter(Some(SILENCE), &mut more).unwrap();
        driver.events.append(&mut more);
    }
    assert!(have_come(&driver.events), "{:?}", driver.events);
}

#[test]
fn answers_of_one_turn_are_handed_over_together() {
    with_io_uring(|| {
        let (mut driver, mut clients) = crowd(2 * GATHERED_SENDS);
        clients.iter_mut().for_each(|client| client.write_all(b"abc").unwrap());
        driver.wait(Some(PATIENCE)).unwrap();
        let mut gathered = 0;
        let mut sent = 0;
        while sent < clients.len() {
            match next(&mut driver) {
                Completion::Received(token, _) => {
                    let text = format!("{:04}", token.index);
                    let (head, tail) = text.as_bytes().split_at(token.index as usize % 5);
                    match driver.send(token, &mut outgoing(head, tail)) {
                        Submitted::Done(result) => {
                            assert_eq!(result.unwrap(), 4);
                            sent += 1;
                        }
                        Submitted::Pending => gathered += 1,
                    }
                }
                Completion::Sent(_, outgoing, result) => {
                    assert_eq!((result.unwrap(), outgoing.sent, outgoing.remaining()), (4, 4, 0));
                    sent += 1;
                }
                other => panic!("{other:?}"),
            }
        }
        assert!(gathered >= clients.len() / 2, "{gathered}");
        for (index, client) in clients.iter().enumerate() {
            assert_eq!(read_exactly(client, 4), format!("{index:04}").as_bytes());
        }
    });
}

/// Has the driver's next send gathered rather than sent at once.
pub(super) fn gather(driver: &mut IoUring) {
    let waker = driver.waker();
    waker.wake();
    while driver.events.is_empty() {
        driver.ring.enter(Some(PATIENCE), &mut driver.events).unwrap();
    }
}

#[test]
fn gathered_sends_without_room_finish_when_there_is_some() {
    with_io_uring(|| {
        let (mut driver, clients) = crowd(2);
        let bytes = pattern(9_000_000);
        let (head, tail) = bytes.split_at(1_000_001);
        gather(&mut driver);
        for index in 0..2 {
            assert!(matches!(driver.send(token(index), &mut outgoing(head, tail)), Submitted::Pending));
        }
        let readers = clients.into_iter().map(|client| {
            let length = bytes.len();
            thread::spawn(move || (read_exactly(&client, length), client))
        });
        let readers = readers.collect::<Vec<_>>();
        let mut left = 2;
        while left > 0 {
            match next(&mut driver) {
                Completion::Sent(_, outgoing, Ok(_)) if outgoing.remaining() == 0 => left -= 1,
                Completion::Sent(token, mut outgoing, Ok(_)) => {
                    gather(&mut driver);
                    assert!(matches!(driver.send(token, &mut outgoing), Submitted::Pending));
                }
                other => panic!("{other:?}"),
            }
        }
        for reader in readers {
            let (read, _client) = reader.join().unwrap();
            assert!(read == bytes);
        }
    });
}

#[test]
fn ending_the_sending_direction_comes_behind_what_was_gathered() {
    with_io_uring(|| {
        let (mut driver, mut client) = connected::<IoUring>();
        gather(&mut driver);
        assert!(matches!(driver.send(TOKEN, &mut outgoing(b"head", b"tail")), Submitted::Pending));
        driver.shutdown_send(TOKEN);
        let mut text = String::new();
        client.read_to_string(&mut text).unwrap();
        assert_eq!(text, "headtail");
    });
}

#[test]
fn a_paused_connection_holds_no_more_than_the_buffers_do() {
    with_io_uring(|| {
        let (mut driver, client) = connected::<IoUring>();
        driver.set_receiving(TOKEN, false);
        let length = 16_000_000;
        let sender = send_in_pieces(client, pattern(length), &[usize::MAX]);
        wait_in_silence(&mut driver, |driver| driver.sources[0].as_ref().unwrap().holds_something());
        for _ in 0..5 {
            assert_silent(&mut driver);
        }
        let held = driver.sources[0].as_ref().unwrap().held().map(|held| match held {
            Held::Bytes(bytes) => bytes.len(),
            other => panic!("{other:?}"),
        });
        let held = held.sum::<usize>();
        assert!((1..=usize::from(MOST_RECEIVE_BUFFERS) * RECEIVE_BUFFER_BYTES).contains(&held), "{held}");
        driver.set_receiving(TOKEN, true);
        assert!(receive_to_end(&mut driver, TOKEN) == pattern(length));
        sender.join().unwrap();
    });
}

#[test]
fn a_receiving_that_somebody_cancels_is_armed_anew() {
    with_io_uring(|| {
        let (mut driver, client) = connected::<IoUring>();
        let sender = send_in_pieces(client, pattern(4_000_000), &[1, 100_000, 7, 3_000]);
        let mut received = Vec::new();
        loop {
            match next(&mut driver) {
                Completion::Received(TOKEN, _) => received.extend_from_slice(driver.received()),
                Completion::Ended(TOKEN) => break,
                other => panic!("{other:?}"),
            }
            driver.ring.cancel(Operation::Receive { slot: 0 });
        }
        assert!(received == pattern(4_000_000));
        sender.join().unwrap();
    });
}

#[test]
fn what_is_let_go_in_any_state_leaves_nothing_and_its_place_is_free() {
    with_io_uring(|| {
        let (mut driver, address) = listening::<IoUring>();
        for generation in 0..300 {
            let token = Token { index: 0, generation };
            let mut client = connect(&mut driver, address, token);
            match generation % 6 {
                // Armed, but the kernel does not know.
                0 => {}
                // Bytes are on their way.
                1 => client.write_all(b"of the earlier one").unwrap(),
                // Bytes have come, and were not looked at.
                2 => {
                    client.write_all(b"of the earlier one").unwrap();
                    driver.wait(Some(PATIENCE)).unwrap();
                }
                // A send is gathered.
                3 => {
                    gather(&mut driver);
                    assert!(matches!(driver.send(token, &mut outgoing(b"x", b"y")), Submitted::Pending));
                }
                // A send is blocked.
                4 if generation < 30 => drop(fill(&mut driver, token, &pattern(16_000_000))),
                // Bytes are held.
                4 => {
                    driver.set_receiving(token, false);
                    client.write_all(b"of the earlier one").unwrap();
                    driver.wait(Some(PATIENCE)).unwrap();
                    assert!(driver.next().is_none());
                }
                // Somebody else has the socket.
                _ => {
                    let socket = driver.socket(token).unwrap();
                    driver.detach(token);
                    assert!(socket.send(b"x", b"").is_err());
                }
            }
            driver.detach(token);
        }
        assert_no_source_is_left(&mut driver);
    });
}

#[test]
fn completions_that_find_no_room_come_later() {
    with_io_uring(|| {
        let (mut driver, mut client) = connected::<IoUring>();
        assert_silent(&mut driver);
        client.write_all(b"before").unwrap();
        // There is nothing to cancel, of which each tells.
        for _ in 0..2 * COMPLETIONS {
            driver.ring.cancel(Operation::Writable { slot: 7 });
        }
        client.write_all(b"behind").unwrap();
        client.shutdown(std::net::Shutdown::Write).unwrap();
        assert_eq!(receive_to_end(&mut driver, TOKEN), b"beforebehind");
        let waker = driver.waker();
        waker.wake();
        driver.wait(None).unwrap();
    });
}

#[test]
fn a_ring_interrupts_nobody_who_only_made_it() {
    with_io_uring(|| {
        let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let mut client = TcpStream::connect(silent.local_addr().unwrap()).unwrap();
        client.set_read_timeout(Some(4 * SILENCE)).unwrap();
        let (mut driver, _client) = connected_elsewhere();
        let closing = thread::spawn(move || {
            driver.wait(Some(SILENCE)).unwrap();
            drop(driver);
        });
        assert_eq!(client.read(&mut [0]).unwrap_err().kind(), io::ErrorKind::WouldBlock);
        closing.join().unwrap();
    });
}

/// A driver made here and driven by another thread so far.
fn connected_elsewhere() -> (IoUring, TcpStream) {
    let mut driver = IoUring::new().unwrap();
    let listener = Listener::bind(&"127.0.0.1:0".parse().unwrap(), false).unwrap();
    let crate::Address::Ip(address) = *listener.address() else { panic!("an IP address was asked for") };
    driver.listen(0, Arc::new(listener)).unwrap();
    let connecting = thread::spawn(move || {
        let client = connect(&mut driver, address, TOKEN);
        (driver, client)
    });
    connecting.join().unwrap()
}
