//! Running out of descriptors. Alone in its process, whose limit it lowers.

use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

use rustix::fd::AsRawFd;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tayet_net::{AcceptError, Address, Completion, Driver, IoDriver, Listener, Token};

const PATIENCE: Duration = Duration::from_secs(20);

fn next(driver: &mut dyn Driver) -> Completion {
    loop {
        if let Some(completion) = driver.next() {
            return completion;
        }
        driver.wait(Some(PATIENCE)).unwrap();
    }
}

#[test]
fn accepting_pauses_without_descriptors_and_goes_on_when_there_are_some() {
    for io in [IoDriver::Epoll, IoDriver::IoUring] {
        match io.open(1) {
            Ok(mut drivers) => accepting_pauses(&mut *drivers[0]),
            Err(error) => eprintln!("SKIPPED on {io}: {error}"),
        }
    }
}

fn accepting_pauses(driver: &mut dyn Driver) {
    let listener = Listener::bind(&"127.0.0.1:0".parse().unwrap(), false).unwrap();
    let Address::Ip(address) = *listener.address() else { panic!("an IP address was asked for") };
    driver.listen(0, Arc::new(listener)).unwrap();
    let clients = [(); 3].map(|()| TcpStream::connect(address).unwrap());

    // Descriptors are given lowest first, so that there is none below this one.
    let highest = clients[2].as_raw_fd() as u64;
    let before = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: Some(highest + 1), ..before }).unwrap();
    let failed = next(driver);
    assert!(matches!(failed, Completion::AcceptFailed(AcceptError::Exhausted(_))), "{failed:?}");
    driver.wait(Some(Duration::from_millis(20))).unwrap();
    assert!(driver.next().is_none(), "it fails once, not over and over");

    setrlimit(Resource::Nofile, before).unwrap();
    driver.wait(Some(Duration::from_millis(20))).unwrap();
    assert!(driver.next().is_none(), "accepting goes on when it is told to");
    driver.set_accepting(true);
    for index in 0..3 {
        assert!(matches!(next(driver), Completion::Accepted { listener: 0, .. }));
        driver.attach(Token { index, generation: 0 }).unwrap();
    }
}
