//! The report as a picture: bars in panels, in SVG that suits light and dark pages.

use std::fmt::Write;

use super::figure::Figure;
use super::report::{Report, Results, Row};
use super::scenario;
use super::table::number;

const COLUMNS: usize = 2;
const PANEL_WIDTH: f64 = 470.0;
const MARGIN: f64 = 24.0;
const TITLE_HEIGHT: f64 = 56.0;
const PANEL_HEAD_HEIGHT: f64 = 46.0;
const BAR_PITCH: f64 = 21.0;
const BAR_HEIGHT: f64 = 14.0;
const PANEL_GAP: f64 = 26.0;
const LABEL_WIDTH: f64 = 170.0;
const VALUE_WIDTH: f64 = 66.0;
/// The shortest bar of a logarithmic panel is a decade and a bit above the axis' beginning.
const LOG_HEADROOM: f64 = 0.5;

const STYLE: &str = "\
text { font: 12px system-ui, sans-serif; fill: #1f2328; }
.title { font-size: 18px; font-weight: 600; }
.panel { font-size: 14px; font-weight: 600; }
.note { fill: #59636e; font-size: 11px; }
.value { font-variant-numeric: tabular-nums; }
.page { fill: #ffffff; }
.peer { fill: #9aa4af; }
.floor { fill: #d1d9e0; }
.tayet { fill: #b3541e; }
.part { fill: #ffffff; fill-opacity: 0.35; }
.failed { fill: #cf222e; }
@media (prefers-color-scheme: dark) {
text { fill: #f0f6fc; }
.note { fill: #9198a1; }
.page { fill: #0d1117; }
.peer { fill: #656c76; }
.floor { fill: #3d444d; }
.tayet { fill: #e8894f; }
.part { fill: #0d1117; }
.failed { fill: #ff7b72; }
}
";

/// A group of bars with one scale.
struct Panel {
    title: String,
    note: &'static str,
    scale: Scale,
    decimals: usize,
    bars: Vec<Bar>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Scale {
    Linear,
    Logarithmic,
}

struct Bar {
    label: String,
    kind: &'static str,
    /// Absent when it could not be measured.
    value: Option<f64>,
    /// The part of the value that is drawn lighter.
    part: Option<f64>,
}

/// What a panel shows and in which order.
struct Plan {
    scenario: &'static str,
    title: &'static str,
    note: &'static str,
    scale: Scale,
    decimals: usize,
    best_is_high: bool,
    value: Value,
    /// What is drawn lighter.
    part: Option<Figure>,
}

#[derive(Clone, Copy)]
enum Value {
    Median(Figure),
    /// To what the scenario's ratios are taken to.
    Ratio(Figure),
    PercentOfBound,
}

const PLANS: &[Plan] = &[
    cpu("hello-64", "CPU µs a request: hello, 64 connections", 1, REQUESTS),
    Plan {
        scenario: "pipelined",
        title: "Requests/s over the bare loop: 16 pipelined",
        note: "more is better",
        scale: Scale::Linear,
        decimals: 2,
        best_is_high: true,
        value: Value::Ratio(Figure::RequestsPerSecond),
        part: None,
    },
    Plan {
        scenario: "sleep-100",
        title: "10 ms sleep, 100 connections: % of the bound",
        note: "more is better; 100 % is 10,000 requests/s",
        scale: Scale::Linear,
        decimals: 1,
        best_is_high: true,
        value: Value::PercentOfBound,
        part: None,
    },
    logarithmic(
        "mixed",
        "p99 µs of a fast route while 64 connections sleep",
        "less is better; logarithmic; 2,000 requests/s, counted from when they were due",
        Figure::P99Us,
    ),
    logarithmic(
        "memory",
        "Bytes an idle connection",
        "less is better; logarithmic; over 10,000 connections",
        Figure::BytesPerIdleConnection,
    ),
    cpu("static-1k-64", "CPU µs a request: files of 1 KiB, 64 connections", 1, REQUESTS),
    cpu("static-1m-64", "CPU µs a request: files of 1 MiB, 64 connections", 0, REQUESTS),
    cpu("compressed-json", "CPU µs a request: compressed JSON, 64 connections", 0, REQUESTS),
    cpu("upload-256", "CPU ms a GiB: bodies of 20 MiB, 256 connections", 0, UPLOADS),
    memory("upload-256", "Peak RSS MB: bodies of 20 MiB, 256 connections"),
    cpu("tus-chunks-1", "CPU ms a GiB: PATCHes of 8 MiB, 1 upload at a time", 0, UPLOADS),
    cpu("tus-chunks-32", "CPU ms a GiB: PATCHes of 8 MiB, 32 uploads at once", 0, UPLOADS),
    memory("tus-chunks-32", "Peak RSS MB: PATCHes of 8 MiB, 32 uploads at once"),
    cpu("mongo-office-150", "CPU µs a request: MongoDB, 150 connections", 0, REQUESTS),
    memory("mongo-office-150", "Peak RSS MB: MongoDB, 150 connections"),
    cpu("websockets-echo-64", "CPU µs a message: WebSocket echo, 64 sockets", 1, MESSAGES),
    cpu("websockets-fanout", "CPU µs a delivery: publications to 10,000 WebSockets", 1, DELIVERIES),
    logarithmic(
        "websockets-idle",
        "Bytes an idle WebSocket",
        "less is better; logarithmic; over 18,000 sockets",
        Figure::BytesPerSocket,
    ),
];

/// Both times of the server, and that in user space.
type Times = (Figure, Figure);
const REQUESTS: Times = (Figure::CpuUsPerRequest, Figure::UserUsPerRequest);
const UPLOADS: Times = (Figure::CpuMsPerGib, Figure::UserMsPerGib);
const MESSAGES: Times = (Figure::CpuUsPerMessage, Figure::UserUsPerMessage);
const DELIVERIES: Times = (Figure::CpuUsPerDelivery, Figure::UserUsPerDelivery);

const fn cpu(scenario: &'static str, title: &'static str, decimals: usize, (both, user): Times) -> Plan {
    Plan {
        scenario,
        title,
        note: "less is better; the paler part is user space, the rest the kernel's",
        scale: Scale::Linear,
        decimals,
        best_is_high: false,
        value: Value::Median(both),
        part: Some(user),
    }
}

const fn memory(scenario: &'static str, title: &'static str) -> Plan {
    Plan {
        scenario,
        title,
        note: "less is better",
        scale: Scale::Linear,
        decimals: 1,
        best_is_high: false,
        value: Value::Median(Figure::PeakRssMb),
        part: None,
    }
}

const fn logarithmic(
    scenario: &'static str,
    title: &'static str,
    note: &'static str,
    figure: Figure,
) -> Plan {
    Plan {
        scenario,
        title,
        note,
        scale: Scale::Logarithmic,
        decimals: 0,
        best_is_high: false,
        value: Value::Median(figure),
        part: None,
    }
}

/// Draws the report, if there is anything in it to draw.
pub(super) fn svg(report: &Report) -> Option<String> {
    let panels: Vec<Panel> = PLANS.iter().filter_map(|plan| plan.panel(report)).collect();
    if panels.is_empty() {
        return None;
    }
    let mut heights = [TITLE_HEIGHT; COLUMNS];
    let mut body = String::new();
    for panel in &panels {
        let column = if heights[0] <= heights[1] { 0 } else { 1 };
        let x = MARGIN + column as f64 * (PANEL_WIDTH + MARGIN);
        panel.draw(&mut body, x, heights[column]);
        heights[column] += panel.height();
    }
    let width = MARGIN + COLUMNS as f64 * (PANEL_WIDTH + MARGIN);
    let height = heights.into_iter().fold(0.0, f64::max);
    let title = format!(
        "Tayet beside others: {}, {} cores, {}",
        report.machine.processor, report.machine.cores, report.date
    );
    Some(format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" width=\"{width:.0}\" \
         height=\"{height:.0}\" role=\"img\">\n<title>{title}</title>\n<style>\n{STYLE}</style>\n\
         <rect class=\"page\" width=\"{width:.0}\" height=\"{height:.0}\" rx=\"8\"/>\n\
         <text class=\"title\" x=\"{MARGIN}\" y=\"34\">{title}</text>\n{body}</svg>\n",
        title = escape(&title)
    ))
}

impl Plan {
    /// Nothing when the scenario was not run.
    fn panel(&self, report: &Report) -> Option<Panel> {
        let results = report.scenarios.iter().find(|results| results.name == self.scenario)?;
        let mut bars: Vec<Bar> = results.rows.iter().map(|row| self.bar(results, row)).collect();
        bars.sort_by(|a, b| self.place(a).total_cmp(&self.place(b)));
        let (title, note, scale, decimals) = (self.title.to_owned(), self.note, self.scale, self.decimals);
        Some(Panel { title, note, scale, decimals, bars })
    }

    fn bar(&self, results: &Results, row: &Row) -> Bar {
        let value = if row.failure.is_none() { self.value.of(results, row) } else { None };
        let part = self.part.and_then(|figure| row.medians.get(&figure).copied());
        Bar { label: row.title.clone(), kind: kind_of(&row.key), value, part }
    }

    /// The best first, what is missing last.
    fn place(&self, bar: &Bar) -> f64 {
        match bar.value {
            Some(value) if self.best_is_high => -value,
            Some(value) => value,
            None => f64::INFINITY,
        }
    }
}

impl Value {
    fn of(self, results: &Results, row: &Row) -> Option<f64> {
        match self {
            Self::Median(figure) => row.medians.get(&figure).copied(),
            Self::Ratio(_) if row.over.is_none() => Some(1.0),
            Self::Ratio(figure) => row.ratios.get(&figure).copied(),
            Self::PercentOfBound => {
                let rps = row.medians.get(&Figure::RequestsPerSecond)?;
                Some(100.0 * rps / results.bound_requests_per_second?)
            }
        }
    }
}

impl Panel {
    fn height(&self) -> f64 {
        PANEL_HEAD_HEIGHT + self.bars.len() as f64 * BAR_PITCH + PANEL_GAP
    }

    fn draw(&self, out: &mut String, x: f64, y: f64) {
        let _ = writeln!(
            out,
            "<text class=\"panel\" x=\"{x}\" y=\"{}\">{}</text>",
            y + 14.0,
            escape(&self.title)
        );
        let _ =
            writeln!(out, "<text class=\"note\" x=\"{x}\" y=\"{}\">{}</text>", y + 31.0, escape(self.note));
        for (index, bar) in self.bars.iter().enumerate() {
            self.draw_bar(out, bar, x, y + PANEL_HEAD_HEIGHT + index as f64 * BAR_PITCH);
        }
    }

    fn draw_bar(&self, out: &mut String, bar: &Bar, x: f64, y: f64) {
        let baseline = y + BAR_HEIGHT - 3.0;
        let label = escape(&bar.label);
        let left = x + LABEL_WIDTH;
        let _ =
            writeln!(out, "<text x=\"{}\" y=\"{baseline}\" text-anchor=\"end\">{label}</text>", left - 8.0);
        let Some(value) = bar.value else {
            let _ = writeln!(out, "<text class=\"failed\" x=\"{left}\" y=\"{baseline}\">not measured</text>");
            return;
        };
        let mut draw = |class: &str, length: f64| {
            let _ = writeln!(
                out,
                "<rect class=\"{class}\" x=\"{left}\" y=\"{y}\" width=\"{length:.1}\" height=\"{BAR_HEIGHT}\" rx=\"2\"/>"
            );
        };
        let length = self.length(value);
        draw(bar.kind, length);
        if let Some(part) = bar.part {
            draw("part", self.length(part));
        }
        let value = number(value, self.decimals);
        let _ = writeln!(
            out,
            "<text class=\"value\" x=\"{:.1}\" y=\"{baseline}\">{value}</text>",
            left + length + 6.0
        );
    }

    fn length(&self, value: f64) -> f64 {
        let values = || self.bars.iter().filter_map(|bar| bar.value);
        let full = PANEL_WIDTH - LABEL_WIDTH - VALUE_WIDTH;
        let largest = values().fold(0.0, f64::max);
        let share = match self.scale {
            Scale::Linear => value / largest,
            Scale::Logarithmic => {
                let log = |value: f64| value.max(1.0).log10();
                let start = values().map(log).fold(f64::INFINITY, f64::min) - LOG_HEADROOM;
                (log(value) - start) / (log(largest) - start)
            }
        };
        if share.is_finite() { full * share } else { 0.0 }
    }
}

fn kind_of(key: &str) -> &'static str {
    match scenario::contestant(key) {
        Some(contestant) if contestant.is_tayet() => "tayet",
        Some(contestant) if contestant.is_floor() => "floor",
        _ => "peer",
    }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn panel(scale: Scale, values: &[Option<f64>]) -> Panel {
        let bar =
            |value: &Option<f64>| Bar { label: "<a>".to_owned(), kind: "peer", value: *value, part: None };
        Panel { title: "T".to_owned(), note: "", scale, decimals: 0, bars: values.iter().map(bar).collect() }
    }

    #[test]
    fn the_largest_bar_is_full_and_others_are_in_proportion() {
        let panel = panel(Scale::Linear, &[Some(10.0), Some(5.0)]);
        assert_eq!(panel.length(10.0), PANEL_WIDTH - LABEL_WIDTH - VALUE_WIDTH);
        assert_eq!(panel.length(5.0), panel.length(10.0) / 2.0);
    }

    #[test]
    fn a_logarithmic_decade_is_as_long_anywhere() {
        let panel = panel(Scale::Logarithmic, &[Some(10.0), Some(1000.0)]);
        let decade = panel.length(100.0) - panel.length(10.0);
        assert!((panel.length(1000.0) - panel.length(100.0) - decade).abs() < 1e-9);
        assert!(panel.length(10.0) > 0.0);
    }

    #[test]
    fn what_is_drawn_is_measured() {
        let scenarios = scenario::all();
        for plan in PLANS {
            assert!(scenarios.iter().any(|scenario| scenario.name == plan.scenario), "{}", plan.scenario);
        }
    }

    #[test]
    fn labels_are_escaped_and_what_is_missing_is_said() {
        let mut out = String::new();
        panel(Scale::Linear, &[None, Some(0.0)]).draw(&mut out, 0.0, 0.0);
        assert!(out.contains("&lt;a&gt;"));
        assert!(out.contains("not measured"));
        assert!(!out.contains("NaN"), "{out}");
    }

    #[test]
    fn tayet_and_the_floor_have_colours_of_their_own() {
        assert_eq!(["tayet-inline", "floor", "go"].map(kind_of), ["tayet", "floor", "peer"]);
    }
}
