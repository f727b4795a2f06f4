//! The tayet command.
fn main() {}
