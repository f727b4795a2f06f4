//! What benches of threads need: the engine's ways from thread to thread behind one face with what could stand in their
//! place, and clocks of CPU time.

pub mod clock;
pub mod line;
pub mod post;
