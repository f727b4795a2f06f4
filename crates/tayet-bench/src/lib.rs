//! What benches need: the engine's ways from thread to thread behind one face with what could stand in their place, connections
//! without a kernel, a service of one route, and clocks of CPU time.

pub mod canned;
pub mod clock;
pub mod line;
pub mod one_route;
pub mod post;
