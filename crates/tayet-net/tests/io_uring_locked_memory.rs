//! Running out of memory that may be locked. Alone in its process, whose limit it lowers.

use std::thread;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::thread::{CapabilitySet, CapabilitySets, capabilities, set_capabilities};
use tayet_net::{IoUring, Unavailable};

/// Some kernels count the memory of rings against this limit (6.18 does), some do not.
#[test]
fn without_memory_that_may_be_locked_there_is_a_driver_or_a_reason() {
    if let Err(unavailable) = IoUring::new() {
        eprintln!("SKIPPED, as the kernel refuses io_uring with such memory: {unavailable}");
        return;
    }
    let before = getrlimit(Resource::Memlock);
    setrlimit(Resource::Memlock, Rlimit { current: Some(0), ..before }).unwrap();
    let opened = thread::spawn(|| {
        let own = capabilities(None).unwrap();
        let effective = own.effective.difference(CapabilitySet::IPC_LOCK);
        set_capabilities(None, CapabilitySets { effective, ..own }).unwrap();
        IoUring::new().map(drop)
    });
    let opened = opened.join().unwrap();
    setrlimit(Resource::Memlock, before).unwrap();
    assert!(matches!(opened, Ok(()) | Err(Unavailable::LockedMemory { limit_bytes: 0 })), "{opened:?}");
}
