//! Sockets, pollers, timers and wake-ups for Tayet.
