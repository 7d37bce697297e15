//! Poems that the tests share: six of Shakespeare's sonnets.

use std::path::{Path, PathBuf};

use kato_poetry::Poem;
use kato_poetry::poems::{PoemUnit, TextOptions, read_poems};

/// Returns the file of the sonnets.
pub(crate) fn sonnets_file() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/sonnets.txt")
}

/// Returns how the sonnets are cut.
pub(crate) fn sonnets_options() -> TextOptions {
    TextOptions::default()
        .with_unit(PoemUnit::Gap)
        .with_titles()
}

/// Returns the six sonnets.
pub(crate) fn sonnets() -> Vec<Poem> {
    read_poems([sonnets_file()], &sonnets_options()).expect("they are there")
}
