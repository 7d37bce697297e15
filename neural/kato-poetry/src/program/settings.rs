//! Settings out of a file and of flags, of which flags count more.

use kato_neural::run::{override_setting, parse_value};
use kato_poetry::Settings;
use toml::{Table, Value};

use super::Failure;
use super::cli::{TextArguments, TrainArguments};

/// Returns the settings of a training.
pub(crate) fn settings_of(arguments: &TrainArguments) -> Result<Settings, Failure> {
    let mut table = match &arguments.settings {
        // Read alone first, so that an error names a line of the file.
        Some(path) => Table::try_from(Settings::read(path)?).map_err(|error| wrong(&error))?,
        None => Table::new(),
    };
    text_flags(&mut table, &arguments.text);
    let text = |value: &Option<String>| value.clone().map(Value::String);
    let number = |value: Option<usize>| value.map(|value| Value::Integer(clamped(value as u64)));
    let long = |value: Option<u64>| value.map(|value| Value::Integer(clamped(value)));
    let real = |value: Option<f64>| value.map(Value::Float);
    let file = arguments
        .vectors
        .as_ref()
        .map(|path| path.to_string_lossy().into_owned());
    let flags = [
        ("vectors.file", file.map(Value::String)),
        ("vectors.dims", number(arguments.dims)),
        ("model.cell", text(&arguments.cell)),
        ("model.hidden", number(arguments.hidden)),
        ("model.layers", number(arguments.layers)),
        ("model.bottleneck", number(arguments.bottleneck)),
        ("training.epochs", long(arguments.epochs)),
        ("training.batch", number(arguments.batch)),
        ("training.batching", text(&arguments.batching)),
        ("training.accumulate", number(arguments.accumulate)),
        ("training.workers", number(arguments.workers)),
        ("training.prefetch", number(arguments.prefetch)),
        ("training.clip", real(arguments.clip)),
        ("training.patience", long(arguments.patience.map(u64::from))),
        ("training.checkpoints", text(&arguments.checkpoints)),
        ("training.artifacts", text(&arguments.artifacts)),
        ("training.precision", text(&arguments.precision)),
        (
            "training.forcing",
            arguments.forcing.map(|ratio| constant("ratio", ratio)),
        ),
        (
            "training.schedule",
            arguments.constant_rate.map(|rate| constant("rate", rate)),
        ),
        ("loss.kind", text(&arguments.loss)),
        ("loss.bottleneck_l2", real(arguments.penalty)),
        ("training.seed", long(arguments.seed)),
    ];
    for (name, value) in flags {
        if let Some(value) = value {
            override_setting(&mut table, name, value).map_err(Failure::Usage)?;
        }
    }
    for set in &arguments.sets {
        let Some((name, value)) = set.split_once('=') else {
            return Err(Failure::Usage(format!(
                "--set {set}: it has to be NAME=VALUE"
            )));
        };
        let value = parse_value(value.trim());
        override_setting(&mut table, name.trim(), value).map_err(Failure::Usage)?;
    }
    let settings: Settings = table.try_into().map_err(|error| wrong(&error))?;
    settings.check()?;
    Ok(settings)
}

/// Returns a table of a kind `constant` with its one number.
fn constant(name: &str, value: f64) -> Value {
    Value::Table(Table::from_iter([
        ("kind".to_owned(), Value::String("constant".to_owned())),
        (name.to_owned(), Value::Float(value)),
    ]))
}

/// Puts the flags that say what a poem is into a table.
pub(crate) fn text_flags(table: &mut Table, arguments: &TextArguments) {
    let mut text = Table::new();
    if let Some(unit) = &arguments.unit {
        text.insert("unit".to_owned(), Value::String(unit.clone()));
    }
    if arguments.titles {
        text.insert("titles".to_owned(), Value::Boolean(true));
    }
    if let Value::Table(there) = table
        .entry("text")
        .or_insert_with(|| Value::Table(Table::new()))
    {
        there.extend(text);
    }
}

/// Returns the error of settings that there are not.
pub(crate) fn wrong(error: &dyn std::fmt::Display) -> Failure {
    Failure::Usage(format!(
        "a setting is wrong: {}",
        error.to_string().trim_end()
    ))
}

/// Returns a number as TOML has them; one that is too large is out of every range.
fn clamped(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::program::cli::{Cli, Command};

    fn of(flags: &[&str]) -> Result<Settings, String> {
        let given = ["kato-poetry", "train", "x.txt", "--out", "run"]
            .iter()
            .chain(flags);
        let Command::Train(arguments) = Cli::parse_from(given).command else {
            return Err("another command".to_owned());
        };
        settings_of(&arguments).map_err(|failure| failure.to_string())
    }

    #[test]
    fn flags_and_sets_reach_their_settings() -> Result<(), String> {
        let flags = [
            "--hidden", "64", "--cell", "gru", "--unit", "gap", "--titles",
        ];
        let sets = [
            "--set",
            "loss.kind=cosine",
            "--set",
            "loss.temperature = 2.5",
        ];
        let settings = of(&[&flags[..], &sets[..]].concat())?;
        assert_eq!((settings.model.hidden, settings.text.titles), (64, true));
        assert_eq!(settings.loss.temperature, Some(2.5));
        let settings = of(&["--forcing", "0.25", "--constant-rate", "0.5", "--clip", "0"])?;
        let at = settings.training.at(3.0);
        assert_eq!(
            (at.forcing, at.rate, settings.training.clip),
            (0.25, 0.5, 0.0)
        );
        let schedule = "training.schedule={kind='constant', rate=1e-3}";
        let settings = of(&["--set", schedule])?;
        assert_eq!(settings.training.at(50.0).rate, 1e-3);
        Ok(())
    }

    #[test]
    fn what_there_is_not_is_told() {
        assert!(
            of(&["--set", "model.width=3"])
                .unwrap_err()
                .contains("width")
        );
        assert!(of(&["--set", "hidden"]).unwrap_err().contains("NAME=VALUE"));
        assert!(
            of(&["--hidden", "0"])
                .unwrap_err()
                .contains("`model.hidden` is 0")
        );
        assert!(of(&["--cell", "rnn"]).unwrap_err().contains("rnn"));
    }
}
