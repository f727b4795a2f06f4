//! Threads that drive in turn.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::mpsc;

use super::super::operation::Epoch;
use super::super::sys::RECEIVE_BUFFERS;
use super::super::tests::{
    assert_no_source_is_left, crowd, gather, outgoing, read_exactly, token, wait_for_received, with_io_uring,
};
use super::*;
use crate::driver_tests::{
    OTHER, PATIENCE, TOKEN, assert_received, assert_silent, connect, connected, fill, listening, next,
    pattern, send_in_pieces,
};
use crate::{BatchedSend, Completion, Driver, Moment, Outgoing, Submitted, Token};

/// Threads that drive in turn; between their turns they are stuck as in a handler.
struct Crew {
    seats: Vec<(mpsc::Sender<Turn>, Option<thread::JoinHandle<()>>)>,
}

struct Turn {
    driver: IoUring,
    work: Box<dyn FnOnce(&mut IoUring) + Send>,
    back: mpsc::Sender<IoUring>,
}

impl Crew {
    fn new(count: usize) -> Self {
        let seats = (0..count).map(|_| {
            let (seat, turns) = mpsc::channel::<Turn>();
            let thread = thread::spawn(move || {
                for Turn { mut driver, work, back } in turns {
                    work(&mut driver);
                    back.send(driver).unwrap();
                }
            });
            (seat, Some(thread))
        });
        Self { seats: seats.collect() }
    }

    /// Has the thread in this seat drive; the others wait.
    fn drive(
        &self,
        seat: usize,
        driver: IoUring,
        work: impl FnOnce(&mut IoUring) + Send + 'static,
    ) -> IoUring {
        let (back, returned) = mpsc::channel();
        let turn = Turn { driver, work: Box::new(work), back };
        self.seats[seat % self.seats.len()].0.send(turn).unwrap_or_else(|_| panic!("the thread is gone"));
        returned.recv().unwrap()
    }

    /// Has the thread in this seat come to its end.
    fn end(&mut self, seat: usize) {
        let (seat, thread) = &mut self.seats[seat];
        *seat = mpsc::channel().0;
        thread.take().unwrap().join().unwrap();
    }
}

#[test]
fn a_stream_goes_on_in_order_however_often_the_thread_changes() {
    with_io_uring(|| {
        const LENGTH: usize = 6_000_000;
        let crew = Crew::new(3);
        let (mut driver, client) = connected::<IoUring>();
        let sender = send_in_pieces(client, pattern(LENGTH), &[1, 100_000, 7, 65_536, 3_000]);
        let (bytes, received) = mpsc::channel();
        let mut whole = Vec::new();
        let mut seat = 0;
        let mut has_ended = false;
        while !has_ended {
            seat += 1;
            let bytes = bytes.clone();
            driver = crew.drive(seat, driver, move |driver| {
                for _ in 0..5 {
                    match next(driver) {
                        Completion::Received(TOKEN, _) => bytes.send(driver.received().to_vec()).unwrap(),
                        Completion::Ended(TOKEN) => return bytes.send(Vec::new()).unwrap(),
                        other => panic!("{other:?}"),
                    }
                }
            });
            for part in received.try_iter() {
                has_ended |= part.is_empty();
                whole.extend(part);
            }
        }
        assert!(whole == pattern(LENGTH));
        assert!(driver.epoch != Epoch::default());
        sender.join().unwrap();
        driver.detach(TOKEN);
        drop(crew.drive(0, driver, assert_no_source_is_left));
    });
}

#[test]
fn what_a_thread_armed_goes_on_without_it() {
    with_io_uring(|| {
        // One that is stuck, and one that has ended, with which the kernel cancels what it had armed.
        for lives in [true, false] {
            let mut crew = Crew::new(2);
            let (driver, address) = listening::<IoUring>();
            let mut clients = Vec::new();
            let (connecting, connected) = mpsc::channel();
            let driver = crew.drive(0, driver, move |driver| {
                for index in 0..300 {
                    connecting.send(connect(driver, address, token(index))).unwrap();
                }
                fill(driver, OTHER, &pattern(16_000_000));
            });
            clients.extend(connected.try_iter());
            if !lives {
                crew.end(0);
            }
            let waker = driver.waker();
            drop(crew.drive(1, driver, move |driver| {
                assert_silent(driver);
                for (index, client) in clients.iter_mut().enumerate().filter(|(index, _)| *index != 1) {
                    client.write_all(&index.to_be_bytes()).unwrap();
                    assert_received(driver, token(index), &index.to_be_bytes());
                }
                thread::spawn({
                    let client = clients[1].try_clone().unwrap();
                    move || read_exactly(&client, 1_000_000)
                });
                assert!(matches!(next(driver), Completion::Sent(OTHER, _, Ok(_))));
                clients.push(connect(driver, address, token(clients.len())));
                waker.wake();
                driver.wait(None).unwrap();
                (0..clients.len()).for_each(|index| driver.detach(token(index)));
                assert_no_source_is_left(driver);
            }));
        }
    });
}

