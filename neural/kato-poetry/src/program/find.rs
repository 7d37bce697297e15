//! `train --find-rate` and `train --find-batch`: settings that are found by trial.

use kato_gradient::finder::RangeTestSettings;
use kato_neural::program::{CommandFailure, Ended, say, say_json, say_largest_batch};
use kato_neural::run::Signals;
use kato_poetry::run::find_rate;
use kato_poetry::settings::Batching;
use kato_poetry::{Corpus, Settings};

use super::cli::TrainArguments;

/// Chunks of a batch at most that are tried: larger ones train no better on texts of this size.
const MAX_SIZE: usize = 1024;

/// Tries learning rates and prints what they did.
pub(crate) fn rate(
    settings: &Settings,
    corpus: &Corpus,
    is_json: bool,
) -> Result<Ended, CommandFailure> {
    let test = find_rate(settings, corpus, RangeTestSettings::default())?;
    if is_json {
        say_json(&test)?;
        return Ok(Ended::Done);
    }
    // A line a tenth of the way is enough to see the valley.
    for point in test.points.iter().step_by(10) {
        let (rate, loss) = (point.rate, point.smoothed);
        say(format_args!("rate {rate:>9.1e}  smoothed loss {loss:.4}"))?;
    }
    let Some((steepest, tenth)) = test.steepest.zip(test.tenth_of_lowest) else {
        say("the loss falls at no rate; look at the text and the vectors")?;
        return Ok(Ended::Done);
    };
    say(format_args!(
        "the loss falls fastest at {steepest:.1e} and is lowest at {:.1e}",
        10.0 * tenth
    ))?;
    // A clip keeps rates from diverging that are far too high to end a training with: the lower one.
    let base = steepest.min(tenth);
    say(format_args!(
        "--set 'training.schedule={{ kind = \"cosine-restarts\", base_rate = {base:.1e}, first_cycle = 10.0 }}'"
    ))?;
    Ok(Ended::Done)
}

/// Searches for the largest batch whose training fits into the memory and leaves a fifth of it, by
/// trials with the longest chunks, of which so many are trained on.
///
/// # Errors
///
/// Also a wrong usage, where there is no choice of sizes.
pub(crate) fn batch(
    settings: &Settings,
    n_train: usize,
    arguments: &TrainArguments,
    signals: &Signals,
) -> Result<Ended, CommandFailure> {
    if n_train < 2 {
        return Err(CommandFailure::Usage(
            "--find-batch has no effect: a single chunk is trained on; leave it out".to_owned(),
        ));
    }
    let sizes = (settings.training.batch, MAX_SIZE);
    let besides = if settings.needs_whole_steps() {
        " --set training.batch_norm_by_part=true"
    } else {
        ""
    };
    let (items, output) = ("chunks of the greatest length", &arguments.output);
    say_largest_batch(
        (n_train, items),
        sizes,
        arguments.memory_mib,
        besides,
        signals,
        output.json,
    )
}

/// Refuses the search where batches have no size that a training would take.
pub(crate) fn check_batching(settings: &Settings) -> Result<(), CommandFailure> {
    if settings.training.batching == Batching::TokenBudget {
        return Err(CommandFailure::Usage(
            "--find-batch has no effect: batches of `token-budget` are cut by training.max_tokens; leave it out, or choose another \
             --batching"
                .to_owned(),
        ));
    }
    Ok(())
}
