//! The simulation under a server that echoes.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tayet_net::{AcceptError, Completion, Driver, Outgoing, Submitted, Token};
use tayet_testkit::{
    Client, End, Faults, RECEIVE_BYTES, Random, Reading, SimulatedDriver, SimulatedNet, for_each_seed,
};

const SECOND: Duration = Duration::from_secs(1);

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// Sends back what comes, until the client ends.
struct Echo {
    driver: SimulatedDriver,
    next_index: u32,
    /// What waits for the send under way.
    waiting: HashMap<Token, Vec<u8>>,
    ended: Vec<Token>,
}

impl Echo {
    fn new(net: &SimulatedNet) -> Self {
        Self { driver: net.driver(), next_index: 0, waiting: HashMap::new(), ended: Vec::new() }
    }

    fn run(&mut self, net: &SimulatedNet, until: Duration) {
        while net.elapsed() < until {
            self.driver.wait(Some(until - net.elapsed())).unwrap();
            while let Some(completion) = self.driver.next() {
                self.complete(completion);
            }
        }
    }

    fn complete(&mut self, completion: Completion) {
        match completion {
            Completion::Accepted { .. } => {
                let token = Token { index: self.next_index, generation: 1 };
                self.next_index += 1;
                let _ = self.driver.attach(token);
            }
            Completion::Received(token, _) => {
                let bytes = self.driver.received().to_vec();
                match self.waiting.get_mut(&token) {
                    Some(waiting) => waiting.extend(bytes),
                    None => self.send(token, Outgoing { head: bytes, ..Outgoing::default() }),
                }
            }
            Completion::Sent(token, outgoing, Ok(_)) => self.send(token, *outgoing),
            Completion::Ended(token) => {
                self.ended.push(token);
                self.end_if_told(token);
            }
            Completion::Broken(token, _) | Completion::Sent(token, _, Err(_)) => {
                self.waiting.remove(&token);
                self.driver.detach(token);
            }
            Completion::AcceptFailed(AcceptError::Exhausted(_)) => self.driver.set_accepting(true),
            Completion::AcceptFailed(AcceptError::Connection(_)) => {}
            Completion::Writable(token) => panic!("{token:?}: nobody has asked for room"),
        }
    }

    fn send(&mut self, token: Token, mut outgoing: Outgoing) {
        loop {
            if outgoing.remaining() == 0 {
                outgoing =
                    Outgoing { head: self.waiting.remove(&token).unwrap_or_default(), ..Outgoing::default() };
            }
            if outgoing.remaining() == 0 {
                return self.end_if_told(token);
            }
            match self.driver.send(token, &mut outgoing) {
                Submitted::Done(Ok(_)) => {}
                Submitted::Done(Err(_)) => return self.driver.detach(token),
                Submitted::Pending => {
                    self.waiting.entry(token).or_default();
                    return;
                }
            }
        }
    }

    fn end_if_told(&mut self, token: Token) {
        if self.ended.contains(&token) && !self.waiting.contains_key(&token) {
            self.driver.detach(token);
        }
    }
}

#[test]
fn every_byte_comes_back_under_all_faults() {
    for_each_seed(300, |seed| {
        let net = SimulatedNet::new(seed);
        let mut random = Random::new(seed);
        net.set_faults(Faults::bearable(&mut random));
        let clients = (0..random.size(1..=5))
            .map(|_| {
                let bytes = (0..random.size(1..=200_000)).map(|_| random.next() as u8).collect::<Vec<_>>();
                let client = Client::connecting_at(ms(random.within(0..=50)))
                    .send_cut(bytes.clone(), &mut random, 9, ms(20))
                    .half_close()
                    .reading(Reading::slow(random.size(5_000..=100_000), ms(random.within(0..=10))))
                    .buffers(random.size(1_000..=300_000), random.size(1_000..=100_000));
                (net.add(client), bytes)
            })
            .collect::<Vec<_>>();
        Echo::new(&net).run(&net, ms(60_000));
        for (client, bytes) in clients {
            let transcript = net.transcript(client);
            assert!(transcript.bytes == bytes, "{} of {}", transcript.bytes.len(), bytes.len());
            assert!(matches!(transcript.end, Some(End::Ended(_))), "{:?}", transcript.end);
        }
    });
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let run = || {
        let net = SimulatedNet::new(7);
        net.set_faults(Faults { short_read: 500, would_block: 300, ..Faults::default() });
        let mut random = Random::new(7);
        let client = net
            .add(Client::connecting_at(ms(1)).send_cut(vec![1; 50_000], &mut random, 9, ms(9)).half_close());
        Echo::new(&net).run(&net, SECOND);
        (0..50_000).map(|index| net.transcript(client).arrived_at(index * 100)).take(500).collect::<Vec<_>>()
    };
    assert_eq!(run(), run());
}

