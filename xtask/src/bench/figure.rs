//! What is measured, and the arithmetic on it: medians over rounds, ratios within a round.

use std::collections::BTreeMap;

use serde::Serialize;

/// Something that a run measures. The order is that of the tables' columns.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Figure {
    RequestsPerSecond,
    MessagesPerSecond,
    /// Of a publication, one for each subscriber.
    DeliveriesPerSecond,
    /// Of uploads that are finished.
    MibPerSecond,
    P50Us,
    P99Us,
    MaxUs,
    /// From an upload's beginning to its last answer.
    UploadP50Ms,
    UploadP99Ms,
    /// The server's user and system time.
    CpuUsPerRequest,
    /// The server's user time alone.
    UserUsPerRequest,
    /// The server's user and system time for a WebSocket message that comes and goes.
    CpuUsPerMessage,
    UserUsPerMessage,
    /// The same for a message that goes to one of a topic's subscribers.
    CpuUsPerDelivery,
    UserUsPerDelivery,
    /// The server's user and system time for what was uploaded.
    CpuMsPerGib,
    UserMsPerGib,
    SyscallsPerRequest,
    SyscallsPerMessage,
    /// In user space.
    InstructionsPerRequest,
    PeakRssMb,
    /// What the server's processes share is counted once.
    PssMb,
    /// Of a compressed answer's body.
    BodyBytes,
    /// Of the load that runs beside the one whose latency is measured.
    SleepsPerSecond,
    /// Of the requests that should have been sent on time, those that were answered at all.
    AnsweredPercent,
    /// Of the keep-alive connections that sent one request each.
    AnsweredAlone,
    /// The same, with the idle connections beside them.
    AnsweredBesideIdle,
    SlowestAnswerMs,
    IdleConnections,
    BytesPerIdleConnection,
    /// Open WebSockets.
    Sockets,
    /// That these are spread over.
    ServerProcesses,
    OpenSeconds,
    /// Of the servers' resident memory.
    BytesPerSocket,
    /// Both ends of the connection, since the load is on the same machine.
    KernelBytesPerSocketPair,
    /// Of one core, while nothing is sent.
    IdleCpuPercent,
    /// Sockets that the server has pinged at least once.
    Pinged,
    /// From a publication until the last subscriber has it.
    LastReceiptMs,
    LastReceiptP50Ms,
    LastReceiptP99Ms,
    /// Refused or broken connections, time-outs, answers other than 2xx and 3xx.
    Errors,
    /// What neither server nor load nor harness used, of all cores.
    ForeignCpuPercent,
}

/// The figures of one run, or their medians.
pub(super) type Figures = BTreeMap<Figure, f64>;

impl Figure {
    pub(super) fn heading(self) -> &'static str {
        match self {
            Self::RequestsPerSecond => "requests/s",
            Self::MessagesPerSecond => "messages/s",
            Self::DeliveriesPerSecond => "deliveries/s",
            Self::MibPerSecond => "MiB/s",
            Self::UploadP50Ms => "upload ms, p50",
            Self::P50Us => "p50 µs",
            Self::P99Us => "p99 µs",
            Self::MaxUs => "max µs",
            Self::CpuUsPerRequest => "CPU µs/request",
            Self::UserUsPerRequest
            | Self::UserUsPerMessage
            | Self::UserUsPerDelivery
            | Self::UserMsPerGib => "of it user",
            Self::CpuMsPerGib => "CPU ms/GiB",
            Self::CpuUsPerMessage => "CPU µs/message",
            Self::CpuUsPerDelivery => "CPU µs/delivery",
            Self::SyscallsPerRequest => "system calls/request",
            Self::SyscallsPerMessage => "system calls/message",
            Self::InstructionsPerRequest => "instructions/request",
            Self::PeakRssMb => "peak RSS MB",
            Self::PssMb => "PSS MB",
            Self::BodyBytes => "bytes/answer",
            Self::SleepsPerSecond => "sleeps/s",
            Self::AnsweredPercent => "answered %",
            Self::AnsweredAlone => "answered of 64, alone",
            Self::AnsweredBesideIdle => "answered of 64, beside idle",
            Self::SlowestAnswerMs => "slowest answer ms",
            Self::IdleConnections => "idle connections",
            Self::BytesPerIdleConnection => "bytes/idle connection",
            Self::Sockets => "sockets",
            Self::ServerProcesses => "server processes",
            Self::OpenSeconds => "s to open",
            Self::BytesPerSocket => "bytes/socket",
            Self::KernelBytesPerSocketPair => "kernel bytes/both ends",
            Self::IdleCpuPercent => "idle CPU %",
            Self::Pinged => "pinged",
            Self::LastReceiptMs => "publish to last receipt ms",
            Self::LastReceiptP50Ms => "publish to last receipt ms, p50",
            Self::LastReceiptP99Ms | Self::UploadP99Ms => "p99",
            Self::Errors => "errors",
            Self::ForeignCpuPercent => "foreign CPU %",
        }
    }

    /// Digits behind the point that the measurement carries.
    pub(super) fn decimals(self) -> usize {
        match self {
            Self::CpuUsPerRequest
            | Self::UserUsPerRequest
            | Self::CpuUsPerMessage
            | Self::UserUsPerMessage
            | Self::CpuUsPerDelivery
            | Self::UserUsPerDelivery
            | Self::SyscallsPerRequest
            | Self::SyscallsPerMessage => 2,
            Self::PeakRssMb
            | Self::PssMb
            | Self::SlowestAnswerMs
            | Self::AnsweredPercent
            | Self::OpenSeconds
            | Self::IdleCpuPercent
            | Self::LastReceiptMs
            | Self::LastReceiptP50Ms
            | Self::LastReceiptP99Ms => 1,
            _ => 0,
        }
    }

    /// Whether a column of its own tells something in the tables; the rest is in the JSON file.
    pub(super) fn is_column(self) -> bool {
        !matches!(self, Self::Errors | Self::ForeignCpuPercent)
    }
}

