//! What a server is told where the kernel, or who guards it, gives no io_uring. Filters of system calls are a thread's own,
//! so that each case has one.

use std::collections::BTreeMap;
use std::thread;

use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, apply_filter};
use tayet_net::{IoDriver, IoUring};

/// What `io` gives to a thread for which `call` is answered with `action`: the number of its drivers, or why there is none.
fn open_where(call: i64, action: SeccompAction, io: IoDriver) -> Result<usize, String> {
    let rules = BTreeMap::from([(call, Vec::new())]);
    let architecture = std::env::consts::ARCH.try_into().expect("an architecture that can be filtered");
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, action, architecture).unwrap();
    let filter = BpfProgram::try_from(filter).unwrap();
    let filtered = thread::spawn(move || {
        apply_filter(&filter).unwrap();
        io.open(1).map(|drivers| drivers.len()).map_err(|error| error.to_string())
    });
    filtered.join().expect("the thread came to its end")
}

fn refuse(errno: i32) -> SeccompAction {
    SeccompAction::Errno(errno as u32)
}

#[test]
fn a_filter_is_named_whatever_it_says_and_of_whichever_call() {
    if let Err(unavailable) = IoUring::new() {
        eprintln!("SKIPPED, as the kernel refuses io_uring without a filter: {unavailable}");
        return;
    }
    for call in [libc::SYS_io_uring_setup, libc::SYS_io_uring_register, libc::SYS_io_uring_enter] {
        for errno in [libc::EPERM, libc::ENOSYS, libc::EACCES] {
            let refusal = open_where(call, refuse(errno), IoDriver::IoUring);
            let expected = "io_uring is forbidden by a seccomp filter".to_owned();
            assert_eq!(refusal, Err(expected), "call {call}, errno {errno}");
        }
    }
}

#[test]
fn a_kernel_without_a_part_is_called_too_old() {
    if let Err(unavailable) = IoUring::new() {
        eprintln!("SKIPPED, as the kernel refuses io_uring without a filter: {unavailable}");
        return;
    }
    // As Linux 5.18 answers, which does not know the flags that the ring is set up with.
    let refusal = open_where(libc::SYS_io_uring_setup, refuse(libc::EINVAL), IoDriver::IoUring).unwrap_err();
    assert!(refusal.contains("too old: its io_uring has no deferred task running"), "{refusal}");
}

#[test]
fn where_asking_is_deadly_the_default_does_not_ask() {
    let drivers = open_where(libc::SYS_io_uring_setup, SeccompAction::KillThread, IoDriver::Auto);
    assert_eq!(drivers, Ok(1));
}

#[test]
fn epoll_needs_nothing_of_it() {
    let drivers = open_where(libc::SYS_io_uring_setup, SeccompAction::KillThread, IoDriver::Epoll);
    assert_eq!(drivers, Ok(1));
}
