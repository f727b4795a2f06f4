//! A loop that changes its thread where there are no descriptors left. Alone in its process, whose limit it lowers.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tayet_net::{Address, BatchedSend, Completion, Driver, IoUring, Listener, Outgoing, Submitted, Token};

const PATIENCE: Duration = Duration::from_secs(20);
const TOKEN: Token = Token { index: 0, generation: 0 };

fn next(driver: &mut IoUring) -> Completion {
    loop {
        if let Some(completion) = driver.next() {
            return completion;
        }
        driver.wait(Some(PATIENCE)).unwrap();
    }
}

#[test]
fn a_loop_that_finds_no_ring_sends_all_the_same_and_receives_when_it_finds_one() {
    let mut driver = match IoUring::new() {
        Ok(driver) => driver,
        Err(unavailable) => {
            eprintln!("SKIPPED, as the kernel refuses the driver: {unavailable}");
            return;
        }
    };
    let listener = Listener::bind(&"127.0.0.1:0".parse().unwrap(), false).unwrap();
    let Address::Ip(address) = *listener.address() else { panic!("an IP address was asked for") };
    driver.listen(0, Arc::new(listener)).unwrap();
    let mut client = TcpStream::connect(address).unwrap();
    let earlier = thread::spawn(move || {
        assert!(matches!(next(&mut driver), Completion::Accepted { .. }));
        driver.attach(TOKEN).unwrap();
        assert!(driver.next().is_none());
        driver.wait(Some(Duration::from_millis(20))).unwrap();
        driver
    });
    let mut driver = earlier.join().unwrap();

    let before = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: Some(0), ..before }).unwrap();
    client.write_all(b"ping").unwrap();
    for _ in 0..3 {
        // It looks for a ring again and again, whoever waits how long.
        driver.wait(None).unwrap();
        assert!(driver.next().is_none());
    }
    let mut outgoing = Outgoing { head: b"po".to_vec(), ..Outgoing::default() };
    assert!(matches!(driver.send(TOKEN, &mut outgoing), Submitted::Done(Ok(2))));
    let other = Token { index: 1, ..TOKEN };
    let mut batch = [TOKEN, other].map(|token| BatchedSend { token, bytes: b"ng".to_vec(), sent: 0 });
    driver.send_batch(&mut batch);
    assert_eq!(batch.map(|send| send.sent), [2, 0]);
    let mut answer = [0; 4];
    client.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"pong");

    setrlimit(Resource::Nofile, before).unwrap();
    assert!(matches!(next(&mut driver), Completion::Received(TOKEN, 4)));
    assert_eq!(driver.received(), b"ping");
    driver.waker().wake();
    driver.wait(None).unwrap();
}
