//! `pretrain`, `train` and `resume`.

use std::path::Path;

use kato_advice::counted;
use kato_microbes::cache::Key;
use kato_microbes::distances::align;
use kato_microbes::metadata::{Categorical, SampleMetadata, TargetValues};
use kato_microbes::run::{MicrobesEpoch, MicrobesEvent, MicrobesOutcome, measure};
use kato_microbes::work::{Truth, Work};
use kato_microbes::{Microbes, MicrobesError, MicrobesSettings, Run};
use kato_neural::program::{
    CommandFailure, Ended, EndedTraining, TrainingBar, say, say_cost, say_json, say_largest_batch,
    tell,
};
use kato_neural::run::Signals;
use kato_unifrac::newick::NewickOptions;
use kato_unifrac::{Community, ComputeOptions, DistanceMatrix, Metric, Tree};

use super::baseline::say_scores;
use super::check::tell_findings;
use super::cli::MetricName;
use super::cli_training::{PretrainArguments, ResumeArguments, RunArguments, TrainArguments};
use super::data::{categories, target, tell_report, tell_saved, unlearned};
use super::names::names;
use super::settings::settings_of;
use super::{replicas, report};

/// Teaches a model distances.
pub(crate) fn pretrain(
    arguments: &PretrainArguments,
    signals: &Signals,
) -> Result<Ended, CommandFailure> {
    let settings = settings_of(&arguments.run, false)?;
    let microbes = microbes(&arguments.table, &settings, &arguments.run)?;
    let matrix = match &arguments.distances {
        Some(path) => DistanceMatrix::read(path).map_err(MicrobesError::from)?,
        None => computed(arguments, &microbes, &settings)?,
    };
    let aligned = align(&matrix, microbes.table.sample_ids());
    for (what, missing) in [
        ("without distances and left out", &aligned.absent),
        ("of the distances, not in the table", &aligned.surplus),
    ] {
        if let Some(line) = names("sample", what, missing) {
            tell(line);
        }
    }
    let work = Work::from_distances(microbes, aligned)?;
    begin(&arguments.run, settings, work, None, signals)
}

/// Teaches a model a column.
pub(crate) fn train(
    arguments: &TrainArguments,
    signals: &Signals,
) -> Result<Ended, CommandFailure> {
    let mut settings = settings_of(&arguments.run, arguments.freeze)?;
    if let Some(run) = &arguments.pretrained {
        // Read before the table, whose sequences are cut by it.
        settings.data.tokens = MicrobesSettings::of_run(run)?.data.tokens;
    }
    if !arguments.categorical.is_empty() {
        let names = arguments.categorical.iter();
        settings.model.categorical = names.map(Categorical::new).collect();
    }
    let columns = &settings.model.categorical;
    if columns
        .iter()
        .any(|column| column.name == arguments.target.column)
    {
        let text =
            "`--categorical` names the column to predict: the model would be told the answer";
        return Err(CommandFailure::Usage(text.to_owned()));
    }
    let mut microbes = microbes(&arguments.table, &settings, &arguments.run)?;
    let metadata = SampleMetadata::read(&arguments.target.metadata)?;
    let sample_ids = microbes.table.sample_ids();
    let target = target(&arguments.target, &metadata, sample_ids)?;
    let told = categories(columns, &metadata, sample_ids)?;
    (settings.model.categorical, microbes.categories) = (told.columns, told.of);
    let work = Work::from_target(microbes, target);
    let pretrained = arguments.pretrained.as_deref();
    let ended = begin(&arguments.run, settings, work, pretrained, signals)?;
    let run = &arguments.run;
    if ended == Ended::Done && !(run.dry_run || run.find_batch) {
        // A forest of numbers is none to compare classes with.
        let classes = if arguments.target.classes {
            " --classes"
        } else {
            ""
        };
        tell(format_args!(
            "the forest to beat: `kato-microbes baseline {} --metadata {} --column {}{classes}`, with the depth of the run",
            arguments.table.display(),
            arguments.target.metadata.display(),
            arguments.target.column
        ));
    }
    Ok(ended)
}

/// Goes on with a run.
pub(crate) fn resume(
    arguments: &ResumeArguments,
    signals: &Signals,
) -> Result<Ended, CommandFailure> {
    go(Run::open(&arguments.run)?, signals, arguments.output.json)
}

