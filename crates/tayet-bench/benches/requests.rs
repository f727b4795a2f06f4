//! What a request takes of the loop's thread where there is no kernel: from its bytes to those of its answer, with nothing else to
//! drive code and data from the processor's caches. Beside a real load it takes several times that.
//!
//! Where a machine's speed changes, so do criterion's estimates, and less so the least that is printed behind them. Two programs are to be
//! compared in turns.
//!
//! `cargo bench -p tayet-bench --bench requests`, or with the beginning of a name behind it.
#![expect(missing_docs, reason = "criterion's macro writes a function that has none")]

use std::cell::Cell;
use std::sync::Arc;
use std::time::Duration;

use criterion::{Criterion, criterion_group, criterion_main};
use tayet_engine::measured;

use tayet_bench::canned::Canned;
use tayet_bench::one_route::OneRoute;

const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nHost: 127.0.0.1:8080\r\n\r\n";
const TEXT: &str = "Hello, World!";

/// Requests in a span that is long enough to be the shortest: some milliseconds.
const MIN_SPAN_REQUESTS: u64 = 20_000;

fn bench(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("CPU a request");
    for (name, connections, pipelined) in [
        ("hello, 64 connections", 64, 1),
        ("hello, 4,096 connections", 4_096, 1),
        ("hello, 64 connections, 16 pipelined", 64, 16),
    ] {
        let driver = Canned::new(connections, REQUEST.repeat(pipelined)).expect("a poller, for its clocks");
        let prompter = driver.prompter();
        let engine = measured::serve(Box::new(driver), Arc::new(OneRoute(TEXT))).expect("threads");
        let requests_a_turn = (connections * pipelined) as u64;
        // The first turn shows how long an answer is, and learns how fast the route is.
        let bytes_a_turn = prompter.take_turns(1).bytes;
        assert_eq!(bytes_a_turn % requests_a_turn, 0, "the answers differ");
        assert!(bytes_a_turn > requests_a_turn * TEXT.len() as u64);
        let least_ns = Cell::new(f64::INFINITY);
        group.bench_function(name, |bencher| {
            bencher.iter_custom(|requests| {
                let turns = requests.div_ceil(requests_a_turn);
                let answered = prompter.take_turns(turns);
                assert_eq!(answered.bytes, turns * bytes_a_turn, "something was not answered");
                let answers = turns * requests_a_turn;
                if answers >= MIN_SPAN_REQUESTS {
                    least_ns.set(least_ns.get().min(answered.took.as_nanos() as f64 / answers as f64));
                }
                answered.took.mul_f64(requests as f64 / answers as f64)
            });
        });
        // Infinite where only others were asked for.
        if least_ns.get().is_finite() {
            println!("{name}: {:.0} ns at the least", least_ns.get());
        }
        engine.shutdown();
        engine.join();
    }
}

criterion_group! {
    name = requests;
    config = Criterion::default()
        .sample_size(20)
        .warm_up_time(Duration::from_millis(200))
        .measurement_time(Duration::from_secs(2));
    targets = bench
}
criterion_main!(requests);