#[test]
fn nothing_is_received_while_receiving_is_paused_nor_more_than_a_receive_at_once() {
    let net = SimulatedNet::new(1);
    let client = net.add(Client::connecting_at(Duration::ZERO).send(vec![b'x'; 100_000]));
    let mut driver = net.driver();
    driver.wait(None).unwrap();
    assert!(matches!(driver.next(), Some(Completion::Accepted { listener: 0, .. })));
    let token = Token { index: 0, generation: 0 };
    driver.attach(token).unwrap();
    driver.set_receiving(token, false);
    driver.wait(Some(SECOND)).unwrap();
    assert!(driver.next().is_none());
    assert_eq!((net.delivered_bytes(client), net.elapsed()), (0, SECOND));

    driver.set_receiving(token, true);
    driver.wait(Some(SECOND)).unwrap();
    assert!(matches!(driver.next(), Some(Completion::Received(..))));
    assert_eq!((driver.received().len(), net.delivered_bytes(client)), (RECEIVE_BYTES, RECEIVE_BYTES));
}

#[test]
fn closing_with_unread_bytes_resets_and_takes_the_unread_answer_with_it() {
    let net = SimulatedNet::new(1);
    let late = Reading::eager().from(SECOND);
    let hasty = net.add(Client::connecting_at(Duration::ZERO).send("abc").reading(late));
    let polite = net.add(Client::connecting_at(Duration::ZERO).reading(late));
    let mut driver = net.driver();
    driver.wait(None).unwrap();
    for index in 0..2 {
        while driver.next().is_none() {
            driver.wait(None).unwrap();
        }
        let token = Token { index, generation: 0 };
        driver.attach(token).unwrap();
        driver.set_receiving(token, false);
        let mut outgoing = Outgoing { head: b"bye".to_vec(), ..Outgoing::default() };
        assert!(matches!(driver.send(token, &mut outgoing), Submitted::Done(Ok(3))));
        driver.detach(token);
    }
    driver.wait(Some(SECOND * 2)).unwrap();
    assert_eq!(net.transcript(hasty).bytes, b"");
    assert!(matches!(net.transcript(hasty).end, Some(End::Reset(_))));
    assert_eq!(net.transcript(polite).bytes, b"bye");
    assert_eq!(net.transcript(polite).end, Some(End::Ended(SECOND)));
}

