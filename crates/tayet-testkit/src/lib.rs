//! A network that happens in one thread, from a seed: the same seed, the same run.
//!
//! [`SimulatedNet`] has a clock of its own, scripted [`Client`]s and [`Faults`]; its [`SimulatedDriver`] is the
//! [`Driver`](tayet_net::Driver) that a loop is given in place of a real one. Whoever waits on it moves the clock. The
//! driver is strict: where the contract of `Driver` is broken, it panics. [`for_each_seed`] runs a test with many seeds and
//! says which one failed.

mod answer;
mod client;
mod driver;
mod faults;
mod net;
mod random;
mod seeds;
mod socket;
mod transcript;
mod wire;
mod world;

pub use answer::{Answer, MalformedAnswer};
pub use client::{Client, Reading};
pub use driver::{RECEIVE_BYTES, SimulatedDriver};
pub use faults::Faults;
pub use net::{ClientId, SimulatedNet};
pub use random::Random;
pub use seeds::for_each_seed;
pub use transcript::{End, Transcript};
