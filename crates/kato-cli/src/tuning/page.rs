//! The answer as a page of HTML that needs nothing beside it.

use std::collections::BTreeSet;

use kato_planner::chart::{Axis, Chart, Mark, escaped, heat_map};

use super::{Row, Tuning};
use crate::inspect::View;
use crate::planning::STYLE;

/// Returns the page.
#[must_use]
pub(crate) fn page(tuning: &Tuning) -> String {
    let best = tuning.ranking.first().map(|row| row.configuration.name());
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Configurations compared</title><style>{STYLE}</style></head>\
         <body><h1>Configurations compared</h1><p>Best: {}</p><pre>{}</pre>{}{}{}</body></html>\n",
        escaped(&best.unwrap_or_default()),
        escaped(&tuning.text(120)),
        front(tuning),
        by_chunk(tuning),
        heat(tuning)
    )
}

/// Rate against quality, or against bytes where no quality was measured.
fn front(tuning: &Tuning) -> String {
    let has_bits = tuning
        .ranking
        .iter()
        .any(|row| row.measures.contains_key("bits"));
    let (name, label) = match has_bits {
        true => ("bits", "bits a token"),
        false => ("bytes", "bytes on the disk"),
    };
    let points = |is_on_front: bool| {
        let rows = tuning
            .ranking
            .iter()
            .filter(move |row| row.is_on_front == is_on_front);
        rows.filter_map(move |row| Some((measure(row, "rate")?, measure(row, name)?)))
    };
    let axes = (Axis::linear("samples a second"), Axis::linear(label));
    Chart::new("Rate against quality", axes.0, axes.1)
        .with_series("on the Pareto front", Mark::Points, points(true))
        .with_series("others", Mark::Points, points(false))
        .to_svg()
}

/// Rate against the lowest chunk size.
fn by_chunk(tuning: &Tuning) -> String {
    let points = tuning.ranking.iter().filter_map(|row| {
        let lowest = *row.configuration.levels.first()?;
        Some((lowest as f64, measure(row, "rate")?))
    });
    let axes = (
        Axis::linear("lowest chunk size"),
        Axis::linear("samples a second"),
    );
    Chart::new("Rate against chunk size", axes.0, axes.1)
        .with_series("configurations", Mark::Points, points)
        .to_svg()
}

/// Best score for each number of levels and lowest chunk size.
fn heat(tuning: &Tuning) -> String {
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
    let values: Vec<Vec<Option<f64>>> = depths
        .iter()
        .map(|&depth| chunks.iter().map(|&chunk| best(chunk, depth)).collect())
        .collect();
    let names = |numbers: &BTreeSet<usize>| -> Vec<String> {
        numbers.iter().map(usize::to_string).collect()
    };
    heat_map(
        "Best score within its round",
        ("lowest chunk size", &names(&chunks)),
        ("levels", &names(&depths)),
        &values,
    )
}

fn measure(row: &Row, name: &str) -> Option<f64> {
    row.measures.get(name).copied()
}
