//! Time series, of each its latest points.

use std::collections::{BTreeMap, VecDeque};

use kato_service::figures::Figures;
use serde::{Serialize, Serializer};

use super::Machine;

/// Most points that a series keeps.
const KEPT: usize = 1000;

/// KATO's names of series, some of which stay empty here.
pub(crate) const NAMES: [&str; 20] = [
    "kato_cpu_usage_percent",
    "kato_memory_usage_percent",
    "kato_memory_usage_bytes",
    "kato_disk_usage_percent",
    "load_average_1m",
    "kato_requests_total",
    "kato_request_duration_seconds",
    "kato_errors_total",
    "sessions_created",
    "sessions_deleted",
    "session_operations",
    "clickhouse_operations",
    "clickhouse_response_time",
    "clickhouse_errors",
    "qdrant_operations",
    "qdrant_response_time",
    "qdrant_errors",
    "redis_operations",
    "redis_response_time",
    "redis_errors",
];

/// One point of a series.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Point {
    /// Seconds since 1970.
    pub(crate) timestamp: f64,
    pub(crate) value: f64,
    pub(crate) labels: Labels,
}

/// The labels of a point.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub(crate) struct Labels {
    #[serde(skip_serializing_if = "Option::is_none")]
    method: Option<&'static str>,
    /// The template of the route, so that the number of labels is bounded.
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<Status>,
}

/// A status, which KATO writes as text.
#[derive(Debug, Clone, Copy)]
struct Status(u16);

impl Serialize for Status {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

/// All series.
#[derive(Debug, Default)]
pub(crate) struct Series(BTreeMap<&'static str, VecDeque<Point>>);

impl Series {
    /// Adds the points of an answer.
    pub(super) fn request(
        &mut self,
        timestamp: f64,
        total: u64,
        seconds: f64,
        [method, path]: [&'static str; 2],
        status: u16,
    ) {
        let labels = Labels {
            method: Some(method),
            path: Some(path),
            status: None,
        };
        self.push("kato_requests_total", timestamp, total as f64, labels);
        let labels = Labels {
            status: Some(Status(status)),
            ..labels
        };
        self.push("kato_request_duration_seconds", timestamp, seconds, labels);
    }

    /// Adds the point of an answer that is an error.
    pub(super) fn error(&mut self, timestamp: f64, total: u64, [method, path]: [&'static str; 2]) {
        let labels = Labels {
            method: Some(method),
            path: Some(path),
            status: None,
        };
        self.push("kato_errors_total", timestamp, total as f64, labels);
    }

    /// Adds the points of a sample of the machine and the service.
    pub(super) fn sample(&mut self, timestamp: f64, machine: &Machine, figures: &Figures) {
        let operations = figures.observations + figures.learns + figures.predictions;
        let values = [
            ("kato_cpu_usage_percent", Some(machine.cpu_percent)),
            ("kato_memory_usage_percent", Some(machine.memory_percent)),
            ("kato_memory_usage_bytes", Some(machine.memory_bytes as f64)),
            ("kato_disk_usage_percent", Some(machine.disk_percent)),
            ("load_average_1m", machine.load_average),
            ("sessions_created", Some(figures.sessions_created as f64)),
            ("sessions_deleted", Some(figures.sessions_deleted as f64)),
            ("session_operations", Some(operations as f64)),
        ];
        for (name, value) in values {
            if let Some(value) = value {
                self.push(name, timestamp, value, Labels::default());
            }
        }
    }

    /// Adds a point, in place of the oldest one if the series is full.
    fn push(&mut self, name: &'static str, timestamp: f64, value: f64, labels: Labels) {
        let points = self.0.entry(name).or_default();
        if points.len() == KEPT {
            points.pop_front();
        }
        points.push_back(Point {
            timestamp,
            value,
            labels,
        });
    }

    /// Returns the points of a series that are not older than a time, oldest first.
    pub(crate) fn since(&self, name: &str, timestamp: f64) -> Vec<Point> {
        let points = self.0.get(name).into_iter().flatten();
        points
            .filter(|point| point.timestamp >= timestamp)
            .cloned()
            .collect()
    }
}
