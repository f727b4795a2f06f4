//! A driver whose thread is stuck in a call that nothing interrupts, such as a wait for a disk, goes on elsewhere.
#![allow(unsafe_code, reason = "the safe ways to start a program do not let it block its starter")]

use std::ffi::CString;
use std::fs::OpenOptions;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{CWD, FileType, Mode, mknodat};
use tayet_net::{Address, Completion, Driver, IoUring, Listener, Outgoing, Submitted, Token};

const PATIENCE: Duration = Duration::from_secs(20);

fn next(driver: &mut IoUring) -> Completion {
    let deadline = Instant::now() + PATIENCE;
    while Instant::now() < deadline {
        if let Some(completion) = driver.next() {
            return completion;
        }
        driver.wait(Some(PATIENCE)).unwrap();
    }
    panic!("nothing came");
}

/// A pipe in the file system that has no writer yet.
struct Fifo(PathBuf);

impl Fifo {
    fn new() -> Self {
        let path = std::env::temp_dir().join(format!("tayet-stuck-{}.fifo", std::process::id()));
        mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        Self(path)
    }

    /// Lets go who waits for a writer, or comes to wait for one. Opened for both directions, it does not wait itself.
    fn let_go(&self) {
        std::mem::forget(OpenOptions::new().read(true).write(true).open(&self.0).unwrap());
    }
}

impl Drop for Fifo {
    fn drop(&mut self) {
        self.let_go();
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Starts a program whose standard input is a pipe without a writer. The program waits for one before it is there, and its
/// starter waits for that without hearing signals.
fn be_stuck(fifo: &Path) {
    let path = CString::new(fifo.to_str().unwrap()).unwrap();
    let program = c"/bin/true";
    let arguments = [program.as_ptr().cast_mut(), std::ptr::null_mut()];
    let mut pid = 0;
    // SAFETY: the actions are initialized before they are used and destroyed behind it, all pointers are to live values, and
    // the list of arguments ends with a null pointer.
    unsafe {
        let mut actions = std::mem::zeroed();
        assert_eq!(libc::posix_spawn_file_actions_init(&raw mut actions), 0);
        let opened =
            libc::posix_spawn_file_actions_addopen(&raw mut actions, 0, path.as_ptr(), libc::O_RDONLY, 0);
        assert_eq!(opened, 0);
        let environment = [std::ptr::null_mut()];
        let spawned = libc::posix_spawn(
            &raw mut pid,
            program.as_ptr(),
            &raw const actions,
            std::ptr::null(),
            arguments.as_ptr(),
            environment.as_ptr(),
        );
        assert_eq!(spawned, 0);
        libc::posix_spawn_file_actions_destroy(&raw mut actions);
        libc::waitpid(pid, std::ptr::null_mut(), 0);
    }
}

#[test]
fn a_driver_goes_on_without_a_thread_that_is_stuck() {
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
    let mut clients = [(); 3].map(|()| TcpStream::connect(address).unwrap());
    let fifo = Fifo::new();
    let (handing_over, handed_over) = mpsc::channel();
    let stuck = thread::spawn({
        let path = fifo.0.clone();
        move || {
            for index in 0..3 {
                assert!(matches!(next(&mut driver), Completion::Accepted { .. }));
                driver.attach(Token { index, generation: 0 }).unwrap();
            }
            driver.wait(Some(Duration::from_millis(20))).unwrap();
            assert!(driver.next().is_none());
            handing_over.send((driver, rustix::thread::gettid())).unwrap();
            be_stuck(&path);
        }
    });
    let (mut driver, tid) = handed_over.recv().unwrap();
    // "D" is a sleep that no signal ends.
    let stat = format!("/proc/self/task/{}/stat", tid.as_raw_nonzero());
    while !std::fs::read_to_string(&stat).unwrap().contains(") D ") {
        assert!(!stuck.is_finished());
        thread::yield_now();
    }

    for (index, client) in clients.iter_mut().enumerate() {
        let token = Token { index: index as u32, generation: 0 };
        client.write_all(b"ping").unwrap();
        assert!(matches!(next(&mut driver), Completion::Received(from, _) if from == token));
        assert_eq!(driver.received(), b"ping");
        let mut outgoing = Outgoing { head: b"pong".to_vec(), ..Outgoing::default() };
        assert!(matches!(driver.send(token, &mut outgoing), Submitted::Done(Ok(4))));
        client.read_exact(&mut [0; 4]).unwrap();
    }
    let _late = TcpStream::connect(address).unwrap();
    assert!(matches!(next(&mut driver), Completion::Accepted { .. }));
    driver.waker().wake();
    driver.wait(None).unwrap();
    driver.detach(Token { index: 0, generation: 0 });
    assert_eq!(clients[0].read(&mut [0]).unwrap(), 0, "its peer is told though an operation is stuck");

    assert!(!stuck.is_finished());
    fifo.let_go();
    stuck.join().unwrap();
}
