//! The page of a run: how loss, cosine, rate, gradients and the bottleneck went.

use kato_neural::program::EpochPictures;
use kato_poetry::run::{EpochRecord, PoetryOutcome};
use kato_report::{Axis, Page};

/// Returns the page.
pub(crate) fn page(history: &[EpochRecord], outcome: &PoetryOutcome) -> Page {
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
    let losses = |record: &EpochRecord| (record.train_loss, record.validation.loss);
    let pictures = EpochPictures::of_losses(history, "loss of a token", losses)
        .with("Cosine", Axis::linear("mean cosine, validation"), |epoch| {
            Some(epoch.validation.cosine)
        })
        .with("Variance", Axis::linear("rebuilt over true"), |epoch| {
            Some(epoch.validation.variance_ratio)
        })
        .with("Live units of the bottleneck", Axis::share(), |epoch| {
            Some(epoch.validation.live_units)
        })
        .with("Gradient", Axis::linear("norm before the clip"), |epoch| {
            Some(epoch.gradient_norm)
        })
        .with("Learning rate", Axis::linear("rate"), |epoch| {
            Some(epoch.rate)
        })
        .with("Speed", Axis::linear("chunks a second"), |epoch| {
            Some(epoch.chunks_per_s)
        });
    page.pictures(pictures.into_pictures());
    page
}
