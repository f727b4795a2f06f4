//! A load of uploads: each connection sends one after the other, and every answer is checked.
//!
//! What has begun is finished, so that what the server used can be divided by the bytes that it took. It prints one line of
//! JSON in the end.

mod answer;
mod connection;
mod crew;
mod plain;
mod tus;

use std::net::SocketAddr;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};

use crate::crew::Crew;

#[derive(Parser)]
struct Cli {
    #[command(subcommand)]
    protocol: Protocol,
}

#[derive(Subcommand)]
enum Protocol {
    /// A request for each upload, which the server answers with the bytes that it counted.
    Plain {
        #[command(flatten)]
        target: TargetArgs,
    },
    /// tus 1.0: a request that creates the upload, and some that append to it.
    Tus {
        #[command(flatten)]
        target: TargetArgs,
        /// Bytes of an append.
        #[arg(long)]
        chunk_bytes: u64,
    },
}

#[derive(Args)]
struct TargetArgs {
    #[arg(long)]
    address: SocketAddr,
    #[arg(long)]
    path: String,
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1024))]
    connections: u32,
    /// Bytes of an upload.
    #[arg(long)]
    bytes: u64,
    /// No upload begins after so many seconds.
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..=600))]
    seconds: u64,
    /// Uploads of a connection, at most.
    #[arg(long)]
    max_uploads: u32,
}

impl TargetArgs {
    fn crew(&self) -> Crew {
        Crew {
            address: self.address,
            connections: self.connections as usize,
            duration: Duration::from_secs(self.seconds),
            max_uploads: self.max_uploads,
        }
    }
}

fn main() -> ExitCode {
    match run(Cli::parse().protocol) {
        Ok(line) => {
            println!("{line}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(protocol: Protocol) -> anyhow::Result<String> {
    let (target, outcome) = match protocol {
        Protocol::Plain { target } => {
            let outcome =
                target.crew().run(|connection| plain::upload(connection, &target.path, target.bytes));
            (target, outcome?)
        }
        Protocol::Tus { target, chunk_bytes } => {
            let upload = tus::Upload { path: &target.path, bytes: target.bytes, chunk_bytes };
            let outcome = target.crew().run(|connection| upload.run(connection));
            (target, outcome?)
        }
    };
    Ok(serde_json::to_string(&outcome.report(target.bytes))?)
}
