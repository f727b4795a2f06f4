//! The mailbox of a loop.

use std::sync::Barrier;
use std::thread;
use std::time::Duration;

use criterion::{BenchmarkId, Criterion};
use tayet_engine::measured::Letter;
use tayet_net::{Driver, Epoll, Waker};

use tayet_bench::clock::{burn, process_cpu};
use tayet_bench::post::{Crossbeam, Flagged, Guarded, Post, Tayet};

/// Letters between two looks at the clock.
const LETTERS: usize = 4_096;

pub(crate) fn bench(criterion: &mut Criterion) {
    for (posters, pause_us) in [(1, 0), (1, 5), (4, 0), (4, 5)] {
        let pause = Duration::from_micros(pause_us);
        let name = format!("mailbox, CPU a letter: {posters} posters, each every {pause_us} us");
        let mut group = criterion.benchmark_group(name);
        let mut measure = |name: &str, open: &dyn Fn(Waker) -> Box<dyn Post>| {
            group.bench_function(BenchmarkId::from_parameter(name), |bencher| {
                bencher.iter_custom(|letters| {
                    let rounds = (letters as usize).div_ceil(LETTERS);
                    let took: Duration = (0..rounds).map(|_| deliver(open, posters, pause)).sum();
                    took.mul_f64(letters as f64 / (rounds * LETTERS) as f64)
                });
            });
        };
        measure("engine", &|waker| Box::new(Tayet::new(waker)));
        measure("mutex, a wake each", &|waker| Box::new(Guarded::new(waker)));
        measure("crossbeam-channel, a wake each", &|waker| Box::new(Crossbeam::new(waker)));
        measure("crossbeam-channel and a flag", &|waker| Box::new(Flagged::new(waker)));
    }
}

/// The CPU time of [`LETTERS`] letters, but for what was burned between them.
fn deliver(open: &dyn Fn(Waker) -> Box<dyn Post>, posters: usize, pause: Duration) -> Duration {
    let mut driver = Epoll::new().expect("a poller");
    let post = &*open(driver.waker());
    let begin = &Barrier::new(posters + 1);
    thread::scope(|scope| {
        let posting = (0..posters).map(|_| {
            scope.spawn(move || {
                begin.wait();
                post_letters(post, LETTERS / posters, pause)
            })
        });
        let posting = posting.collect::<Vec<_>>();
        let start = process_cpu();
        begin.wait();
        receive(post, &mut driver, LETTERS);
        let burned: Duration = posting.into_iter().map(|poster| poster.join().expect("it posted all")).sum();
        (process_cpu() - start).saturating_sub(burned)
    })
}

/// Gives the CPU time that was burned between letters.
fn post_letters(post: &dyn Post, count: usize, pause: Duration) -> Duration {
    let mut burned = Duration::ZERO;
    for index in 0..count {
        post.post(Letter::new(index as u32));
        if !pause.is_zero() {
            burned += burn(pause);
        }
    }
    burned
}

/// Sleeps in the poller until so many letters have come.
pub(crate) fn receive(post: &dyn Post, driver: &mut Epoll, count: usize) {
    let mut received = 0;
    while received < count {
        if post.fall_asleep() {
            driver.wait(None).expect("the poller waits");
            while driver.next().is_some() {}
        }
        received += post.take();
    }
}
