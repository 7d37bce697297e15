//! Prometheus's text format, version 0.0.4.

use std::fmt::Write;

/// What a metric is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// It only grows.
    Counter,
    /// It goes up and down.
    Gauge,
    /// Counts below bounds.
    Histogram,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram => "histogram",
        }
    }
}

/// The value of a sample.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value {
    /// A whole number, to its last digit.
    Count(u64),
    /// Any number.
    Number(f64),
}

impl From<u64> for Value {
    fn from(count: u64) -> Self {
        Self::Count(count)
    }
}

impl From<usize> for Value {
    fn from(count: usize) -> Self {
        Self::Count(count as u64)
    }
}

impl From<f64> for Value {
    fn from(number: f64) -> Self {
        Self::Number(number)
    }
}

impl From<bool> for Value {
    fn from(is: bool) -> Self {
        Self::Count(u64::from(is))
    }
}

/// Names and values of a sample's labels.
pub type Labels<'a> = &'a [(&'a str, &'a str)];

/// A histogram at a moment.
#[derive(Debug, Clone, PartialEq)]
pub struct Histogram {
    /// Bounds, ascending, each with the number of values up to it. The last bound, infinity, is
    /// that of `count`.
    pub buckets: Vec<(f64, u64)>,
    /// The sum of all values.
    pub sum: f64,
    /// The number of all values.
    pub count: u64,
}

/// Metrics that are written one after the other.
///
/// ```
/// use kato_report::prometheus::{Exposition, Kind};
///
/// let mut metrics = Exposition::default();
/// metrics.head("jobs_total", Kind::Counter, "Jobs done.");
/// metrics.sample("jobs_total", &[("queue", "a \"b\"")], 7u64);
/// assert_eq!(
///     metrics.into_text(),
///     "# HELP jobs_total Jobs done.\n# TYPE jobs_total counter\njobs_total{queue=\"a \\\"b\\\"\"} 7\n"
/// );
/// ```
#[derive(Debug, Clone, Default)]
pub struct Exposition(String);

impl Exposition {
    /// Writes the head of a metric, which comes once, before its samples.
    pub fn head(&mut self, name: &str, kind: Kind, help: &str) {
        // Quotes stay as they are here, unlike in labels.
        let help = help.replace('\\', "\\\\").replace('\n', "\\n");
        self.line(format_args!("# HELP {name} {help}"));
        self.line(format_args!("# TYPE {name} {}", kind.name()));
    }

    /// Writes a sample.
    pub fn sample(&mut self, name: &str, labels: Labels<'_>, value: impl Into<Value>) {
        let labels = written(labels);
        match value.into() {
            Value::Count(count) => self.line(format_args!("{name}{labels} {count}")),
            Value::Number(number) => {
                self.line(format_args!("{name}{labels} {}", in_digits(number)));
            }
        }
    }

    /// Writes a metric that has one sample without labels, and nothing where there is no value: a
    /// head alone would announce a metric that does not exist.
    pub fn one(&mut self, name: &str, kind: Kind, help: &str, value: Option<impl Into<Value>>) {
        if let Some(value) = value {
            self.head(name, kind, help);
            self.sample(name, &[], value);
        }
    }

    /// Writes a metric whose samples are told apart by labels, and nothing without a sample.
    pub fn many<'a, L: AsRef<[(&'a str, &'a str)]>, V: Into<Value>>(
        &mut self,
        name: &str,
        kind: Kind,
        help: &str,
        samples: impl IntoIterator<Item = (L, V)>,
    ) {
        for (at, (labels, value)) in samples.into_iter().enumerate() {
            if at == 0 {
                self.head(name, kind, help);
            }
            self.sample(name, labels.as_ref(), value);
        }
    }

    /// Writes the samples of a histogram.
    pub fn histogram(&mut self, name: &str, labels: Labels<'_>, histogram: &Histogram) {
        let bucket = format!("{name}_bucket");
        let bounds = histogram.buckets.iter().copied();
        for (bound, count) in bounds.chain([(f64::INFINITY, histogram.count)]) {
            let bound = in_digits(bound);
            let labels: Vec<_> = labels.iter().copied().chain([("le", &*bound)]).collect();
            self.sample(&bucket, &labels, count);
        }
        self.sample(&format!("{name}_sum"), labels, histogram.sum);
        self.sample(&format!("{name}_count"), labels, histogram.count);
    }

    /// Returns the text.
    #[must_use]
    pub fn into_text(self) -> String {
        self.0
    }

    fn line(&mut self, line: std::fmt::Arguments<'_>) {
        // Writing to a string does not fail.
        let _ = self.0.write_fmt(line);
        self.0.push('\n');
    }
}

/// Returns labels in their braces.
fn written(labels: Labels<'_>) -> String {
    let mut text = String::new();
    for (at, (name, value)) in labels.iter().enumerate() {
        // Backslashes first, or those of the other escapes would be doubled.
        let value = value
            .replace('\\', "\\\\")
            .replace('"', "\\\"")
            .replace('\n', "\\n");
        let before = if at == 0 { '{' } else { ',' };
        let _ = write!(text, "{before}{name}=\"{value}\"");
    }
    if !text.is_empty() {
        text.push('}');
    }
    text
}

/// Returns a number as the format has it, which spells infinity in a way of its own.
fn in_digits(number: f64) -> String {
    match number {
        f64::INFINITY => "+Inf".to_owned(),
        f64::NEG_INFINITY => "-Inf".to_owned(),
        _ => number.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(write: impl FnOnce(&mut Exposition)) -> String {
        let mut metrics = Exposition::default();
        write(&mut metrics);
        metrics.into_text()
    }

    #[test]
    fn what_has_no_value_has_no_head() {
        let none: [([(&str, &str); 1], u64); 0] = [];
        let written = text(|metrics| {
            metrics.one("a", Kind::Gauge, "A.", None::<u64>);
            metrics.many("b", Kind::Gauge, "B.", none);
        });
        assert_eq!(written, "");
    }

    #[test]
    fn a_head_comes_once_and_help_and_labels_are_escaped() {
        let written = text(|metrics| {
            let samples = [([("of", "x\\\"\n")], 1.5), ([("of", "y")], 2.0)];
            metrics.many("b", Kind::Counter, "B \"\\\n.", samples);
        });
        assert_eq!(
            written,
            "# HELP b B \"\\\\\\n.\n# TYPE b counter\nb{of=\"x\\\\\\\"\\n\"} 1.5\nb{of=\"y\"} 2\n"
        );
    }

    #[test]
    fn numbers_are_spelled_as_the_format_has_them() {
        let written = text(|metrics| {
            for value in [f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 1e-7] {
                metrics.sample("a", &[], value);
            }
            metrics.sample("a", &[], u64::MAX);
            metrics.sample("a", &[], true);
        });
        assert_eq!(
            written,
            "a +Inf\na -Inf\na NaN\na 0.0000001\na 18446744073709551615\na 1\n"
        );
    }

    #[test]
    fn a_histogram_ends_with_all_its_values() {
        let histogram = Histogram {
            buckets: vec![(0.5, 1), (1.0, 3)],
            sum: 4.5,
            count: 4,
        };
        let written = text(|metrics| metrics.histogram("h", &[("of", "x")], &histogram));
        assert_eq!(
            written,
            "h_bucket{of=\"x\",le=\"0.5\"} 1\nh_bucket{of=\"x\",le=\"1\"} 3\n\
             h_bucket{of=\"x\",le=\"+Inf\"} 4\nh_sum{of=\"x\"} 4.5\nh_count{of=\"x\"} 4\n"
        );
    }
}