/// Samples of a batch at most that `--find-batch` tries.
const MAX_BATCH: usize = 256;

/// Searches for the largest batch that fits, of no more samples than are trained on.
fn batch(
    settings: &MicrobesSettings,
    work: &Work,
    arguments: &RunArguments,
    signals: &Signals,
) -> Result<Ended, CommandFailure> {
    let n_train = work.parts(&settings.split)?.train.len();
    let (limit, is_json) = (arguments.memory_mib, arguments.output.json);
    let sizes = (settings.training.batch, MAX_BATCH);
    let items = (n_train, "samples");
    say_largest_batch(items, sizes, limit, "", signals, is_json)
}

/// Reads a table and makes it ready.
fn microbes(
    table: &Path,
    settings: &MicrobesSettings,
    arguments: &RunArguments,
) -> Result<Microbes, CommandFailure> {
    let cache = arguments.cache.open();
    let (microbes, saved) = Microbes::read(table, &settings.data, cache.as_ref())?;
    if let Some(saved) = saved {
        tell_saved("tokens", &saved);
    }
    tell_report(&microbes.report);
    Ok(microbes)
}

/// Computes the distances of the samples as they were drawn.
fn computed(
    arguments: &PretrainArguments,
    microbes: &Microbes,
    settings: &MicrobesSettings,
) -> Result<DistanceMatrix, CommandFailure> {
    let metric = match arguments.metric {
        MetricName::Unweighted => Metric::Unweighted,
        MetricName::Normalized => Metric::NormalizedWeighted,
        _ => {
            let text = "`pretrain` learns distances up to 1: `--metric unweighted` or `normalized`";
            return Err(CommandFailure::Usage(text.to_owned()));
        }
    };
    // Clap asks for one where no distances are given.
    let Some(path) = &arguments.tree else {
        return Err(CommandFailure::Usage(
            "give `--tree FILE` or `--distances FILE`".to_owned(),
        ));
    };
    let compute = || -> Result<DistanceMatrix, MicrobesError> {
        let tree = Tree::read(path, NewickOptions::default())?;
        let community = Community::new(&microbes.table, &tree, arguments.fit.options())?;
        tell_findings(&community);
        Ok(community.distances(metric, ComputeOptions::default())?)
    };
    let Some(cache) = arguments.run.cache.open() else {
        return Ok(compute()?);
    };
    let key = Key::new("distances")
        // Of samples that hold something: `unifrac` refuses the others, and must not find these.
        .with("of", "samples made ready")
        .with_file(&arguments.table)?
        .with_file(path)?
        .with("metric", format_args!("{metric:?}"))
        .with("depth", settings.data.depth)
        .with("seed", settings.data.seed)
        .with("fit", format_args!("{:?}", arguments.fit.options()));
    let (distances, saved) = cache.distances(&key, compute)?;
    tell_saved("distances", &saved);
    Ok(distances)
}

