//! The figures about uploads as Prometheus wants them.

use std::fmt;
use std::sync::Arc;

use tayet::metrics::prometheus_client::collector::Collector;
use tayet::metrics::prometheus_client::encoding::{DescriptorEncoder, NoLabelSet};
use tayet::metrics::prometheus_client::metrics::MetricType;

use crate::stats::Stats;

#[derive(Debug)]
pub(crate) struct StatsCollector {
    stats: Arc<Stats>,
}

impl StatsCollector {
    pub(crate) fn new(stats: Arc<Stats>) -> Self {
        Self { stats }
    }
}

impl Collector for StatsCollector {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let figures = self.stats.snapshot(false);
        for (name, help, count) in [
            ("uploads_created", "Uploads that were begun", figures.total),
            ("uploads_completed", "Uploads that came whole", figures.completed),
            ("uploads_failed", "Requests whose bodies did not come whole or were not stored", figures.failed),
            ("uploads_expired", "Uploads that nobody came back for", figures.expired),
            ("uploads_terminated", "Uploads that their clients removed", figures.terminated),
            ("uploads_received_bytes", "Bytes that came", figures.received_bytes),
            ("uploads_webhooks_delivered", "Events that a webhook has got", figures.webhooks_delivered),
            ("uploads_webhooks_lost", "Events that a webhook did not get", figures.webhooks_lost),
        ] {
            let mut counter = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
            counter.encode_counter::<NoLabelSet, _, u64>(&count, None)?;
        }
        for (name, help, value) in [
            ("uploads_active", "Requests whose bodies come now", figures.active),
            ("uploads_stored_bytes", "Bytes that the store holds", figures.stored_bytes),
        ] {
            let mut gauge = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
            gauge.encode_gauge(&i64::try_from(value).unwrap_or(i64::MAX))?;
        }
        Ok(())
    }
}
