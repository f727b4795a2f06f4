//! One run of wrk against a server, with what the server used meanwhile.

use std::path::Path;
use std::time::Duration;

use super::clocks::{Clocks, Usage};
use super::figure::{Figure, Figures};
use super::process_stat::peak_resident_bytes;
use super::server::Server;
use super::wrk::{Load, Outcome};

/// Long enough for a server to grow its pools and learn what its handlers do; the shortest that wrk runs.
const WARM_UP: Duration = Duration::from_secs(1);

/// Puts `load` to the server for `duration` and measures.
pub(super) fn measure(
    root: &Path,
    server: &Server,
    load: Load,
    duration: Duration,
    warms_up: bool,
) -> anyhow::Result<Figures> {
    if warms_up {
        load.start(root, server.address, &server.path, WARM_UP)?.finish()?;
    }
    let processes = server.processes()?;
    let before = Clocks::read_beside(&processes, &server.database)?;
    let outcome = load.start(root, server.address, &server.path, duration)?.finish()?;
    let usage = Clocks::read_beside(&processes, &server.database)?.since(&before);
    Ok(figures(&outcome, &usage, peak_resident_bytes(&processes)?))
}

fn figures(outcome: &Outcome, usage: &Usage, peak_resident_bytes: u64) -> Figures {
    let requests = outcome.requests as f64;
    let mut figures = Figures::from([
        (Figure::RequestsPerSecond, requests / outcome.duration.as_secs_f64()),
        (Figure::P50Us, outcome.p50_us),
        (Figure::CpuUsPerRequest, usage.cpu_us_per(requests)),
        (Figure::UserUsPerRequest, usage.user_us_per(requests)),
        (Figure::PeakRssMb, peak_resident_bytes as f64 / 1e6),
        (Figure::Errors, outcome.errors as f64),
        (Figure::ForeignCpuPercent, usage.foreign_percent),
    ]);
    figures.extend(outcome.p99_us.map(|p99_us| (Figure::P99Us, p99_us)));
    figures
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_is_divided_by_requests() {
        let outcome = Outcome {
            requests: 100_000,
            bytes: 10_000_000,
            duration: Duration::from_secs(2),
            p50_us: 300.0,
            p99_us: None,
            errors: 2,
        };
        let usage = Usage {
            server_user: Duration::from_millis(100),
            server_system: Duration::from_millis(500),
            foreign_percent: 4.0,
        };
        let expected = Figures::from([
            (Figure::RequestsPerSecond, 50_000.0),
            (Figure::P50Us, 300.0),
            (Figure::CpuUsPerRequest, 6.0),
            (Figure::UserUsPerRequest, 1.0),
            (Figure::PeakRssMb, 7.0),
            (Figure::Errors, 2.0),
            (Figure::ForeignCpuPercent, 4.0),
        ]);
        assert_eq!(figures(&outcome, &usage, 7_000_000), expected);
    }
}
