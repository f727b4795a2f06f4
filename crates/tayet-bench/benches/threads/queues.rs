//! The queue between a loop and its workers.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Barrier, Mutex};
use std::thread::{self, Thread};
use std::time::Duration;

use criterion::{BenchmarkId, Criterion};
use tayet_engine::measured::Job;

use tayet_bench::clock::process_cpu;
use tayet_bench::line::{Crossbeam, Guarded, Line, Std, Tayet};

/// Jobs under way at a time: as of so many connections that take turns.
const IN_FLIGHT: usize = 64;

/// What calls take that share a wake-up with others.
const SHORT: Duration = Duration::from_micros(2);

pub(crate) fn bench(criterion: &mut Criterion) {
    for (workers, batch) in [(1, 1), (1, 16), (4, 1), (4, 16)] {
        let name = format!("queue, CPU a job: {workers} workers, batches of {batch}");
        let mut group = criterion.benchmark_group(name);
        let mut measure = |name: &str, open: &dyn Fn() -> Box<dyn Line>, expected| {
            group.bench_function(BenchmarkId::from_parameter(name), |bencher| {
                with_workers(&*open(), workers, expected, |crew| {
                    bencher.iter_custom(|jobs| crew.hand_over(jobs as usize, batch));
                });
            });
        };
        measure("engine", &|| Box::new(Tayet::new(workers)), None);
        measure("engine, short calls", &|| Box::new(Tayet::new(workers)), Some(SHORT));
        measure("crossbeam-channel", &|| Box::new(Crossbeam::default()), None);
        measure("std mpsc", &|| Box::new(Std::default()), None);
        measure("mutex and condvar", &|| Box::new(Guarded::default()), None);
    }
}

/// A producer with its workers.
struct Crew<'a> {
    line: &'a dyn Line,
    producer: Thread,
    spare: Mutex<Vec<Job>>,
    /// Where each worker lays the jobs that it is done with, for the next round.
    done: Vec<Mutex<Vec<Job>>>,
    left: AtomicUsize,
}

fn with_workers(
    line: &dyn Line,
    workers: usize,
    expected: Option<Duration>,
    mut measure: impl FnMut(&Crew<'_>),
) {
    let crew = Crew {
        line,
        producer: thread::current(),
        spare: Mutex::new((0..IN_FLIGHT).map(|_| Job::new(expected)).collect()),
        done: (0..workers).map(|_| Mutex::default()).collect(),
        left: AtomicUsize::new(0),
    };
    let seated = Barrier::new(workers + 1);
    thread::scope(|scope| {
        for done in &crew.done {
            let (crew, seated) = (&crew, &seated);
            scope.spawn(move || line.work(seated, &|job| crew.finish(done, job)));
        }
        seated.wait();
        measure(&crew);
        line.stop();
    });
}

impl Crew<'_> {
    fn finish(&self, done: &Mutex<Vec<Job>>, job: Job) {
        done.lock().expect("nobody panics here").push(job);
        if self.left.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.producer.unpark();
        }
    }

    /// The CPU time of handing over so many jobs.
    fn hand_over(&self, jobs: usize, batch: usize) -> Duration {
        let mut took = Duration::ZERO;
        let mut left = jobs;
        while left > 0 {
            let count = left.min(IN_FLIGHT);
            let mut batches = self.batches(count, batch);
            self.left.store(count, Ordering::Release);
            let start = process_cpu();
            batches.iter_mut().for_each(|batch| self.line.push(batch));
            while self.left.load(Ordering::Acquire) > 0 {
                thread::park();
            }
            took += process_cpu() - start;
            self.take_back();
            left -= count;
        }
        took
    }

    fn batches(&self, count: usize, batch: usize) -> Vec<Vec<Job>> {
        let mut spare = self.spare.lock().expect("nobody panics here");
        let mut jobs = spare.drain(..count);
        let batches = (0..count.div_ceil(batch)).map(|_| jobs.by_ref().take(batch).collect());
        batches.collect()
    }

    fn take_back(&self) {
        let mut spare = self.spare.lock().expect("nobody panics here");
        for done in &self.done {
            spare.append(&mut done.lock().expect("nobody panics here"));
        }
    }
}
