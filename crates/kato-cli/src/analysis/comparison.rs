//! A comparison as tables: of all nodes, and of each level.

use kato_evaluation::analysis::SnapshotComparison;
use kato_evaluation::analysis::comparison::MetricDifference;

use super::{number, percent};
use crate::inspect::View;
use crate::inspect::layout::table;

impl View for SnapshotComparison {
    fn text(&self, _width: usize) -> String {
        let verdict = if self.equal {
            "The knowledge is equal: the same patterns with the same frequencies on every level."
        } else {
            "The knowledge differs."
        };
        let mut text = format!("{verdict}\n\n{}", metrics("all nodes", &self.totals));
        for level in &self.levels {
            let name = |name: &Option<String>| name.clone().unwrap_or_else(|| "–".to_owned());
            let (before, after) = (name(&level.before), name(&level.after));
            let mut title = if before == after {
                before
            } else {
                format!("{before} / {after}")
            };
            if level.equal {
                title += " (equal)";
            }
            text += &format!("\n{}", metrics(&title, &level.metrics));
        }
        text
    }
}

/// Returns a table of metrics under a title.
fn metrics(title: &str, metrics: &[MetricDifference]) -> String {
    let row = |metric: &MetricDifference| {
        vec![
            metric.metric.clone(),
            number(metric.before),
            number(metric.after),
            number(metric.absolute),
            percent(metric.relative),
        ]
    };
    let rows: Vec<Vec<String>> = metrics.iter().map(row).collect();
    table(&[title, "before", "after", "difference", "relative"], &rows)
}
