//! `train` and `resume`.

use std::mem::discriminant;

use kato_advice::counted;
use kato_neural::program::{
    CommandFailure, Ended, EndedTraining, TrainingBar, say, say_cost, say_json, tell,
};
use kato_neural::run::Signals;
use kato_poetry::poems::read_poems;
use kato_poetry::run::{EpochRecord, PoetryEvent, PoetryOutcome, measure};
use kato_poetry::{Corpus, Run, Settings};

use super::cli::{ResumeArguments, TrainArguments};
use super::{find, report, settings};

/// Trains a model on texts.
pub(crate) fn train(
    arguments: &TrainArguments,
    signals: &Signals,
) -> Result<Ended, CommandFailure> {
    let settings = settings::settings_of(arguments)?;
    // Before texts are read, which may take long.
    settings.check()?;
    if arguments.find_batch {
        find::check_batching(&settings)?;
    }
    let poems = read_poems(&arguments.texts, &settings.text)?;
    let corpus = Corpus::prepare(poems, &settings.corpus())?;
    tell_corpus(&corpus);
    if arguments.find_batch {
        let n_train = corpus.train.len();
        // Each trial has its own, and no room beside it is lost.
        drop(corpus);
        return find::batch(&settings, n_train, arguments, signals);
    }
    if arguments.find_rate {
        return find::rate(&settings, &corpus, arguments.output.json);
    }
    // A dry run needs no folder, and clap asks for one otherwise.
    let (false, Some(out)) = (arguments.dry_run, &arguments.out) else {
        return dry_run(&settings, &corpus, arguments.output.json);
    };
    let run = Run::create(out, settings, corpus)?;
    go(run, signals, arguments.output.json)
}

/// Goes on with a run.
pub(crate) fn resume(
    arguments: &ResumeArguments,
    signals: &Signals,
) -> Result<Ended, CommandFailure> {
    let mut run = Run::open(&arguments.run)?;
    if let Some(epochs) = arguments.epochs {
        run.set_epochs(epochs)?;
    }
    go(run, signals, arguments.output.json)
}

/// Trains a run until it ends or is stopped.
fn go(mut run: Run, signals: &Signals, is_json: bool) -> Result<Ended, CommandFailure> {
    let folder = run.folder().to_owned();
    let mut progress = TrainingBar::new(run.n_steps()?, "chunks", signals.begin_training());
    let mut told = None;
    let outcome = run.train(&mut |event| {
        match event {
            PoetryEvent::Step(record) => progress.step(record),
            PoetryEvent::Epoch(record) => progress.line(&epoch_line(record)),
            // A collapse lasts for epochs, with other figures in each; it is told when it begins, or becomes another.
            PoetryEvent::Collapse(collapse) if told != Some(discriminant(&collapse)) => {
                told = Some(discriminant(&collapse));
                progress.line(&format!("warning: {collapse}"));
            }
            _ => {}
        }
        progress.goes_on()
    });
    progress.finish();
    let outcome = outcome?;
    let page = report::page(&Run::read_history(&folder)?, &outcome);
    let ended = EndedTraining {
        program: "kato-poetry",
        folder: &folder,
        ending: outcome.ending,
        n_steps: outcome.n_steps,
        n_epochs: outcome.n_epochs,
    };
    ended.conclude(page, &outcome, is_json, || say_figures(&outcome))
}

/// Returns an epoch in a line.
fn epoch_line(record: &EpochRecord) -> String {
    let validation = &record.validation;
    format!(
        "epoch {:>3}  train {:.4}  validation {:.4}  cosine {:.4}  variance {:.2}  live units {:.0} %  norm {:.2}  {:.0} chunks/s{}",
        record.epoch + 1,
        record.train_loss,
        validation.loss,
        validation.cosine,
        validation.variance_ratio,
        validation.live_units * 100.0,
        record.gradient_norm,
        record.chunks_per_s,
        if record.is_best { "  best" } else { "" }
    )
}

/// Tells what the texts were made into.
fn tell_corpus(corpus: &Corpus) {
    let report = &corpus.report;
    tell(format_args!(
        "{}, {} too short; {}, {}; chunks: {} train, {} validation, {} test",
        counted(report.n_poems, "poem"),
        report.n_too_short,
        counted(report.n_tokens, "token"),
        counted(report.n_words, "word"),
        corpus.train.len(),
        corpus.validation.len(),
        corpus.test.len()
    ));
    tell(format_args!(
        "vectors: {}; {} without one; {:.1} % of held-out tokens unknown",
        report.vectors.origin,
        counted(report.vectors.n_missing, "word"),
        report.unseen_share * 100.0
    ));
    if let Some(first) = &report.vectors.first_bad_line {
        tell(format_args!(
            "{} of {} passed over, which give no vector; the first: {first}",
            counted(report.vectors.n_bad_lines, "line"),
            report.vectors.origin
        ));
    }
}

/// Measures what a run will take, and writes nothing.
fn dry_run(settings: &Settings, corpus: &Corpus, is_json: bool) -> Result<Ended, CommandFailure> {
    let measured = measure(settings, corpus)?;
    if is_json {
        say_json(&measured)?;
    } else {
        say_cost("chunks", measured.n_chunks, &measured.cost)?;
    }
    Ok(Ended::Done)
}

/// Prints the figures of what came of a run.
fn say_figures(outcome: &PoetryOutcome) -> Result<(), CommandFailure> {
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
            "test: cosine {:.4}, {:.1} % of {} right",
            test.cosine,
            test.token_accuracy.unwrap_or(0.0) * 100.0,
            counted(test.n_tokens, "word")
        ))?;
    }
    Ok(())
}
