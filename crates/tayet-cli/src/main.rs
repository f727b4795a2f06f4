//! The `tayet` command.
//!
//! Without a subcommand it serves the demo: pages that show what the server does.

mod demo;
mod listening;
mod log;
mod options;
mod upload_page;
mod uploads;

use clap::Parser;

use crate::options::{Command, Options};

fn main() -> tayet::Result {
    let options = Options::parse();
    log::start();
    match options.command() {
        Command::Demo(demo) => demo::run(&demo),
        Command::Uploads(uploads) => uploads::run(&uploads),
    }
}