/// Begins a run, or measures what it would take.
fn begin(
    arguments: &RunArguments,
    settings: MicrobesSettings,
    work: Work,
    pretrained: Option<&Path>,
    signals: &Signals,
) -> Result<Ended, CommandFailure> {
    let is_json = arguments.output.json;
    if arguments.find_batch {
        let (settings, work) = Run::begun_from(pretrained, settings, work)?;
        return batch(&settings, &work, arguments, signals);
    }
    // A dry run needs no folder, and clap asks for one otherwise.
    let (false, Some(out)) = (arguments.dry_run, &arguments.out) else {
        let (settings, work) = Run::begun_from(pretrained, settings, work)?;
        let measured = measure(&settings, &work)?;
        if is_json {
            say_json(&measured)?;
        } else {
            say(format_args!(
                "tokens      {:>12} a batch, each distinct sequence once",
                measured.n_tokens
            ))?;
            say_cost("samples", measured.n_samples, &measured.cost)?;
        }
        return Ok(Ended::Done);
    };
    let columns = settings.model.categorical.clone();
    let run = Run::create(out, settings, work, pretrained)?;
    for (before, kept) in columns.iter().zip(&run.settings().model.categorical) {
        let gone = before.values.iter();
        let gone = gone.filter(|value| !kept.values.contains(value)).cloned();
        if let Some(line) = names("value", &unlearned(&before.name), &gone.collect::<Vec<_>>()) {
            tell(line);
        }
    }
    let parts = run.parts();
    tell(format_args!(
        "samples: {} train, {} validation, {} calibration, {} test",
        parts.train.len(),
        parts.validation.len(),
        parts.calibration.len(),
        parts.test.len()
    ));
    if let Truth::Target {
        values: TargetValues::Classes { names: classes, of },
        column,
    } = &run.work().truth
    {
        let is_learned = |class: usize| parts.train.iter().any(|&at| of[at] == class);
        let unlearned = classes.iter().enumerate();
        let unlearned = unlearned.filter(|(class, _)| !is_learned(*class));
        let unlearned: Vec<String> = unlearned.map(|(_, name)| name.clone()).collect();
        let what = format!(
            "of `{column}` without a sample that is learned from, so without a probability that means anything"
        );
        if let Some(line) = names("value", &what, &unlearned) {
            tell(line);
        }
    }
    if !run.work().seen.is_empty() {
        tell(format_args!(
            "{} learned from or chosen by while pre-training: none of these is held back for calibration or test",
            counted(run.work().seen.len(), "sample")
        ));
    }
    go(run, signals, is_json)
}

/// Trains a run until it ends or is stopped.
fn go(mut run: Run, signals: &Signals, is_json: bool) -> Result<Ended, CommandFailure> {
    let folder = run.folder().to_owned();
    let mut progress = TrainingBar::new(run.n_steps()?, "tokens", signals.begin_training());
    let outcome = replicas::train(&mut run, &mut |event| {
        match event {
            MicrobesEvent::Step(record) => progress.step(record),
            MicrobesEvent::Epoch(record) => progress.line(&epoch_line(record)),
            _ => {}
        }
        progress.goes_on()
    });
    progress.finish();
    let outcome = outcome?;
    let page = report::page(&Run::read_history(&folder)?, &outcome);
    let ended = EndedTraining {
        program: "kato-microbes",
        folder: &folder,
        ending: outcome.ending,
        n_steps: outcome.n_steps,
        n_epochs: outcome.n_epochs,
    };
    ended.conclude(page, &outcome, is_json, || say_figures(&outcome))
}

/// Returns an epoch in a line.
fn epoch_line(record: &MicrobesEpoch) -> String {
    let validation = &record.validation;
    let figures = [
        ("r2", validation.r2),
        ("mae", validation.mae),
        ("accuracy", validation.accuracy),
        ("f1", validation.f1),
        ("counts", validation.counts),
    ];
    let figures: String = figures
        .iter()
        .filter_map(|(name, value)| value.map(|value| format!("  {name} {value:.4}")))
        .collect();
    format!(
        "epoch {:>3}  train {:.4}  validation {:.4}{figures}  norm {:.2}  {:.1} s{}",
        record.epoch + 1,
        record.train_loss,
        validation.loss,
        record.gradient_norm,
        record.train_s + record.judge_s,
        if record.is_best { "  best" } else { "" }
    )
}

/// Prints the figures of what came of a run.
fn say_figures(outcome: &MicrobesOutcome) -> Result<(), CommandFailure> {
    if let Some(best) = &outcome.best {
        let (epoch, loss) = (best.epoch + 1, best.validation.loss);
        say(format_args!(
            "best epoch {epoch}: validation loss {loss:.4}"
        ))?;
    }
    if !outcome.test.is_empty() {
        say("on test samples, of which nothing was learned or chosen:")?;
        say_scores(&outcome.test)?;
    }
    if let Some(conformal) = &outcome.conformal {
        let level = (1.0 - conformal.miss) * 100.0;
        say(format_args!(
            "intervals of {level:.0} %: width ± {:.4} from {}",
            conformal.width,
            counted(conformal.n_calibration, "calibration sample")
        ))?;
        if let Some(coverage) = conformal.coverage {
            let (percent, n) = (coverage * 100.0, counted(conformal.n_test, "test sample"));
            say(format_args!("they hold {percent:.0} % of {n}"))?;
        }
    }
    Ok(())
}
