//! The project's own chores: tests, checks, benchmarks.
fn main() {}
