//! `bench`: how fast this machine trains, and reads word vectors.

use kato_advice::counted;
use kato_neural::program::{CommandFailure, Ended, say, say_json, wrong_setting};
use kato_neural::run::RunSettings;
use kato_poetry::bench::{
    TrainingSpeed, VectorSpeed, cache_opening_ms, training_speed, vector_speed, with_forcing,
};
use kato_poetry::vectors::reading_threads;
use kato_poetry::{Run, Settings};
use serde::Serialize;

use super::cli::{BenchCommand, BenchGloveArguments, BenchTrainArguments};

/// Sizes that are measured: name, dimensions, and settings.
const SIZES: [(&str, usize, &str); 2] = [
    ("small", 50, "hidden = 128\nlayers = 1\nbottleneck = 16\n"),
    ("large", 300, "hidden = 512\nlayers = 2\nbottleneck = 64\n"),
];

/// A line of the table.
#[derive(Serialize)]
struct Line {
    size: &'static str,
    precision: &'static str,
    forcing: f64,
    speed: TrainingSpeed,
}

/// Measures what was asked for.
pub(crate) fn bench(command: &BenchCommand) -> Result<Ended, CommandFailure> {
    match command {
        BenchCommand::Train(arguments) => train(arguments),
        BenchCommand::Glove(arguments) => glove(arguments),
        BenchCommand::Course(arguments) => {
            Run::write_course(&arguments.run, &arguments.out, arguments.losses)?;
            Ok(Ended::Done)
        }
    }
}

/// Measures training steps of both sizes, in both formats, with all true words and with half.
fn train(arguments: &BenchTrainArguments) -> Result<Ended, CommandFailure> {
    let mut lines = Vec::new();
    for (size, dims, model) in SIZES {
        for precision in ["f32", "bf16"] {
            for forcing in [1.0, 0.5] {
                // No dropout and no batch norm, as in the measures that these are compared with.
                let text = format!(
                    "[model]\n{model}dropout = 0.0\nbatch_norm = false\n[training]\nprecision = '{precision}'\n"
                );
                let settings = Settings::from_toml(&text).map_err(|error| wrong_setting(&error))?;
                let settings = with_forcing(settings, forcing)?;
                let speed = training_speed(&settings, dims, arguments.steps)?;
                let line = Line {
                    size,
                    precision,
                    forcing,
                    speed,
                };
                if !arguments.output.json {
                    say_line(&line)?;
                }
                lines.push(line);
            }
        }
    }
    if arguments.output.json {
        say_json(&lines)?;
    }
    Ok(Ended::Done)
}

/// Prints a line of the table.
fn say_line(line: &Line) -> Result<(), CommandFailure> {
    let Line {
        size,
        precision,
        forcing,
        speed,
    } = line;
    let of_processor = match speed.chunks_per_processor_s {
        Some(rate) => format!("{rate:.0}"),
        None => "-".to_owned(),
    };
    say(format_args!(
        "{size}  {precision:<4}  forcing {forcing:.1}  {:>7.0} chunks/s  {of_processor:>7} a processor second  loss {:.6}",
        speed.chunks_per_s, speed.loss
    ))
}

/// What was measured of a file of vectors.
#[derive(Serialize)]
struct VectorSpeeds {
    readings: Vec<VectorSpeed>,
    cache_opening_ms: f64,
}

/// Measures how fast a file of vectors is read, with one thread and with all, and its cache opened.
fn glove(arguments: &BenchGloveArguments) -> Result<Ended, CommandFailure> {
    let (file, rounds) = (&arguments.file, arguments.rounds.max(1));
    let all = reading_threads();
    // The first reading fetches the file from the disk, and is not told.
    vector_speed(file, all)?;
    let mut readings: Vec<VectorSpeed> = Vec::new();
    // With one thread alone there is nothing to compare.
    for n_threads in [1].into_iter().chain((all > 1).then_some(all)) {
        let mut fastest = vector_speed(file, n_threads)?;
        for _ in 1..rounds {
            let speed = vector_speed(file, n_threads)?;
            let of_processor = |speed: &VectorSpeed| speed.mb_per_processor_s.unwrap_or(0.0);
            let best = of_processor(&fastest).max(of_processor(&speed));
            // Wall and processor have their best in different rounds where others compute too.
            fastest.mb_per_s = fastest.mb_per_s.max(speed.mb_per_s);
            fastest.mb_per_processor_s = fastest.mb_per_processor_s.map(|_| best);
        }
        readings.push(fastest);
    }
    let cache_opening_ms = cache_opening_ms(file, rounds)?;
    if arguments.output.json {
        say_json(&VectorSpeeds {
            readings,
            cache_opening_ms,
        })?;
        return Ok(Ended::Done);
    }
    for speed in &readings {
        let VectorSpeed {
            n_threads,
            n_words,
            dims,
            mb_per_s,
            mb_per_processor_s,
            ..
        } = speed;
        let of_processor = match mb_per_processor_s {
            Some(rate) => format!("{rate:.0}"),
            None => "-".to_owned(),
        };
        say(format_args!(
            "{} of {dims}  {}  {mb_per_s:.0} MB/s  {of_processor} a processor second",
            counted(*n_words, "word"),
            counted(*n_threads, "thread")
        ))?;
    }
    say(format_args!("cache opened in {cache_opening_ms:.2} ms"))?;
    Ok(Ended::Done)
}
