//! Settings out of a file and of flags, of which flags count more.

use kato_microbes::MicrobesSettings;
use kato_neural::program::{CommandFailure, setting_flag, settings_table, wrong_setting};
use toml::Value;

use super::cli_training::RunArguments;

/// Returns the settings of a run.
pub(crate) fn settings_of(
    arguments: &RunArguments,
    freeze: bool,
) -> Result<MicrobesSettings, CommandFailure> {
    // Read alone first, so that an error names a line of the file.
    let file = arguments.settings.as_deref().map(MicrobesSettings::read);
    let switch = |is_on: bool| is_on.then_some(Value::Boolean(true));
    let flags = [
        ("data.depth", setting_flag(&arguments.depth)),
        ("data.seed", setting_flag(&arguments.seed)),
        ("data.fasta", setting_flag(&arguments.fasta)),
        ("data.tokens.max_bp", setting_flag(&arguments.max_bp)),
        ("model.width", setting_flag(&arguments.width)),
        (
            "model.max_sequences",
            setting_flag(&arguments.max_sequences),
        ),
        ("training.epochs", setting_flag(&arguments.epochs)),
        ("training.batch", setting_flag(&arguments.batch)),
        ("training.rate", setting_flag(&arguments.rate)),
        ("training.best", setting_flag(&arguments.best)),
        ("training.precision", setting_flag(&arguments.precision)),
        ("training.replicas", setting_flag(&arguments.replicas)),
        ("training.processes", switch(arguments.processes)),
        ("training.sharded", switch(arguments.sharded)),
        (
            "training.max_tokens_at_once",
            setting_flag(&arguments.max_tokens_at_once),
        ),
        ("training.seed", setting_flag(&arguments.seed)),
        ("training.freeze", switch(freeze)),
    ];
    let table = settings_table(file.transpose()?.as_ref(), flags, &arguments.sets)?;
    let settings: MicrobesSettings = table.try_into().map_err(|error| wrong_setting(&error))?;
    settings.check()?;
    Ok(settings)
}
