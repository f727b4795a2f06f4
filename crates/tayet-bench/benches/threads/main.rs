//! What threads cost each other: the queue between loops and workers, the mailbox back, and what loops write side by side.
//! The first two beside what could stand in their place.
//!
//! `cargo bench -p tayet-bench`, or with the beginning of a group's name behind it. CPU is counted where a group says so,
//! that of all threads: it is what a hand-over takes from a server that has other work, and what drifts least on a machine
//! that has some itself.
#![expect(missing_docs, reason = "criterion's macro writes a function that has none")]

mod contention;
mod mailboxes;
mod queues;
mod round_trips;

use std::time::Duration;

use criterion::{Criterion, criterion_group, criterion_main};

criterion_group! {
    name = threads;
    config = Criterion::default()
        .sample_size(20)
        .warm_up_time(Duration::from_millis(200))
        .measurement_time(Duration::from_millis(800));
    targets = queues::bench, mailboxes::bench, round_trips::bench, contention::bench
}
criterion_main!(threads);
