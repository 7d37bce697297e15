//! The page of a run: how loss and metrics went, and how predicted distances lie to true ones.

use std::path::Path;

use kato_microbes::run::{EpochRecord, Outcome};
use kato_microbes::{MicrobesError, Run};
use kato_report::{Axis, Chart, Color, Page, Picture, Shape};

use super::Failure;

/// Name of the page in the run's folder.
pub(crate) const NAME: &str = "report.html";

/// Takes a metric out of an epoch.
type MetricOf = fn(&EpochRecord) -> Option<f64>;

/// Writes the page of a run into its folder.
pub(crate) fn write(folder: &Path, outcome: &Outcome) -> Result<(), Failure> {
    let history = Run::read_history(folder)?;
    let path = folder.join(NAME);
    std::fs::write(&path, page(&history, outcome)).map_err(|source| MicrobesError::File {
        action: "write",
        path,
        source,
    })?;
    Ok(())
}

/// Returns the page.
fn page(history: &[EpochRecord], outcome: &Outcome) -> String {
    let mut page = Page::new("Microbes");
    let test = outcome.test.iter();
    page.tiles(test.map(|score| {
        (
            format!("{:.4}", score.value),
            format!("{}, test", score.name),
        )
    }));
    if let Some(best) = &outcome.best {
        page.tiles([
            (
                format!("{:.4}", best.validation.loss),
                "loss, validation".to_owned(),
            ),
            ((best.epoch + 1).to_string(), "best epoch".to_owned()),
        ]);
    }
    if !outcome.pairs.is_empty() {
        page.pictures([scatter(&outcome.pairs)]);
        page.note(
            "A point is a pair of test samples. On the line, the model's distance is the true one; a flat \
             cloud means that it tells no samples apart.",
        );
    }
    page.pictures(pictures(history));
    page.into_html()
}

/// Draws predicted distances over true ones, with the line where they are equal.
fn scatter(pairs: &[(f32, f32)]) -> Picture {
    let points = pairs
        .iter()
        .map(|&(truth, predicted)| (f64::from(truth), f64::from(predicted)));
    let points: Vec<(f64, f64)> = points.collect();
    let least = points
        .iter()
        .map(|point| point.0.min(point.1))
        .fold(1.0, f64::min);
    let most = points
        .iter()
        .map(|point| point.0.max(point.1))
        .fold(0.0, f64::max);
    Chart::new(
        "Distances of test samples",
        Axis::linear("true"),
        Axis::linear("predicted"),
    )
    .with(Color::Nth(0), "pairs", Shape::Points(points))
    .with(
        Color::Nth(1),
        "equal",
        Shape::Line(vec![(least, least), (most, most)]),
    )
    .draw()
}

/// Draws what was measured after each epoch.
fn pictures(history: &[EpochRecord]) -> Vec<Picture> {
    let line = |of: &dyn Fn(&EpochRecord) -> f64| {
        let points = history
            .iter()
            .map(|record| ((record.epoch + 1) as f64, of(record)));
        Shape::Line(points.collect())
    };
    let epochs = || Axis::linear("epoch");
    let one = |title: &str, axis: Axis, of: &dyn Fn(&EpochRecord) -> f64| {
        Chart::new(title, epochs(), axis)
            .with(Color::Nth(0), "", line(of))
            .draw()
    };
    let mut drawn = vec![
        Chart::new("Loss", epochs(), Axis::linear("loss"))
            .with(Color::Nth(0), "training", line(&|record| record.train_loss))
            .with(
                Color::Nth(1),
                "validation",
                line(&|record| record.validation.loss),
            )
            .draw(),
    ];
    let metrics: [(&str, MetricOf); 4] = [
        ("R²", |record| record.validation.r2),
        ("Mean absolute error", |record| record.validation.mae),
        ("Accuracy", |record| record.validation.accuracy),
        ("F1", |record| record.validation.f1),
    ];
    for (title, of) in metrics {
        let points = history
            .iter()
            .filter_map(|record| Some(((record.epoch + 1) as f64, of(record)?)));
        let points: Vec<(f64, f64)> = points.collect();
        if !points.is_empty() {
            let axis = Axis::linear("validation");
            let chart = Chart::new(title, epochs(), axis);
            drawn.push(chart.with(Color::Nth(0), "", Shape::Line(points)).draw());
        }
    }
    drawn.push(one(
        "Gradient",
        Axis::linear("norm before the clip"),
        &|record| record.gradient_norm,
    ));
    drawn.push(one("Learning rate", Axis::linear("rate"), &|record| {
        record.rate
    }));
    drawn
}
