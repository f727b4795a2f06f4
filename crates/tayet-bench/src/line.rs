//! Ways from a loop to workers: the engine's, and what others would take.

use std::collections::VecDeque;
use std::sync::mpsc;
use std::sync::{Barrier, Condvar, Mutex};

use tayet_engine::measured::{Job, Queue};

/// More than is ever under way.
const CAPACITY: usize = 4_096;

/// A queue with one producer and some workers.
pub trait Line: Sync {
    /// Hands over what was gathered.
    fn push(&self, jobs: &mut Vec<Job>);

    /// A worker's: waits until all are `seated`, and does what comes until [`Line::stop`].
    fn work(&self, seated: &Barrier, each: &dyn Fn(Job));

    /// Lets the workers end.
    fn stop(&self);
}

/// The engine's: a batch under one lock, and workers that are woken by name, those that parked last first.
pub struct Tayet(Queue);

impl Tayet {
    /// For exactly so many workers.
    pub fn new(workers: usize) -> Self {
        Self(Queue::new(workers, CAPACITY))
    }
}

impl Line for Tayet {
    fn push(&self, jobs: &mut Vec<Job>) {
        self.0.push(jobs);
    }

    fn work(&self, seated: &Barrier, each: &dyn Fn(Job)) {
        let worker = self.0.seat();
        seated.wait();
        while let Some(job) = worker.next() {
            each(job);
        }
    }

    fn stop(&self) {
        self.0.stop();
    }
}

/// A channel of crossbeam's, without a bound.
pub struct Crossbeam {
    sender: Mutex<Option<crossbeam_channel::Sender<Job>>>,
    receiver: crossbeam_channel::Receiver<Job>,
}

impl Default for Crossbeam {
    fn default() -> Self {
        let (sender, receiver) = crossbeam_channel::unbounded();
        Self { sender: Mutex::new(Some(sender)), receiver }
    }
}

impl Line for Crossbeam {
    fn push(&self, jobs: &mut Vec<Job>) {
        let sender = self.sender.lock().expect("nobody panics here");
        let sender = sender.as_ref().expect("it was not stopped");
        jobs.drain(..).for_each(|job| sender.send(job).expect("the workers are there"));
    }

    fn work(&self, seated: &Barrier, each: &dyn Fn(Job)) {
        seated.wait();
        self.receiver.iter().for_each(each);
    }

    fn stop(&self) {
        self.sender.lock().expect("nobody panics here").take();
    }
}

/// The standard library's channel; its workers take turns in waiting at it.
pub struct Std {
    sender: Mutex<Option<mpsc::Sender<Job>>>,
    receiver: Mutex<mpsc::Receiver<Job>>,
}

impl Default for Std {
    fn default() -> Self {
        let (sender, receiver) = mpsc::channel();
        Self { sender: Mutex::new(Some(sender)), receiver: Mutex::new(receiver) }
    }
}

impl Line for Std {
    fn push(&self, jobs: &mut Vec<Job>) {
        let sender = self.sender.lock().expect("nobody panics here");
        let sender = sender.as_ref().expect("it was not stopped");
        jobs.drain(..).for_each(|job| sender.send(job).expect("the workers are there"));
    }

    fn work(&self, seated: &Barrier, each: &dyn Fn(Job)) {
        seated.wait();
        let next = || self.receiver.lock().expect("nobody panics here").recv();
        while let Ok(job) = next() {
            each(job);
        }
    }

    fn stop(&self) {
        self.sender.lock().expect("nobody panics here").take();
    }
}

/// A deque under a lock, with a condition variable: one wake-up for each job.
#[derive(Default)]
pub struct Guarded {
    state: Mutex<(VecDeque<Job>, bool)>,
    changed: Condvar,
}

impl Line for Guarded {
    fn push(&self, jobs: &mut Vec<Job>) {
        let count = jobs.len();
        self.state.lock().expect("nobody panics here").0.extend(jobs.drain(..));
        (0..count).for_each(|_| self.changed.notify_one());
    }

    fn work(&self, seated: &Barrier, each: &dyn Fn(Job)) {
        seated.wait();
        loop {
            let state = self.state.lock().expect("nobody panics here");
            let waits = |(jobs, is_over): &mut (VecDeque<Job>, bool)| jobs.is_empty() && !*is_over;
            let mut state = self.changed.wait_while(state, waits).expect("nobody panics here");
            let Some(job) = state.0.pop_front() else { return };
            drop(state);
            each(job);
        }
    }

    fn stop(&self) {
        self.state.lock().expect("nobody panics here").1 = true;
        self.changed.notify_all();
    }
}
