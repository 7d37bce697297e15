//! Poems that a user names: words, files, standard input.

use std::io::Read;
use std::path::Path;

use kato_poetry::poems::{TextOptions, poems_of_text, read_poems};
use kato_poetry::{Poem, PoetryError};
use toml::Table;

use super::Failure;
use super::cli::TextArguments;
use super::settings::{text_flags, wrong};

/// Returns how texts become poems: as in the run, unless flags say otherwise.
pub(crate) fn text_options(
    run: &TextOptions,
    arguments: &TextArguments,
) -> Result<TextOptions, Failure> {
    let mut table = Table::new();
    let of_run = Table::try_from(run).map_err(|error| wrong(&error))?;
    table.insert("text".to_owned(), toml::Value::Table(of_run));
    text_flags(&mut table, arguments);
    let text = table
        .remove("text")
        .unwrap_or(toml::Value::Table(Table::new()));
    text.try_into().map_err(|error| wrong(&error))
}

/// Reads the poems of files, or of standard input for `-`.
pub(crate) fn poems_of(paths: &[&Path], options: &TextOptions) -> Result<Vec<Poem>, Failure> {
    if paths == [Path::new("-")] {
        return Ok(poems_of_text(&standard_input()?, options));
    }
    let poems = read_poems(paths, options)?;
    if poems.is_empty() {
        return Err(Failure::Usage("there is no poem in the text".to_owned()));
    }
    Ok(poems)
}

/// Returns a poem that was given as words, as the name of a file that holds it alone, or as `-`.
pub(crate) fn poem_of(given: &str) -> Result<Poem, Failure> {
    let text = if given == "-" {
        standard_input()?
    } else if Path::new(given).is_file() {
        std::fs::read_to_string(given).map_err(|source| PoetryError::File {
            action: "read",
            path: given.into(),
            source,
        })?
    } else {
        // Lines may be parted by slashes, as poems are in a running text.
        given.replace(" / ", "\n")
    };
    if text.trim().is_empty() {
        return Err(Failure::Usage("the poem is empty".to_owned()));
    }
    Ok(Poem::new(text))
}

/// Reads all of standard input.
fn standard_input() -> Result<String, Failure> {
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text)?;
    Ok(text)
}
