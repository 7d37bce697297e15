//! Settings out of a file and of flags, of which flags count more.

use kato_neural::program::{CommandFailure, command_settings, setting_flag, setting_switch};
use kato_poetry::Settings;
use toml::{Table, Value};

use super::cli::TrainArguments;

/// Returns the settings of a training.
pub(crate) fn settings_of(arguments: &TrainArguments) -> Result<Settings, CommandFailure> {
    let forcing = arguments.forcing.map(|ratio| constant("ratio", ratio));
    let rate = arguments.constant_rate.map(|rate| constant("rate", rate));
    let flags = [
        ("text.unit", setting_flag(&arguments.text.unit)),
        ("text.titles", setting_switch(arguments.text.titles)),
        ("vectors.file", setting_flag(&arguments.vectors)),
        ("vectors.dims", setting_flag(&arguments.dims)),
        ("model.cell", setting_flag(&arguments.cell)),
        ("model.hidden", setting_flag(&arguments.hidden)),
        ("model.layers", setting_flag(&arguments.layers)),
        ("model.bottleneck", setting_flag(&arguments.bottleneck)),
        ("training.epochs", setting_flag(&arguments.epochs)),
        ("training.batch", setting_flag(&arguments.batch)),
        ("training.batching", setting_flag(&arguments.batching)),
        ("training.accumulate", setting_flag(&arguments.accumulate)),
        ("training.workers", setting_flag(&arguments.workers)),
        ("training.prefetch", setting_flag(&arguments.prefetch)),
        ("training.clip", setting_flag(&arguments.clip)),
        ("training.patience", setting_flag(&arguments.patience)),
        ("training.checkpoints", setting_flag(&arguments.checkpoints)),
        ("training.artifacts", setting_flag(&arguments.artifacts)),
        ("training.precision", setting_flag(&arguments.precision)),
        ("training.forcing", forcing),
        ("training.schedule", rate),
        ("loss.kind", setting_flag(&arguments.loss)),
        ("loss.bottleneck_l2", setting_flag(&arguments.penalty)),
        ("training.seed", setting_flag(&arguments.seed)),
    ];
    let file = arguments.settings.as_deref();
    let settings: Settings = command_settings(file, flags, &arguments.sets)?;
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
