//! What loops write for a request, by several threads at once: if two wrote to one cache line, a turn would take each of them
//! more than it takes one alone. Beside it counters that do lie on one line, to see that it would show.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Duration;

use criterion::{BenchmarkId, Criterion};
use tayet_engine::measured::Writer;

use tayet_bench::clock::thread_cpu;
use tayet_bench::one_route::OneRoute;

/// Of a counter in a turn: about as often as a loop takes a lock or swaps a word.
const WRITES_A_TURN: usize = 4;

pub(crate) fn bench(criterion: &mut Criterion) {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let mut group = criterion.benchmark_group("contention, CPU a turn of each thread");
    for threads in [1, 2, cores].into_iter().filter(|&threads| threads <= cores) {
        let mut loops = Writer::of_loops(threads, Arc::new(OneRoute(""))).expect("pollers");
        let id = BenchmarkId::new("loops of one engine", threads);
        group.bench_function(id, |bencher| {
            bencher.iter_custom(|turns| at_once(turns, loops.iter_mut().map(|writer| || writer.turn())));
        });
        let packed = (0..threads).map(|_| AtomicU64::new(0)).collect::<Vec<_>>();
        group.bench_function(BenchmarkId::new("counters on one line", threads), |bencher| {
            bencher.iter_custom(|turns| at_once(turns, packed.iter().map(|counter| || count(counter))));
        });
        if threads == cores {
            break;
        }
    }
}

fn count(counter: &AtomicU64) {
    for _ in 0..WRITES_A_TURN {
        counter.fetch_add(1, Ordering::AcqRel);
    }
}

/// The CPU time of so many turns on each of some threads at once, the mean of them.
fn at_once<T: FnMut() + Send>(turns: u64, each: impl ExactSizeIterator<Item = T>) -> Duration {
    let threads = each.len();
    let begin = &Barrier::new(threads);
    let total: Duration = thread::scope(|scope| {
        let running = each.map(|mut turn| {
            scope.spawn(move || {
                begin.wait();
                let start = thread_cpu();
                (0..turns).for_each(|_| turn());
                thread_cpu() - start
            })
        });
        let running = running.collect::<Vec<_>>();
        running.into_iter().map(|thread| thread.join().expect("it did its turns")).sum()
    });
    total / threads as u32
}
