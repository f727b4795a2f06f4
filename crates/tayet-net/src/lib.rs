//! Sockets, pollers, timers and wake-ups for Tayet.
//!
//! The heart is the [`Driver`]: operations go in (listen, attach, send), [`Completion`]s come out. The interface is
//! completion-shaped, since io_uring is; [`Epoll`] adapts readiness to it. A driver belongs to one loop and may move
//! between threads with it; what other threads may touch of a connection is its [`Socket`] and the loop's [`Waker`].

mod address;
mod alarm_clock;
mod arrivals;
mod descriptors;
mod driver;
#[cfg(test)]
mod driver_tests;
mod epoll;
mod io_choice;
mod io_driver;
mod io_uring;
mod listener;
mod moment;
mod near_socket;
mod prefetch;
mod ready_queue;
mod return_stack;
mod rough_clock;
mod rouser;
mod socket;
mod sys;
mod thread_activity;
mod thread_usage;
mod timer;
mod waker;

pub use self::io_uring::{IoUring, Unavailable};
pub use address::{Address, InvalidAddress, PeerAddress};
pub use alarm_clock::AlarmClock;
pub use descriptors::{MAX_DESCRIPTORS_AHEAD, make_room_for_descriptors};
pub use driver::{AcceptError, BatchedSend, Completion, Driver, Outgoing, Submitted, Token};
pub use epoll::Epoll;
pub use io_driver::{InvalidIoDriver, IoDriver};
pub use listener::{LISTEN_BACKLOG, Listener};
pub use moment::Moment;
pub use prefetch::{Companion, prefetch};
pub use socket::{Socket, TcpSocket};
pub use thread_activity::{ThreadActivity, ThreadState};
pub use thread_usage::ThreadUsage;
pub use timer::{TICK_MS, TimerWheel};
pub use waker::{Wake, Waker};
