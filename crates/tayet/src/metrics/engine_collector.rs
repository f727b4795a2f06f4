//! The engine's figures as Prometheus wants them.

use std::fmt;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Unit;
use tayet_engine::{Histogram, MetricsSnapshot, RouteMetrics};

/// One snapshot, to be encoded once.
#[derive(Debug)]
pub(super) struct EngineCollector {
    snapshot: MetricsSnapshot,
}

impl EngineCollector {
    pub(super) fn new(snapshot: MetricsSnapshot) -> Self {
        Self { snapshot }
    }

    fn encode_routes(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let routes = || self.snapshot.routes.iter().filter(|route| !route.statuses.is_empty());
        let mut requests =
            encoder.encode_descriptor("requests", "Requests answered", None, MetricType::Counter)?;
        for route in routes() {
            for (status, count) in &route.statuses {
                let labels = [("route", route.label.clone()), ("status", status.to_string())];
                requests.encode_family(&labels)?.encode_counter::<NoLabelSet, _, u64>(count, None)?;
            }
        }
        let help = "From a request being there to its answer being ready";
        let seconds = Some(&Unit::Seconds);
        let mut durations =
            encoder.encode_descriptor("request_duration", help, seconds, MetricType::Histogram)?;
        for route in routes() {
            encode_histogram(durations.encode_family(&of_route(route))?, &route.duration)?;
        }
        let help = "Whether a route is handed to the pool (1) or runs on the loop (0)";
        let mut classes = encoder.encode_descriptor("route_dispatched", help, None, MetricType::Gauge)?;
        for route in routes() {
            classes.encode_family(&of_route(route))?.encode_gauge(&i64::from(route.is_dispatched))?;
        }
        let help =
            "Whether the handler of a route's WebSockets is handed to the pool (1) or runs on the loop (0)";
        let mut classes =
            encoder.encode_descriptor("route_messages_dispatched", help, None, MetricType::Gauge)?;
        for route in routes().filter(|route| opens_web_sockets(route)) {
            classes
                .encode_family(&of_route(route))?
                .encode_gauge(&i64::from(route.are_messages_dispatched))?;
        }
        let help = "Loops that were taken from a route's handler";
        let mut takeovers = encoder.encode_descriptor("route_takeovers", help, None, MetricType::Counter)?;
        for route in routes() {
            takeovers
                .encode_family(&of_route(route))?
                .encode_counter::<NoLabelSet, _, u64>(&route.takeovers, None)?;
        }
        Ok(())
    }

    fn encode_counters(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let figures = &self.snapshot;
        for (name, help, count) in [
            ("takeovers", "Loops that were taken from a handler that overran", figures.takeovers),
            ("panics", "Handlers that panicked", figures.panics),
            ("connections_accepted", "Connections accepted", figures.connections_accepted),
            ("connections_timed_out", "Connections cut for a time-out", figures.connections_timed_out),
            ("accept_errors", "Accepts that failed", figures.accept_errors),
            ("requests_refused", "Requests refused before they had a route", figures.requests_refused),
            (
                "requests_overflowed",
                "Requests answered 503 since the queue was full",
                figures.requests_overflowed,
            ),
            ("sessions_opened", "WebSockets and streams of events opened", figures.sessions_opened),
            ("sessions_failed", "WebSockets whose peer broke the protocol", figures.sessions_failed),
            ("messages_received", "Messages received on WebSockets", figures.messages_received),
            ("messages_sent", "Messages, control frames and events sent", figures.messages_sent),
            (
                "messages_dropped",
                "Messages dropped since their socket's send queue was full",
                figures.messages_dropped,
            ),
            ("received_bytes", "Bytes received", figures.received_bytes),
            ("sent_bytes", "Bytes sent", figures.sent_bytes),
        ] {
            let mut counter = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
            counter.encode_counter::<NoLabelSet, _, u64>(&count, None)?;
        }
        Ok(())
    }

    fn encode_gauges(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let figures = &self.snapshot;
        for (name, help, value) in [
            ("connections_open", "Connections open now", figures.connections_open),
            ("sessions_open", "WebSockets and streams of events open now", figures.sessions_open),
            ("topics", "Topics that have members or something kept", figures.topics),
            ("threads", "Threads of the pool, the loops' included", figures.threads),
            ("threads_busy", "Threads that run a handler, but not those on their loop", figures.threads_busy),
            ("queue_length", "Requests that wait for a worker", figures.queue_length),
        ] {
            let mut gauge = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
            gauge.encode_gauge(&i64::try_from(value).unwrap_or(i64::MAX))?;
        }
        let help = "Connections that a loop has now";
        let mut by_loop = encoder.encode_descriptor("loop_connections", help, None, MetricType::Gauge)?;
        for (index, count) in figures.connections_by_loop.iter().enumerate() {
            let labels = [("loop", index.to_string())];
            by_loop.encode_family(&labels)?.encode_gauge(&i64::try_from(*count).unwrap_or(i64::MAX))?;
        }
        Ok(())
    }
}

