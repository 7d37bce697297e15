//! Settings out of a file and of flags, of which flags count more.

use kato_microbes::MicrobesSettings;
use kato_neural::program::{CommandFailure, command_settings, setting_flag, setting_switch};

use super::cli_training::RunArguments;

/// Returns the settings of a run.
pub(crate) fn settings_of(
    arguments: &RunArguments,
    freeze: bool,
) -> Result<MicrobesSettings, CommandFailure> {
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
        ("training.processes", setting_switch(arguments.processes)),
        ("training.sharded", setting_switch(arguments.sharded)),
        (
            "training.max_tokens_at_once",
            setting_flag(&arguments.max_tokens_at_once),
        ),
        ("training.seed", setting_flag(&arguments.seed)),
        ("training.freeze", setting_switch(freeze)),
    ];
    let file = arguments.settings.as_deref();
    let settings: MicrobesSettings = command_settings(file, flags, &arguments.sets)?;
    settings.check()?;
    Ok(settings)
}
