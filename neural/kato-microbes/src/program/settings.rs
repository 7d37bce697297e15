//! Settings out of a file and of flags, of which flags count more.

use kato_microbes::Settings;
use kato_neural::run::{override_setting, parse_value};
use toml::{Table, Value};

use super::Failure;
use super::cli_training::RunArguments;

/// Returns the settings of a run.
pub(crate) fn settings_of(arguments: &RunArguments, freeze: bool) -> Result<Settings, Failure> {
    let mut table = match &arguments.settings {
        // Read alone first, so that an error names a line of the file.
        Some(path) => Table::try_from(Settings::read(path)?).map_err(|error| wrong(&error))?,
        None => Table::new(),
    };
    let text = |value: &Option<String>| value.clone().map(Value::String);
    let long = |value: Option<u64>| {
        // One that is too large is out of every range.
        value.map(|value| Value::Integer(i64::try_from(value).unwrap_or(i64::MAX)))
    };
    let number = |value: Option<usize>| long(value.map(|value| value as u64));
    let fasta = arguments
        .fasta
        .as_ref()
        .map(|path| path.to_string_lossy().into_owned());
    let flags = [
        ("data.depth", long(arguments.depth)),
        ("data.seed", long(arguments.seed)),
        ("data.fasta", fasta.map(Value::String)),
        ("data.tokens.max_bp", number(arguments.max_bp)),
        ("model.width", number(arguments.width)),
        ("model.max_sequences", number(arguments.max_sequences)),
        ("training.epochs", long(arguments.epochs)),
        ("training.batch", number(arguments.batch)),
        ("training.rate", arguments.rate.map(Value::Float)),
        ("training.best", text(&arguments.best)),
        ("training.precision", text(&arguments.precision)),
        ("training.replicas", number(arguments.replicas)),
        (
            "training.sharded",
            arguments.sharded.then_some(Value::Boolean(true)),
        ),
        (
            "training.max_tokens_at_once",
            number(arguments.max_tokens_at_once),
        ),
        ("training.seed", long(arguments.seed)),
        ("training.freeze", freeze.then_some(Value::Boolean(true))),
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
        override_setting(&mut table, name.trim(), parse_value(value.trim()))
            .map_err(Failure::Usage)?;
    }
    let settings: Settings = table.try_into().map_err(|error| wrong(&error))?;
    settings.check()?;
    Ok(settings)
}

/// Returns the error of settings that there are not.
fn wrong(error: &dyn std::fmt::Display) -> Failure {
    let text = error.to_string();
    Failure::Usage(format!("a setting is wrong: {}", text.trim_end()))
}