impl Collector for EngineCollector {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        self.encode_routes(&mut encoder)?;
        self.encode_counters(&mut encoder)?;
        self.encode_gauges(&mut encoder)?;
        let help = "How long dispatched requests waited for their worker";
        let wait =
            encoder.encode_descriptor("queue_wait", help, Some(&Unit::Seconds), MetricType::Histogram)?;
        encode_histogram(wait, &self.snapshot.queue_wait)
    }
}

fn opens_web_sockets(route: &RouteMetrics) -> bool {
    route.statuses.iter().any(|(status, _)| *status == 101)
}

fn of_route(route: &RouteMetrics) -> [(&'static str, String); 1] {
    [("route", route.label.clone())]
}

fn encode_histogram(mut encoder: MetricEncoder<'_>, histogram: &Histogram) -> fmt::Result {
    let bounds = Histogram::BOUNDS_NS.iter().map(|&bound| bound as f64 / 1e9).chain([f64::INFINITY]);
    let counts = histogram.counts.iter().copied().chain(std::iter::repeat(0));
    let buckets: Vec<(f64, u64)> = bounds.zip(counts).collect();
    let count = buckets.iter().map(|(_, count)| count).sum();
    encoder.encode_histogram::<NoLabelSet>(histogram.sum.as_secs_f64(), count, &buckets, None)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use prometheus_client::encoding::text::encode;
    use prometheus_client::registry::Registry;

    use super::*;

    #[test]
    fn the_text_has_every_figure_of_the_snapshot() {
        let mut counts = vec![0; Histogram::BOUNDS_NS.len() + 1];
        (counts[0], counts[6], counts[Histogram::BOUNDS_NS.len()]) = (2, 3, 1);
        let duration = Histogram { counts, sum: Duration::from_millis(1500) };
        let used = RouteMetrics {
            label: "GET /\"x\"".to_owned(),
            statuses: vec![(200, 5), (404, 1)],
            duration,
            is_dispatched: true,
            are_messages_dispatched: false,
            takeovers: 4,
        };
        let chat = RouteMetrics {
            label: "GET /chat".to_owned(),
            statuses: vec![(101, 2)],
            are_messages_dispatched: true,
            ..RouteMetrics::default()
        };
        let unused = RouteMetrics { label: "GET /unused".to_owned(), ..RouteMetrics::default() };
        let snapshot = MetricsSnapshot {
            routes: vec![used, chat, unused],
            connections_open: 7,
            connections_by_loop: vec![3, 4],
            sessions_open: 6,
            messages_sent: 5,
            sent_bytes: 8,
            threads_busy: 9,
            ..MetricsSnapshot::default()
        };
        let mut registry = Registry::with_prefix("tayet");
        registry.register_collector(Box::new(EngineCollector::new(snapshot)));
        let mut text = String::new();
        encode(&mut text, &registry).unwrap();
        for line in [
            r#"tayet_requests_total{route="GET /\"x\"",status="200"} 5"#,
            r#"tayet_requests_total{route="GET /\"x\"",status="404"} 1"#,
            r#"tayet_request_duration_seconds_bucket{le="0.00001",route="GET /\"x\""} 2"#,
            r#"tayet_request_duration_seconds_bucket{le="0.001",route="GET /\"x\""} 5"#,
            r#"tayet_request_duration_seconds_bucket{le="+Inf",route="GET /\"x\""} 6"#,
            r#"tayet_request_duration_seconds_sum{route="GET /\"x\""} 1.5"#,
            r#"tayet_route_dispatched{route="GET /\"x\""} 1"#,
            r#"tayet_route_takeovers_total{route="GET /\"x\""} 4"#,
            "tayet_connections_open 7",
            "tayet_loop_connections{loop=\"1\"} 4",
            r#"tayet_route_messages_dispatched{route="GET /chat"} 1"#,
            "tayet_sessions_open 6",
            "tayet_messages_sent_total 5",
            "tayet_sent_bytes_total 8",
            "tayet_threads_busy 9",
            "tayet_queue_wait_seconds_count 0",
        ] {
            assert!(text.lines().any(|found| found == line), "{line} is not in\n{text}");
        }
        assert!(!text.contains("unused"));
    }
}
