//! Bodies from many connections, by a load generator of our own: what has begun is finished, so that the server's time can be
//! divided by the bytes that it took.

use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, ensure};
use serde::Deserialize;

use super::Harness;
use super::background::Background;
use super::clocks::{Clocks, Usage};
use super::figure::{Figure, Figures};
use super::process_stat::peak_resident_bytes;
use super::server::Server;

/// The package of the load generator.
pub(super) const UPLOAD_LOAD: &str = "upload-load";
pub(super) const MIB: u64 = 1 << 20;
const GIB: f64 = (1_u64 << 30) as f64;
/// What the last uploads of many connections may take beyond the time after which none begins.
const GRACE: Duration = Duration::from_secs(180);

/// Who uploads how much, and how.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Upload {
    pub(super) protocol: Protocol,
    pub(super) connections: u32,
    /// Of an upload.
    pub(super) bytes: u64,
    /// Of a connection, one after the other: it limits what is on the disk.
    pub(super) max_uploads: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Protocol {
    /// A request each.
    Plain,
    /// tus 1.0, with appends of so many bytes.
    Tus { chunk_bytes: u64 },
}

/// What came of it.
#[derive(PartialEq, Debug, Deserialize)]
struct Outcome {
    bytes: u64,
    seconds: f64,
    p50_us: f64,
    p99_us: f64,
}

/// Has `upload` done for the harness's time, and measures.
pub(super) fn measure(harness: &Harness<'_>, server: &Server, upload: Upload) -> anyhow::Result<Figures> {
    let program = harness.programs.helper(UPLOAD_LOAD)?;
    let processes = server.processes()?;
    let before = Clocks::read(&processes)?;
    let outcome = upload.run(program, server, harness.settings.load_duration())?;
    let usage = Clocks::read(&processes)?.since(&before);
    Ok(figures(&outcome, &usage, peak_resident_bytes(&processes)?))
}

impl Upload {
    fn run(self, program: &Path, server: &Server, duration: Duration) -> anyhow::Result<Outcome> {
        let mut command = self.command(program, server.address, &server.path, duration);
        let mut load = Background::start(command.stdout(Stdio::piped()))?;
        let status = load.wait(duration + GRACE)?;
        let output = load.output()?;
        ensure!(status.success(), "the load of uploads failed ({status})");
        serde_json::from_str(&output).with_context(|| format!("the load of uploads said {output:?}"))
    }

    fn command(self, program: &Path, address: SocketAddr, path: &str, duration: Duration) -> Command {
        let mut command = Command::new(program);
        match self.protocol {
            Protocol::Plain => command.arg("plain"),
            Protocol::Tus { chunk_bytes } => command.args(["tus", "--chunk-bytes", &chunk_bytes.to_string()]),
        };
        command.args(["--address", &address.to_string(), "--path", path]);
        command.args(["--connections", &self.connections.to_string(), "--bytes", &self.bytes.to_string()]);
        command.args(["--seconds", &duration.as_secs().to_string()]);
        command.args(["--max-uploads", &self.max_uploads.to_string()]);
        command
    }
}

fn figures(outcome: &Outcome, usage: &Usage, peak_resident_bytes: u64) -> Figures {
    let gib = outcome.bytes as f64 / GIB;
    Figures::from([
        (Figure::MibPerSecond, outcome.bytes as f64 / MIB as f64 / outcome.seconds),
        (Figure::UploadP50Ms, outcome.p50_us / 1e3),
        (Figure::UploadP99Ms, outcome.p99_us / 1e3),
        (Figure::CpuMsPerGib, usage.cpu_us_per(gib) / 1e3),
        (Figure::UserMsPerGib, usage.user_us_per(gib) / 1e3),
        (Figure::PeakRssMb, peak_resident_bytes as f64 / 1e6),
        (Figure::ForeignCpuPercent, usage.foreign_percent),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_is_divided_by_what_was_uploaded() {
        let outcome = Outcome { bytes: 2 << 30, seconds: 4.0, p50_us: 1500.0, p99_us: 2500.0 };
        let usage = Usage {
            server_user: Duration::from_millis(100),
            server_system: Duration::from_millis(500),
            foreign_percent: 4.0,
        };
        let expected = Figures::from([
            (Figure::MibPerSecond, 512.0),
            (Figure::UploadP50Ms, 1.5),
            (Figure::UploadP99Ms, 2.5),
            (Figure::CpuMsPerGib, 300.0),
            (Figure::UserMsPerGib, 50.0),
            (Figure::PeakRssMb, 7.0),
            (Figure::ForeignCpuPercent, 4.0),
        ]);
        assert_eq!(figures(&outcome, &usage, 7_000_000), expected);
    }

    #[test]
    fn the_load_is_told_how_much_may_be_on_the_disk() {
        let protocol = Protocol::Tus { chunk_bytes: 8 * MIB };
        let upload = Upload { protocol, connections: 32, bytes: 100 * MIB, max_uploads: 1 };
        let address = "127.0.0.1:80".parse().unwrap();
        let command = upload.command(Path::new("x"), address, "/files/", Duration::from_secs(3));
        let words: Vec<_> = command.get_args().map(|word| word.to_str().unwrap()).collect();
        assert_eq!(&words[..3], ["tus", "--chunk-bytes", "8388608"]);
        assert!(words.ends_with(&["--seconds", "3", "--max-uploads", "1"]), "{words:?}");
    }
}