/// Numbers without an order that is easily seen, the same each time.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end
    }
}

/// A client that is to hear all that it says.
struct Talker {
    client: TcpStream,
    said: Vec<u8>,
    heard: Vec<u8>,
}

impl Talker {
    fn say(&mut self, bytes: &[u8]) {
        self.client.write_all(bytes).unwrap();
        self.said.extend_from_slice(bytes);
    }

    fn hear_what_there_is(&mut self) {
        self.client.set_nonblocking(true).unwrap();
        let mut bytes = [0; 4096];
        while let Ok(count @ 1..) = self.client.read(&mut bytes) {
            self.heard.extend_from_slice(&bytes[..count]);
        }
        self.client.set_nonblocking(false).unwrap();
    }
}

/// What a driver owes its connections.
#[derive(Default)]
struct Echo {
    /// By connection, what is to be sent when the send that is under way has ended.
    owed: HashMap<u32, Vec<u8>>,
    under_way: Vec<u32>,
    /// Whose receiving was lent.
    lent: Vec<Token>,
    batch: Vec<BatchedSend>,
}

impl Echo {
    /// Looks at some of what there is, and answers some, in any way that there is.
    fn go_on(&mut self, driver: &mut IoUring, numbers: &mut Numbers) {
        for _ in 0..numbers.below(120) {
            match driver.next() {
                Some(Completion::Received(token, _)) => {
                    let bytes = driver.received().to_vec();
                    self.owed.entry(token.index).or_default().extend(bytes);
                    match numbers.below(16) {
                        0 | 1 => driver.set_receiving(token, false),
                        2 | 3 if driver.lend_receiving(token) => self.lent.push(token),
                        _ => {}
                    }
                    if numbers.below(4) > 0 {
                        self.answer(driver, token, numbers.below(3) == 0);
                    }
                }
                Some(Completion::Sent(token, outgoing, result)) => {
                    result.unwrap();
                    self.settle(driver, token, *outgoing);
                }
                Some(other) => panic!("{other:?}"),
                None => driver.wait(Some(Duration::from_millis(1))).unwrap(),
            }
        }
        if numbers.below(4) == 0 {
            self.receive_lent(driver);
        }
        if numbers.below(2) == 0 {
            self.send_batch(driver);
        }
    }

    /// As others do whom the receiving was lent to.
    fn receive_lent(&mut self, driver: &mut IoUring) {
        for token in self.lent.drain(..) {
            let socket = driver.socket(token).unwrap();
            let mut bytes = [0; 3_000];
            while let Ok(count @ 1..) = socket.receive(&mut bytes) {
                self.owed.entry(token.index).or_default().extend(&bytes[..count]);
            }
            driver.set_receiving(token, true);
        }
    }

    fn answer(&mut self, driver: &mut IoUring, token: Token, is_batched: bool) {
        if self.under_way.contains(&token.index) || self.batch.iter().any(|send| send.token == token) {
            return;
        }
        let Some(bytes) = self.owed.remove(&token.index) else { return };
        if is_batched {
            self.batch.push(BatchedSend { token, bytes, sent: 0 });
        } else {
            let mut outgoing = outgoing(&bytes, b"");
            match driver.send(token, &mut outgoing) {
                Submitted::Done(result) => drop(result.unwrap()),
                Submitted::Pending => return self.under_way.push(token.index),
            }
            self.owe_rest(token, &outgoing);
        }
    }

    fn settle(&mut self, driver: &mut IoUring, token: Token, outgoing: Outgoing) {
        self.under_way.retain(|index| *index != token.index);
        self.owe_rest(token, &outgoing);
        self.answer(driver, token, false);
    }

    fn owe_rest(&mut self, token: Token, outgoing: &Outgoing) {
        let owed = self.owed.entry(token.index).or_default();
        owed.splice(..0, outgoing.rest().0.iter().copied());
    }

    fn send_batch(&mut self, driver: &mut IoUring) {
        let mut batch = std::mem::take(&mut self.batch);
        driver.send_batch(&mut batch);
        for send in batch {
            let owed = self.owed.entry(send.token.index).or_default();
            owed.splice(..0, send.bytes[send.sent..].iter().copied());
        }
    }

