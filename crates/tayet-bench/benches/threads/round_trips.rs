//! A job to a worker and a letter back, one at a time: what a dispatched request waits for, its handler aside.

use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use criterion::{BenchmarkId, Criterion};
use tayet_engine::measured::{Job, Letter};
use tayet_net::{Driver, Epoll};

use crate::mailboxes::receive;
use tayet_bench::line::{Crossbeam, Guarded, Line, Tayet};
use tayet_bench::post::{self, Post};

pub(crate) fn bench(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("round trip, time");
    let mut measure = |name: &str, trip: &dyn Fn(Epoll, usize) -> Duration| {
        group.bench_function(BenchmarkId::from_parameter(name), |bencher| {
            bencher.iter_custom(|trips| trip(Epoll::new().expect("a poller"), trips as usize));
        });
    };
    measure("engine", &|driver, trips| {
        let post = post::Tayet::new(driver.waker());
        go_and_return(&Tayet::new(1), &post, driver, trips)
    });
    measure("crossbeam-channel", &|driver, trips| {
        let post = post::Crossbeam::new(driver.waker());
        go_and_return(&Crossbeam::default(), &post, driver, trips)
    });
    measure("mutexes", &|driver, trips| {
        let post = post::Guarded::new(driver.waker());
        go_and_return(&Guarded::default(), &post, driver, trips)
    });
}

fn go_and_return(line: &dyn Line, post: &dyn Post, mut driver: Epoll, trips: usize) -> Duration {
    let seated = &Barrier::new(2);
    thread::scope(|scope| {
        scope.spawn(move || line.work(seated, &|_| post.post(Letter::new(0))));
        seated.wait();
        let mut batches: Vec<_> = (0..trips).map(|_| vec![Job::new(None)]).collect();
        let start = Instant::now();
        for batch in &mut batches {
            line.push(batch);
            receive(post, &mut driver, 1);
        }
        let took = start.elapsed();
        line.stop();
        took
    })
}
