//! The `tayet` command.
//!
//! Without a subcommand it serves the demo: one page that shows what the server does.

mod demo;
mod log;
mod options;

use clap::Parser;

use crate::options::{Command, Options};

fn main() -> tayet::Result {
    let options = Options::parse();
    log::start();
    match options.command() {
        Command::Demo(demo) => demo::run(&demo),
    }
}
