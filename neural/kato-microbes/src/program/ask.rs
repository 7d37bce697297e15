//! `predict` and `explain`: what a trained model says of samples.

use std::fmt::Write;

use kato_advice::counted;
use kato_microbes::explain::{Branches, SampleExplanation, branches, explain as explained};
use kato_microbes::metadata::SampleMetadata;
use kato_microbes::{Answer, Microbes, MicrobesError, TrainedMicrobes};
use kato_neural::program::{CommandFailure, refuse_inputs, say, say_json, tell};
use kato_neural::run::write_text;
use kato_unifrac::newick::NewickOptions;
use kato_unifrac::{Tree, UnifracError};
use serde::Serialize;

use super::cli_training::{AskArguments, ExplainArguments, PredictArguments};
use super::data::{categories, tell_report};

/// Reads a table as the run's was.
fn microbes(
    trained: &TrainedMicrobes,
    arguments: &AskArguments,
) -> Result<Microbes, CommandFailure> {
    let mut options = trained.settings().data.clone();
    options.fasta.clone_from(&arguments.fasta);
    if let Some(depth) = arguments.depth {
        options.depth = depth;
    }
    let (mut microbes, _) = Microbes::read(&arguments.table, &options, None)?;
    tell_report(&microbes.report);
    let columns = &trained.settings().model.categorical;
    if let (Some(column), metadata) = (columns.first(), &arguments.metadata) {
        let Some(path) = metadata else {
            let name = &column.name;
            let text =
                format!("this model is told `{name}` of each sample: give `--metadata FILE`");
            return Err(CommandFailure::Usage(text));
        };
        let metadata = SampleMetadata::read(path)?;
        microbes.categories = categories(columns, &metadata, microbes.table.sample_ids())?.of;
    }
    Ok(microbes)
}

/// Predicts the samples of a table.
pub(crate) fn predict(arguments: &PredictArguments) -> Result<(), CommandFailure> {
    if let Some(out) = &arguments.out {
        let ask = &arguments.ask;
        let read = [Some(&ask.table), ask.fasta.as_ref(), ask.metadata.as_ref()];
        refuse_inputs(out, read.into_iter().flatten().map(|path| path.as_path()))?;
    }
    let trained = TrainedMicrobes::load(&arguments.ask.run)?;
    let microbes = microbes(&trained, &arguments.ask)?;
    let answers = trained.predict(&microbes, arguments.passes.get());
    match trained.conformal() {
        Some(conformal) => tell(format_args!(
            "intervals hold what is true at least {:.0} times of a hundred on average, for samples like those of the run, read in one pass",
            (1.0 - conformal.miss) * 100.0
        )),
        None => tell("there are no intervals: they need an ended run and nine calibration samples"),
    }
    let ids = microbes.table.sample_ids();
    let text = table(&trained, ids, &answers);
    if let Some(path) = &arguments.out {
        write_text(path, &text)?;
    }
    if arguments.ask.output.json {
        return say_json(&serde_json::json!({
            "column": trained.column(), "classes": trained.classes(),
            "conformal": trained.conformal(), "samples": ids, "answers": answers,
        }));
    }
    match &arguments.out {
        Some(path) => say(format_args!(
            "{} in {}",
            counted(answers.len(), "prediction"),
            path.display()
        )),
        None => say(text.trim_end()),
    }
}

/// Returns predictions as text with tabs.
fn table(trained: &TrainedMicrobes, ids: &[String], answers: &[Answer]) -> String {
    let width = trained.conformal().map(|conformal| conformal.width);
    let classes = trained.classes();
    let mut text = "sample_id\tpredicted".to_owned();
    let head = if classes.is_empty() {
        "\tlow\thigh\tdeviation\n"
    } else {
        "\tprobability\tset\tdeviation\n"
    };
    text.push_str(head);
    for (id, answer) in ids.iter().zip(answers) {
        // Writing into a text does not fail.
        let _ = if classes.is_empty() {
            let (value, width) = (answer.value(), width.unwrap_or(f64::NAN));
            let (low, high) = (value - width, value + width);
            write!(text, "{id}\t{value:.6}\t{low:.6}\t{high:.6}")
        } else {
            let best = answer.class();
            let least = 1.0 - width.unwrap_or(f64::NAN);
            let set: Vec<&str> = classes
                .iter()
                .zip(&answer.outputs)
                .filter(|(_, probability)| **probability >= least)
                .map(|(name, _)| name.as_str())
                .collect();
            write!(
                text,
                "{id}\t{}\t{:.6}\t{}",
                classes[best],
                answer.outputs[best],
                set.join(",")
            )
        };
        let _ = writeln!(text, "\t{:.6}", answer.deviation);
    }
    text
}

/// Says what a sample's prediction rests on: sequences, and with a tree also its branches.
pub(crate) fn explain(arguments: &ExplainArguments) -> Result<(), CommandFailure> {
    let trained = TrainedMicrobes::load(&arguments.ask.run)?;
    let microbes = microbes(&trained, &arguments.ask)?;
    let mut ids = microbes.table.sample_ids().iter();
    let Some(sample) = ids.position(|id| *id == arguments.sample) else {
        let sample = arguments.sample.clone();
        return Err(MicrobesError::from(UnifracError::UnknownSample { sample }).into());
    };
    let found = explained(&trained, &microbes, sample, arguments.limit);
    let tree = arguments
        .tree
        .as_ref()
        .map(|path| Tree::read(path, NewickOptions::default()));
    let tree = tree.transpose().map_err(MicrobesError::from)?;
    let below = tree.map(|tree| branches(&trained, &microbes, &tree, sample, arguments.limit));
    if arguments.ask.output.json {
        return say_json(&Explained {
            explanation: &found,
            branches: below.as_ref(),
        });
    }
    let unit = trained.classes().get(found.output).map_or_else(
        || format!("`{}` is {:.4}", trained.column(), found.value),
        |class| format!("`{class}` has the probability {:.4}", found.value),
    );
    say(format_args!(
        "{}: {unit}; without a sequence it changes by",
        arguments.sample
    ))?;
    for part in &found.parts {
        say_part((part.change, part.attention, part.share), &part.feature)?;
    }
    let Some(below) = below else { return Ok(()) };
    if below.n_unplaced > 0 {
        tell(format_args!(
            "{} of the sample no tip of the tree, so below none of its branches",
            counted(below.n_unplaced, "feature")
        ));
    }
    say("without all sequences below a branch it changes by")?;
    for branch in &below.branches {
        let n = counted(branch.features.len(), "sequence");
        let (label, first) = (labelled(&branch.label), &branch.features[0]);
        let name = format!("{label}{n}, such as {first}");
        say_part((branch.change, branch.attention, branch.share), &name)?;
    }
    Ok(())
}

/// What `explain --json` prints: `branches` only where a tree was given.
#[derive(Serialize)]
struct Explained<'a> {
    #[serde(flatten)]
    explanation: &'a SampleExplanation,
    #[serde(flatten)]
    branches: Option<&'a Branches>,
}

/// Prints how a prediction changes without something, and how much the model looks at that.
fn say_part((change, attention, share): (f64, f64, f64), name: &str) -> Result<(), CommandFailure> {
    say(format_args!(
        "{change:>+10.4}  attention {attention:.4}  abundance {share:.4}  {name}"
    ))
}

/// Returns a branch's label as the beginning of a line, if it has one.
fn labelled(label: &str) -> String {
    if label.is_empty() {
        String::new()
    } else {
        format!("`{label}`: ")
    }
}