/// The median, or nothing for no values; the mean of the middle two of an even number.
pub(super) fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => None,
        length if length % 2 == 1 => Some(values[middle]),
        _ => Some(f64::midpoint(values[middle - 1], values[middle])),
    }
}

/// The median of each figure over the runs that have it.
pub(super) fn medians(runs: &[Figures]) -> Figures {
    let mut values: BTreeMap<Figure, Vec<f64>> = BTreeMap::new();
    for (&figure, &value) in runs.iter().flatten() {
        values.entry(figure).or_default().push(value);
    }
    values.into_iter().filter_map(|(figure, values)| Some((figure, median(values)?))).collect()
}

/// The median of `figure`'s ratios to `base`, each taken within one round: rounds drift, neighbours in time do not.
pub(super) fn ratio(runs: &[Figures], base: &[Figures], figure: Figure) -> Option<f64> {
    median(ratios(runs, base, figure))
}

/// The interval in which that median lies with 95 % confidence, by rank: so many of them below its lower end, and as many above its
/// upper one, that fewer tosses of a coin would come up heads once in forty times. Nothing for fewer than six rounds.
pub(super) fn ratio_interval(runs: &[Figures], base: &[Figures], figure: Figure) -> Option<(f64, f64)> {
    let mut ratios = ratios(runs, base, figure);
    ratios.sort_by(f64::total_cmp);
    let outside = ranks_outside(ratios.len())?;
    Some((ratios[outside], ratios[ratios.len() - 1 - outside]))
}

fn ratios(runs: &[Figures], base: &[Figures], figure: Figure) -> Vec<f64> {
    let ratios = runs.iter().zip(base).filter_map(|(run, base)| {
        let ratio = run.get(&figure)? / base.get(&figure)?;
        ratio.is_finite().then_some(ratio)
    });
    ratios.collect()
}

/// How many of so many values lie on each side of the interval of their median.
fn ranks_outside(count: usize) -> Option<usize> {
    const TAIL: f64 = 0.025;
    // By logarithms, since the chance of no heads at all is less than a number can be for more than a thousand tosses.
    let mut ln_chance = count as f64 * 0.5_f64.ln();
    let mut below = 0.0;
    for heads in 0..count {
        below += ln_chance.exp();
        if below > TAIL {
            return heads.checked_sub(1);
        }
        ln_chance += ((count - heads) as f64 / (heads + 1) as f64).ln();
    }
    None
}

#[cfg(test)]
mod tests {
    use super::Figure::{CpuUsPerRequest, RequestsPerSecond};
    use super::*;

    fn runs(figure: Figure, values: &[f64]) -> Vec<Figures> {
        values.iter().map(|&value| Figures::from([(figure, value)])).collect()
    }

    #[test]
    fn the_median_is_the_middle_or_the_mean_of_the_middle_two() {
        assert_eq!(median(vec![]), None);
        assert_eq!(median(vec![7.0]), Some(7.0));
        assert_eq!(median(vec![9.0, 1.0, 3.0]), Some(3.0));
        assert_eq!(median(vec![9.0, 1.0, 3.0, 4.0]), Some(3.5));
    }

    #[test]
    fn medians_are_taken_figure_by_figure() {
        let mut samples = runs(RequestsPerSecond, &[10.0, 30.0, 20.0]);
        samples[1].insert(CpuUsPerRequest, 5.0);
        assert_eq!(medians(&samples), Figures::from([(RequestsPerSecond, 20.0), (CpuUsPerRequest, 5.0)]));
    }

    #[test]
    fn a_ratio_compares_within_a_round() {
        // The second round ran at half the speed: the ratio does not notice.
        let (run, base) =
            (runs(RequestsPerSecond, &[90.0, 45.0, 95.0]), runs(RequestsPerSecond, &[100.0, 50.0, 100.0]));
        assert_eq!(ratio(&run, &base, RequestsPerSecond), Some(0.9));
    }

    #[test]
    fn the_interval_of_a_median_is_that_of_the_sign_test() {
        // From tables of the sign test, two-sided, 5 %.
        assert_eq!([0, 1, 5].map(ranks_outside), [None; 3]);
        assert_eq!([6, 9, 20, 36, 100].map(ranks_outside), [0, 1, 5, 11, 39].map(Some));
        assert!(ranks_outside(10_000).is_some_and(|outside| outside.abs_diff(4_901) < 2));
        let run: Vec<f64> = (1..=9).map(f64::from).collect();
        let (run, base) = (runs(CpuUsPerRequest, &run), runs(CpuUsPerRequest, &[1.0; 9]));
        assert_eq!(ratio_interval(&run, &base, CpuUsPerRequest), Some((2.0, 8.0)));
    }

    #[test]
    fn rounds_without_a_base_have_no_ratio() {
        assert_eq!(
            ratio(&runs(CpuUsPerRequest, &[1.0]), &runs(CpuUsPerRequest, &[0.0]), CpuUsPerRequest),
            None
        );
        assert_eq!(ratio(&runs(CpuUsPerRequest, &[1.0]), &[], CpuUsPerRequest), None);
        assert_eq!(
            ratio(&runs(CpuUsPerRequest, &[1.0]), &runs(CpuUsPerRequest, &[2.0]), RequestsPerSecond),
            None
        );
    }
}
