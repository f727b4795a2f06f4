//! The `tayet` command.
//!
//! Without a subcommand it serves the demo: one page that shows what the server does. `tayet serve DIR` serves files.

mod demo;
mod listening;
mod log;
mod options;
mod serve;
mod server_options;

use clap::Parser;

use crate::options::{Command, Options};

fn main() -> tayet::Result {
    let options = Options::parse();
    log::start();
    match options.command() {
        Command::Demo(options) => demo::run(&options),
        Command::Serve(options) => serve::run(&options),
    }
}
