//! The `tayet` command.
//!
//! Without a subcommand it serves the demo: pages that show what the server does. `tayet serve DIR` serves files, and
//! `tayet uploads DIR` receives them.

mod demo;
mod listening;
mod log;
mod options;
mod serve;
mod server_options;
mod upload_page;
mod upload_place;
mod uploads;

use clap::Parser;

use crate::options::{Command, Options};

fn main() -> tayet::Result {
    let options = Options::parse();
    log::start();
    match options.command() {
        Command::Demo(options) => demo::run(&options),
        Command::Serve(options) => serve::run(&options),
        Command::Uploads(options) => uploads::run(&options),
    }
}
