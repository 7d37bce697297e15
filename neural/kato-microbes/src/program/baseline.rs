//! `baseline`: what a random forest predicts.

use kato_microbes::baseline::{Baseline, BaselineOptions};
use kato_microbes::evaluation::Score;
use kato_microbes::metadata::{PredictionTarget, SampleMetadata, TargetValues};
use kato_microbes::{MicrobesError, rarefied};
use kato_neural::program::{CommandFailure, refuse_inputs, say, say_json};
use kato_neural::run::write_text;
use kato_unifrac::Table;

use super::cli::BaselineArguments;
use super::data::{target, tell_report};

/// Predicts a column by a forest.
pub(crate) fn baseline(arguments: &BaselineArguments) -> Result<(), CommandFailure> {
    if let Some(out) = &arguments.out {
        refuse_inputs(out, [arguments.table.as_path(), &arguments.target.metadata])?;
    }
    let table = Table::read(&arguments.table).map_err(MicrobesError::from)?;
    let (table, report) = rarefied(&table, &arguments.options.options())?;
    tell_report(&report);
    let metadata = SampleMetadata::read(&arguments.target.metadata)?;
    let target = target(&arguments.target, &metadata, table.sample_ids())?;
    let options = BaselineOptions::default()
        .with_n_trees(arguments.trees)
        .with_n_folds(arguments.folds)
        .with_seed(arguments.options.seed);
    let found = kato_microbes::baseline::baseline(&table, &target, &options)?;
    if let Some(path) = &arguments.out {
        let text = predictions(table.sample_ids(), &target, &found);
        write_text(path, &text)?;
    }
    if arguments.output.json {
        return say_json(&serde_json::json!({
            "column": target.column, "samples": target.n_samples(),
            "scores": found.scores, "chosen": found.chosen,
        }));
    }
    say(format_args!(
        "random forest, {} folds, each sample predicted by a forest that never saw it:",
        arguments.folds
    ))?;
    say_scores(&found.scores)
}

/// Prints figures with their intervals.
pub(crate) fn say_scores(scores: &[Score]) -> Result<(), CommandFailure> {
    scores.iter().try_for_each(|score| {
        let Score {
            name,
            value,
            low,
            high,
            ..
        } = score;
        if low.is_nan() {
            return say(format_args!("{name:<20} {value:>8.4}"));
        }
        say(format_args!(
            "{name:<20} {value:>8.4}   95 % from {low:.4} to {high:.4}"
        ))
    })
}

/// Returns what is true and what was predicted, as text with tabs.
fn predictions(sample_ids: &[String], target: &PredictionTarget, found: &Baseline) -> String {
    let mut text = "sample_id\ttrue\tpredicted\n".to_owned();
    let shown = |values: &TargetValues, at: usize| match values {
        TargetValues::Numbers(numbers) => numbers[at].to_string(),
        TargetValues::Classes { names, of } => names[of[at]].clone(),
        _ => String::new(),
    };
    for (at, &sample) in target.samples.iter().enumerate() {
        let (truth, predicted) = (shown(&target.values, at), shown(&found.predicted, at));
        text.push_str(&format!("{}\t{truth}\t{predicted}\n", sample_ids[sample]));
    }
    text
}
