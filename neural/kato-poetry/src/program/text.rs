//! Poems that a user names: words, files, standard input.

use std::io::Read;
use std::path::Path;

use kato_neural::program::{
    CommandFailure, setting_flag, setting_switch, settings_table, wrong_setting,
};
use kato_neural::run::RunError;
use kato_poetry::Poem;
use kato_poetry::poems::{TextOptions, poems_of_text, read_poems};

use super::cli::TextArguments;

/// Returns how texts become poems: as in the run, unless flags say otherwise.
pub(crate) fn text_options(
    run: &TextOptions,
    arguments: &TextArguments,
) -> Result<TextOptions, CommandFailure> {
    let flags = [
        ("unit", setting_flag(&arguments.unit)),
        ("titles", setting_switch(arguments.titles)),
    ];
    let table = settings_table(Some(run), flags, &[])?;
    table.try_into().map_err(|error| wrong_setting(&error))
}

/// Reads the poems of files, or of standard input for `-` alone.
pub(crate) fn poems_of(
    paths: &[&Path],
    options: &TextOptions,
) -> Result<Vec<Poem>, CommandFailure> {
    let poems = if paths == [Path::new("-")] {
        poems_of_text(&standard_input()?, options)
    } else {
        read_poems(paths, options)?
    };
    if poems.is_empty() {
        return Err(CommandFailure::Usage(
            "there is no poem in the text".to_owned(),
        ));
    }
    Ok(poems)
}

/// Returns a poem that was given as words, as the name of a file that holds it alone, or as `-`.
pub(crate) fn poem_of(given: &str) -> Result<Poem, CommandFailure> {
    let text = if given == "-" {
        standard_input()?
    } else if Path::new(given).is_file() {
        std::fs::read_to_string(given).map_err(RunError::file("read", given))?
    } else {
        // Lines may be parted by slashes, as poems are in a running text.
        given.replace(" / ", "\n")
    };
    if text.trim().is_empty() {
        return Err(CommandFailure::Usage("the poem is empty".to_owned()));
    }
    Ok(Poem::new(text))
}

/// Reads all of standard input.
fn standard_input() -> Result<String, CommandFailure> {
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text)?;
    Ok(text)
}
