//! The page of a run: how loss, cosine, rate, gradients and the bottleneck went.

use std::path::Path;

use kato_poetry::run::{EpochRecord, Outcome};
use kato_poetry::{PoetryError, Run};
use kato_report::{Axis, Chart, Color, Page, Picture, Shape};

use super::Failure;

/// Name of the page in the run's folder.
pub(crate) const NAME: &str = "report.html";

/// Writes the page of a run into its folder.
pub(crate) fn write(folder: &Path, outcome: &Outcome) -> Result<(), Failure> {
    let history = Run::read_history(folder)?;
    let path = folder.join(NAME);
    std::fs::write(&path, page(&history, outcome)).map_err(|source| PoetryError::File {
        action: "write",
        path,
        source,
    })?;
    Ok(())
}

/// Returns the page.
fn page(history: &[EpochRecord], outcome: &Outcome) -> String {
    let mut page = Page::new("A poetry autoencoder");
    if let Some(best) = &outcome.best {
        page.tiles([
            (
                format!("{:.4}", best.validation.cosine),
                "cosine, validation".to_owned(),
            ),
            (
                format!("{:.4}", outcome.baseline_cosine),
                "cosine of the mean vector".to_owned(),
            ),
            (
                format!("{:.4}", best.validation.loss),
                "loss, validation".to_owned(),
            ),
            ((best.epoch + 1).to_string(), "best epoch".to_owned()),
        ]);
    }
    if let Some(collapse) = history
        .last()
        .and_then(|record| record.validation.collapse())
    {
        page.paragraph(&format!("Warning: {collapse}."));
    }
    page.pictures(pictures(history));
    page.into_html()
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
    vec![
        Chart::new("Loss", epochs(), Axis::linear("loss of a token"))
            .with(Color::Nth(0), "training", line(&|record| record.train_loss))
            .with(
                Color::Nth(1),
                "validation",
                line(&|record| record.validation.loss),
            )
            .draw(),
        one(
            "Cosine",
            Axis::linear("mean cosine, validation"),
            &|record| record.validation.cosine,
        ),
        one("Variance", Axis::linear("rebuilt over true"), &|record| {
            record.validation.variance_ratio
        }),
        one("Live units of the bottleneck", Axis::share(), &|record| {
            record.validation.live_units
        }),
        one(
            "Gradient",
            Axis::linear("norm before the clip"),
            &|record| record.gradient_norm,
        ),
        one("Learning rate", Axis::linear("rate"), &|record| record.rate),
        one("Speed", Axis::linear("chunks a second"), &|record| {
            record.chunks_per_s
        }),
    ]
}