#[test]
fn a_socket_that_blocks_waits_for_the_client_or_times_out() {
    let net = SimulatedNet::new(1);
    let script = Client::connecting_at(Duration::ZERO).buffers(9, 4);
    net.add(script.clone().reading(Reading::eager().from(ms(300))));
    let mut driver = net.driver();
    driver.wait(None).unwrap();
    driver.next();
    let token = Token { index: 0, generation: 0 };
    driver.attach(token).unwrap();
    let socket = driver.socket(token).unwrap();
    assert_eq!(socket.send(b"abc", b"def").unwrap(), 4);
    assert_eq!(socket.send(b"ef", b"").unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
    assert_eq!(socket.wait_writable(ms(100)).unwrap_err().kind(), std::io::ErrorKind::TimedOut);
    assert_eq!(net.elapsed(), ms(100));
    socket.wait_writable(SECOND).unwrap();
    assert_eq!(net.elapsed(), ms(300));
}

#[test]
fn a_client_waits_for_answers_and_resets_after_reading() {
    let net = SimulatedNet::new(1);
    let answer = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
    let client = net.add(
        Client::connecting_at(Duration::ZERO)
            .send(answer)
            .await_answers(1)
            .send(answer)
            .reset_after_reading(answer.len() + 1),
    );
    Echo::new(&net).run(&net, SECOND);
    let transcript = net.transcript(client);
    assert_eq!(transcript.answers(|_| false).unwrap().len(), 2);
    assert_eq!((net.closed_at(client), transcript.end), (Some(Duration::ZERO), None));
}

#[test]
fn descriptors_run_out_and_come_back() {
    let net = SimulatedNet::new(1);
    net.exhaust_descriptors(Duration::ZERO, ms(10));
    net.add(Client::connecting_at(Duration::ZERO));
    let mut driver = net.driver();
    driver.wait(None).unwrap();
    assert!(matches!(driver.next(), Some(Completion::AcceptFailed(AcceptError::Exhausted(_)))));
    driver.wait(Some(ms(10))).unwrap();
    assert!(driver.next().is_none(), "accepting has paused");
    driver.set_accepting(true);
    driver.wait(None).unwrap();
    assert!(matches!(driver.next(), Some(Completion::Accepted { .. })));
}

#[test]
fn wakes_and_calls_end_a_wait_at_their_time() {
    let net = SimulatedNet::new(1);
    let mut driver = net.driver();
    let waker = driver.waker();
    let waits = Arc::new(AtomicUsize::new(0));
    net.before_wait({
        let waits = Arc::clone(&waits);
        move || {
            waits.fetch_add(1, Ordering::Relaxed);
        }
    });
    net.after(ms(5), move || waker.wake());
    driver.wait(None).unwrap();
    assert_eq!((net.elapsed(), net.timeouts(), waits.load(Ordering::Relaxed)), (ms(5), 0, 1));

    let seen = Arc::new(Mutex::new(None));
    net.at(ms(8), {
        let (seen, net) = (Arc::clone(&seen), net.clone());
        move || *seen.lock().unwrap() = Some(net.elapsed())
    });
    net.pass(ms(10));
    assert_eq!((net.elapsed(), *seen.lock().unwrap()), (ms(15), Some(ms(8))));
    assert_eq!(driver.now().since(net.now()), Duration::ZERO);
}

const TOKEN: Token = Token { index: 0, generation: 0 };

/// A driver with one connection, which is attached and takes a byte, no more.
fn attached() -> SimulatedDriver {
    let net = SimulatedNet::new(1);
    net.add(Client::connecting_at(Duration::ZERO).buffers(9, 1).reading(Reading::never()));
    let mut driver = net.driver();
    driver.wait(None).unwrap();
    driver.next();
    driver.attach(TOKEN).unwrap();
    driver
}

fn two_bytes() -> Outgoing {
    Outgoing { head: b"ab".to_vec(), ..Outgoing::default() }
}

/// The same, with a send under way.
fn sending() -> SimulatedDriver {
    let mut driver = attached();
    driver.send(TOKEN, &mut two_bytes());
    assert!(matches!(driver.send(TOKEN, &mut two_bytes()), Submitted::Pending));
    driver
}

#[test]
#[should_panic(expected = "a connection is attached right behind its completion")]
fn attaching_twice_is_a_mistake() {
    let _ = attached().attach(TOKEN);
}

#[test]
#[should_panic(expected = "0.0 is not attached")]
fn sending_behind_a_detach_is_a_mistake() {
    let mut driver = attached();
    driver.detach(TOKEN);
    driver.send(TOKEN, &mut two_bytes());
}

#[test]
#[should_panic(expected = "nothing is sent")]
fn an_empty_send_is_a_mistake() {
    attached().send(TOKEN, &mut Outgoing::default());
}

#[test]
#[should_panic(expected = "behind the end of the sending direction")]
fn sending_behind_the_end_is_a_mistake() {
    let mut driver = attached();
    driver.shutdown_send(TOKEN);
    driver.send(TOKEN, &mut two_bytes());
}

#[test]
#[should_panic(expected = "has a send under way")]
fn a_second_send_is_a_mistake() {
    sending().send(TOKEN, &mut two_bytes());
}

#[test]
#[should_panic(expected = "two write to one connection")]
fn a_second_writer_is_a_mistake() {
    let _ = sending().socket(TOKEN).unwrap().send(b"x", b"");
}

#[test]
#[should_panic(expected = "the loop spins")]
fn spinning_is_a_mistake() {
    let mut driver = attached();
    (0..9).for_each(|_| driver.wait(Some(Duration::ZERO)).unwrap());
}

#[test]
#[should_panic(expected = "waits for ever")]
fn waiting_for_nothing_is_a_mistake() {
    attached().wait(None).unwrap();
}
