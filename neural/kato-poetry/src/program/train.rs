//! `train` and `resume`.

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use indicatif::FormattedDuration;
use kato_poetry::poems::read_poems;
use kato_poetry::run::{Measured, Outcome, RunEnding, measure};
use kato_poetry::{Corpus, Run, Settings};

use super::cli::{ResumeArguments, TrainArguments};
use super::output::{say, say_json, tell};
use super::progress::Progress;
use super::{Ended, Failure, find, report, settings};

/// Trains a model on texts.
pub(crate) fn train(arguments: &TrainArguments, stop: &AtomicBool) -> Result<Ended, Failure> {
    let settings = settings::settings_of(arguments)?;
    if arguments.find_batch {
        return find::batch(&settings, arguments);
    }
    let poems = read_poems(&arguments.texts, &settings.text)?;
    let corpus = Corpus::prepare(poems, &settings.corpus())?;
    tell_corpus(&corpus);
    if arguments.find_rate {
        return find::rate(&settings, &corpus, arguments.output.json);
    }
    // A dry run needs no folder, and clap asks for one otherwise.
    let (false, Some(out)) = (arguments.dry_run, &arguments.out) else {
        return dry_run(&settings, &corpus, arguments.output.json);
    };
    let run = Run::create(out, settings, corpus)?;
    go(run, stop, arguments.output.json)
}

/// Goes on with a run.
pub(crate) fn resume(arguments: &ResumeArguments, stop: &AtomicBool) -> Result<Ended, Failure> {
    let mut run = Run::open(&arguments.run)?;
    if let Some(epochs) = arguments.epochs {
        run.set_epochs(epochs);
    }
    go(run, stop, arguments.output.json)
}

/// Trains a run until it ends or is stopped.
fn go(mut run: Run, stop: &AtomicBool, is_json: bool) -> Result<Ended, Failure> {
    let folder = run.folder().to_owned();
    let mut progress = Progress::new(run.n_steps()?, stop);
    let outcome = run.train(&mut |event| progress.on_event(event));
    progress.finish();
    let outcome = outcome?;
    report::write(&folder, &outcome)?;
    if is_json {
        say_json(&outcome)?;
    } else {
        say_outcome(&folder, &outcome)?;
    }
    if outcome.ending == RunEnding::Interrupted {
        tell(format_args!(
            "stopped after {} steps; go on with `kato-poetry resume {}`",
            outcome.n_steps,
            folder.display()
        ));
        return Ok(Ended::Interrupted);
    }
    Ok(Ended::Done)
}

/// Tells what the texts were made into.
fn tell_corpus(corpus: &Corpus) {
    let report = &corpus.report;
    tell(format_args!(
        "{} poems, {} too short; {} tokens, {} words; chunks: {} train, {} validation, {} test",
        report.n_poems,
        report.n_too_short,
        report.n_tokens,
        report.n_words,
        corpus.train.len(),
        corpus.validation.len(),
        corpus.test.len()
    ));
    tell(format_args!(
        "vectors: {}; {} words without one; {:.1} % of held-out tokens unknown",
        report.vectors.origin,
        report.vectors.n_missing,
        report.unseen_share * 100.0
    ));
}

/// Measures what a run will take, and writes nothing.
fn dry_run(settings: &Settings, corpus: &Corpus, is_json: bool) -> Result<Ended, Failure> {
    let measured = measure(settings, corpus)?;
    if is_json {
        say_json(&measured)?;
        return Ok(Ended::Done);
    }
    say_measured(&measured)?;
    Ok(Ended::Done)
}

/// Prints what a run will take.
fn say_measured(measured: &Measured) -> Result<(), Failure> {
    let mebibytes = |bytes: u64| bytes as f64 / f64::from(1 << 20);
    say(format_args!("parameters  {:>12}", measured.n_parameters))?;
    say(format_args!("chunks      {:>12}", measured.n_chunks))?;
    say(format_args!("steps       {:>12}", measured.n_steps))?;
    say(format_args!(
        "a step      {:>10.1} ms",
        measured.step_s * 1e3
    ))?;
    say(format_args!(
        "validation  {:>10.1} s an epoch",
        measured.judge_s
    ))?;
    match measured.peak_bytes {
        Some(bytes) => say(format_args!("memory      {:>10.0} MiB", mebibytes(bytes)))?,
        None => say("memory           unknown: this system does not tell")?,
    }
    say(format_args!(
        "checkpoint  {:>10.1} MiB each, up to four",
        mebibytes(measured.checkpoint_bytes)
    ))?;
    // One that no clock can show is too long in any case.
    let time = Duration::try_from_secs_f64(measured.hours * 3600.0).unwrap_or(Duration::MAX);
    let time = FormattedDuration(time).to_string();
    say(format_args!(
        "time        {time:>12}, if nothing stops it early"
    ))
}

/// Prints what came of a run.
fn say_outcome(folder: &Path, outcome: &Outcome) -> Result<(), Failure> {
    let why = match outcome.ending {
        RunEnding::Complete => "all epochs are trained",
        RunEnding::NoImprovement => "the validation loss no longer falls",
        RunEnding::ReachedTarget => "the validation cosine reached its target",
        _ => "interrupted",
    };
    say(format_args!(
        "{why}: {} epochs, {} steps",
        outcome.n_epochs, outcome.n_steps
    ))?;
    if let Some(best) = &outcome.best {
        say(format_args!(
            "best epoch {}: validation cosine {:.4} (the mean vector alone: {:.4}), loss {:.4}",
            best.epoch + 1,
            best.validation.cosine,
            outcome.baseline_cosine,
            best.validation.loss
        ))?;
    }
    if let Some(test) = &outcome.test {
        say(format_args!(
            "test: cosine {:.4}, {:.1} % of {} words right",
            test.cosine,
            test.token_accuracy.unwrap_or(0.0) * 100.0,
            test.n_tokens
        ))?;
    }
    say(format_args!(
        "the page is {}",
        folder.join(report::NAME).display()
    ))
}
