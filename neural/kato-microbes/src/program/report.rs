//! The page of a run: how loss and metrics went, and how predicted distances lie to true ones.

use kato_microbes::run::{MicrobesEpoch, MicrobesOutcome};
use kato_neural::program::EpochPictures;
use kato_report::{Axis, Chart, Color, Page, Picture, Shape};

/// Returns the page.
pub(crate) fn page(history: &[MicrobesEpoch], outcome: &MicrobesOutcome) -> Page {
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
    page
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
fn pictures(history: &[MicrobesEpoch]) -> Vec<Picture> {
    let validation = || Axis::linear("validation");
    let losses = |record: &MicrobesEpoch| (record.train_loss, record.validation.loss);
    EpochPictures::of_losses(history, "loss", losses)
        .with("R²", validation(), |record| record.validation.r2)
        .with("Mean absolute error", validation(), |record| {
            record.validation.mae
        })
        .with("Accuracy", validation(), |record| {
            record.validation.accuracy
        })
        .with("F1", validation(), |record| record.validation.f1)
        .with("Gradient", Axis::linear("norm before the clip"), |record| {
            Some(record.gradient_norm)
        })
        .with("Learning rate", Axis::linear("rate"), |record| {
            Some(record.rate)
        })
        .into_pictures()
}
