//! The answer as a page of HTML that needs nothing beside it.

use std::collections::BTreeSet;

use kato_report::figures::{bytes, count, percent, three_digits};
use kato_report::{Axis, Callout, Chart, Color, HeatMap, Page, PageTable, Picture, Shape};

use super::{Row, Tuning};
use crate::numbers::counted;

/// A column of the table: its name, what was measured, and how that is written.
type Column = (&'static str, &'static str, fn(f64) -> String);

const COLUMNS: [Column; 6] = [
    ("documents a second", "rate", count),
    ("bits a token", "bits", three_digits),
    ("coverage", "coverage", percent),
    ("on the disk", "bytes", bytes),
    ("patterns", "patterns", count),
    ("memory", "memory", bytes),
];

/// Returns the page.
#[must_use]
pub(crate) fn page(tuning: &Tuning) -> String {
    let mut page = Page::new("Configurations compared");
    page.lead(&format!(
        "{} over up to {} of text{}",
        counted(tuning.trials, "trial"),
        bytes(tuning.text_bytes as f64),
        tuning.quality()
    ));
    if let Some(best) = tuning.ranking.first() {
        let facts = best.measured();
        page.callout(&Callout {
            title: format!("Best: {}", best.configuration.name()),
            facts: facts
                .map(|(name, value)| (name.to_owned(), value))
                .collect(),
            ..Callout::default()
        });
    }
    page.heading("What was measured");
    page.pictures([front(tuning), by_chunk(tuning), heat(tuning)]);
    page.heading("All configurations");
    page.table(&table(tuning));
    page.note(&tuning.rule);
    page.into_html()
}

impl Row {
    /// Returns what was measured, in words.
    fn measured(&self) -> impl Iterator<Item = (&'static str, String)> {
        COLUMNS.iter().filter_map(|(column, name, format)| {
            let value = self.measures.get(*name)?;
            Some((*column, format(*value)))
        })
    }
}

fn table(tuning: &Tuning) -> PageTable {
    let columns = [
        "levels, workers, memory",
        "score",
        "share of the text",
        "front",
    ];
    let measured = COLUMNS.iter().map(|(column, ..)| *column);
    let mut table = PageTable::new(columns.into_iter().chain(measured));
    for row in &tuning.ranking {
        let front = if row.is_on_front { "front" } else { "" };
        let cells = [
            format!("{:.3}", row.score),
            percent(row.share),
            front.to_owned(),
        ];
        let measured = COLUMNS.iter().map(|(_, name, format)| {
            let value = row.measures.get(*name);
            value.map_or_else(|| "–".to_owned(), |value| format(*value))
        });
        table.row(&row.configuration.name(), cells.into_iter().chain(measured));
    }
    table
}

/// Rate against quality, or against bytes where no quality was measured.
fn front(tuning: &Tuning) -> Picture {
    let has_bits = tuning
        .ranking
        .iter()
        .any(|row| row.measures.contains_key("bits"));
    let (name, axis) = match has_bits {
        true => ("bits", Axis::linear("bits a token")),
        false => ("bytes", Axis::linear("on the disk").with_format(bytes)),
    };
    let points = |is_on_front: bool| {
        let rows = tuning.ranking.iter();
        let rows = rows.filter(move |row| row.is_on_front == is_on_front);
        let points = rows.filter_map(|row| Some((measure(row, "rate")?, measure(row, name)?)));
        Shape::Points(points.collect())
    };
    Chart::new(
        "Rate against quality",
        Axis::linear("documents a second"),
        axis,
    )
    .with(Color::Nth(0), "on the Pareto front", points(true))
    .with(Color::Muted, "others", points(false))
    .draw()
}

/// Rate against the lowest chunk size.
fn by_chunk(tuning: &Tuning) -> Picture {
    let points = tuning.ranking.iter().filter_map(|row| {
        let lowest = *row.configuration.levels.first()?;
        Some((lowest as f64, measure(row, "rate")?))
    });
    let axes = (
        Axis::linear("lowest chunk size"),
        Axis::linear("documents a second"),
    );
    Chart::new("Rate against chunk size", axes.0, axes.1)
        .with(
            Color::Nth(0),
            "configurations",
            Shape::Points(points.collect()),
        )
        .draw()
}

/// Best score for each number of levels and lowest chunk size.
fn heat(tuning: &Tuning) -> Picture {
    let key = |row: &Row| {
        let levels = &row.configuration.levels;
        (levels.first().copied().unwrap_or(0), levels.len())
    };
    let chunks: BTreeSet<usize> = tuning.ranking.iter().map(|row| key(row).0).collect();
    let depths: BTreeSet<usize> = tuning.ranking.iter().map(|row| key(row).1).collect();
    let best = |chunk: usize, depth: usize| {
        let rows = tuning
            .ranking
            .iter()
            .filter(|row| key(row) == (chunk, depth));
        rows.map(|row| row.score).reduce(f64::max)
    };
    let values = depths
        .iter()
        .map(|&depth| chunks.iter().map(|&chunk| best(chunk, depth)).collect());
    let names = |numbers: &BTreeSet<usize>| -> Vec<String> {
        numbers.iter().map(usize::to_string).collect()
    };
    HeatMap {
        title: "Best score within its round".to_owned(),
        columns: ("lowest chunk size".to_owned(), names(&chunks)),
        rows: ("levels".to_owned(), names(&depths)),
        values: values.collect(),
        ..HeatMap::default()
    }
    .draw()
}

fn measure(row: &Row, name: &str) -> Option<f64> {
    row.measures.get(name).copied()
}
