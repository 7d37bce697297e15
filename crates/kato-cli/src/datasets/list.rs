//! The view of the registry: its datasets as a table, with the time that each would take where its rows are known.

use indicatif::HumanCount;
use kato_loader::registry::{DatasetEntry, Registry, format_duration};
use serde::Serialize;

use super::rate::Rate;
use crate::inspect::View;
use crate::inspect::layout::{cell, dim, one_line, table};
use crate::source::shown;

/// All datasets that have a key.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct DatasetList {
    /// The rate that the times are computed with.
    pub(crate) rate: Rate,
    /// The datasets in the registry's order.
    pub(crate) datasets: Vec<ListedDataset>,
}

/// One dataset of a [`DatasetList`].
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct ListedDataset {
    /// The entry of the registry.
    #[serde(flatten)]
    pub(crate) entry: DatasetEntry,
    /// Seconds that learning all its rows takes at the rate; `None` where the rows are not known.
    pub(crate) seconds: Option<f64>,
}

impl DatasetList {
    /// Computes how long learning each dataset of a registry takes.
    #[must_use]
    pub(crate) fn of(registry: &Registry, rate: Rate) -> Self {
        let list = |entry: &DatasetEntry| {
            let mut entry = entry.clone();
            entry.source = shown(entry.source.as_ref());
            let rows = entry.rows;
            let time = rows.and_then(|rows| entry.time_for(rows, rate.documents_per_second));
            ListedDataset {
                seconds: time.map(|time| time.as_secs_f64()),
                entry,
            }
        };
        Self {
            datasets: registry.entries().iter().map(list).collect(),
            rate,
        }
    }
}

impl View for DatasetList {
    fn text(&self, width: usize) -> String {
        let row = |dataset: &ListedDataset| {
            let ListedDataset { entry, .. } = dataset;
            let rows = entry.rows;
            let time = rows.and_then(|rows| entry.time_for(rows, self.rate.documents_per_second));
            vec![
                entry.key.clone(),
                one_line(&entry.source, width),
                entry.text_field.clone(),
                cell(rows.map(HumanCount)),
                cell(time.map(format_duration)),
            ]
        };
        let rows: Vec<_> = self.datasets.iter().map(row).collect();
        let text = table(&["key", "source", "text field", "rows", "time"], &rows);
        let rate = format!(
            "time: at {:.0} documents/s, {}",
            self.rate.documents_per_second, self.rate.source
        );
        text + &dim(&rate) + "\n"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_follow_from_rows_and_rate() {
        let mut registry = Registry::builtin();
        registry.insert(DatasetEntry::new("mine", "mine.jsonl"));
        let list = DatasetList::of(&registry, Rate::given(44.0));
        let of = |key: &str| {
            let mut datasets = list.datasets.iter();
            datasets.find(|dataset| dataset.entry.key == key).unwrap()
        };
        let wiki = of("simple_wiki");
        assert_eq!(wiki.seconds.unwrap().round(), 4667.0);
        assert_eq!(of("mine").seconds, None);
        let text = list.text(100);
        let line = text.lines().find(|line| line.starts_with("simple_wiki"));
        let cells: Vec<&str> = line.unwrap().split_whitespace().skip(2).collect();
        assert_eq!(cells, ["text", "205,328", "1.3h"]);
        assert!(text.contains("time: at 44 documents/s, as given"), "{text}");
    }
}