    /// Has nobody paused any more, and all answered that is to be.
    fn finish(&mut self, driver: &mut IoUring, count: usize) {
        self.receive_lent(driver);
        self.send_batch(driver);
        for index in 0..count {
            driver.set_receiving(token(index), true);
            self.answer(driver, token(index), false);
        }
    }
}

#[test]
fn whatever_goes_on_when_the_thread_changes_no_byte_is_lost_or_comes_twice() {
    with_io_uring(|| {
        const COUNT: usize = 300;
        let crew = Crew::new(3);
        let (sending, clients) = mpsc::channel();
        let mut numbers = Numbers(4);
        let (driver, address) = listening::<IoUring>();
        let mut driver = crew.drive(0, driver, move |driver| {
            (0..COUNT).for_each(|index| sending.send(connect(driver, address, token(index))).unwrap());
        });
        let talker = |client| Talker { client, said: Vec::new(), heard: Vec::new() };
        let mut talkers: Vec<_> = clients.iter().map(talker).collect();
        let mut echo = Echo::default();
        for round in 0..200 {
            for _ in 0..numbers.below(COUNT) {
                let bytes = pattern(1 + numbers.below(2_000));
                talkers[numbers.below(COUNT)].say(&bytes);
            }
            let (returning, returned) = mpsc::channel();
            driver = crew.drive(round, driver, move |driver| {
                echo.go_on(driver, &mut numbers);
                returning.send((echo, numbers)).unwrap();
            });
            (echo, numbers) = returned.recv().unwrap();
            talkers.iter_mut().for_each(Talker::hear_what_there_is);
        }
        let deadline = Moment::now() + PATIENCE;
        let all_is_heard =
            |talkers: &[Talker]| talkers.iter().all(|talker| talker.heard.len() >= talker.said.len());
        while !all_is_heard(&talkers) && Moment::now() < deadline {
            let (returning, returned) = mpsc::channel();
            driver = crew.drive(numbers.below(3), driver, move |driver| {
                echo.finish(driver, COUNT);
                echo.go_on(driver, &mut numbers);
                returning.send((echo, numbers)).unwrap();
            });
            (echo, numbers) = returned.recv().unwrap();
            talkers.iter_mut().for_each(Talker::hear_what_there_is);
        }
        for (index, talker) in talkers.iter().enumerate() {
            assert!(talker.heard == talker.said, "{index}: {} of {}", talker.heard.len(), talker.said.len());
        }
        drop(crew.drive(1, driver, |driver| {
            (0..COUNT).for_each(|index| driver.detach(token(index)));
            assert_no_source_is_left(driver);
        }));
    });
}

#[test]
fn what_has_come_and_was_not_told_keeps_its_buffer_and_no_other_is_lost() {
    with_io_uring(|| {
        let crew = Crew::new(2);
        let (mut driver, mut clients) = crowd(3);
        // More often than there are buffers.
        for seat in 0..4 * usize::from(RECEIVE_BUFFERS) {
            clients.iter_mut().for_each(|client| client.write_all(&seat.to_be_bytes()).unwrap());
            driver = crew.drive(seat, driver, move |driver| {
                driver.wait(None).unwrap();
                wait_for_received(driver, 3);
                assert!(matches!(next(driver), Completion::Received(_, 8)));
                assert_eq!(driver.received(), seat.to_be_bytes());
            });
            driver = crew.drive(seat + 1, driver, move |driver| {
                for _ in 0..2 {
                    assert!(matches!(next(driver), Completion::Received(_, 8)));
                    assert_eq!(driver.received(), seat.to_be_bytes());
                }
                assert_eq!(driver.ring.buffers(), RECEIVE_BUFFERS.into());
            });
        }
    });
}

#[test]
fn a_send_that_the_kernel_was_not_told_of_goes_by_the_next_ring() {
    with_io_uring(|| {
        let crew = Crew::new(2);
        let (driver, clients) = crowd(2);
        let driver = crew.drive(0, driver, |driver| {
            assert_silent(driver);
            gather(driver);
            for index in 0..2 {
                assert!(matches!(
                    driver.send(token(index), &mut outgoing(b"head", b"tail")),
                    Submitted::Pending
                ));
            }
        });
        drop(crew.drive(1, driver, |driver| {
            for _ in 0..2 {
                assert!(matches!(next(driver), Completion::Sent(_, _, Ok(8))));
            }
        }));
        clients.iter().for_each(|client| assert_eq!(read_exactly(client, 8), b"headtail"));
    });
}
