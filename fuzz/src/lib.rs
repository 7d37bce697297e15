//! Fuzz targets: functions that take any bytes, make hostile input of them, and panic where the
//! crates break a promise.
//!
//! * [`names`]: names, their text, and everything else that turns bytes into names and back.
//! * [`matching`]: blocks, common subsequences and likeness of texts, against textbook versions.
//! * [`prediction`]: an index learned in any order, against comparing the state with every pattern.
//! * [`session`]: sessions, nodes and engines over a store, against a model of what they remember.
//! * [`http`]: requests to a server, with what they may take of its memory.
//! * [`journal`]: a service's directory of which files were damaged, exchanged or removed.
//! * [`segment`]: knowledge bases that were damaged, or forged with checksums that are right.
//!
//! The same functions run in two ways: guided by coverage under `cargo fuzz`, and on seeded random
//! input and the files of `seeds/` under `cargo test`. `CONTRIBUTING.md` says how.

mod allocated;
mod damage;
mod http;
mod input;
mod journal;
mod matching;
mod names;
mod prediction;
mod segment;
mod session;

// The tests' own independent readers and textbook versions.
#[path = "../../crates/kato-model/tests/it/literal_reader.rs"]
mod literal_reader;
#[path = "../../crates/kato-prediction/tests/it/naive.rs"]
mod naive;

use std::path::PathBuf;

pub use http::http;
pub use journal::journal;
pub use matching::matching;
pub use names::names;
pub use prediction::prediction;
pub use segment::segment;
pub use session::session;

/// A fuzz target: takes any bytes, and panics where a promise is broken.
pub type Target = fn(&[u8]);

/// All targets by name.
pub const TARGETS: [(&str, Target); 7] = [
    ("names", names),
    ("matching", matching),
    ("prediction", prediction),
    ("session", session),
    ("http", http),
    ("journal", journal),
    ("segment", segment),
];

/// Calls a target with the content of files, such as those in which a fuzzer has left what it
/// found.
///
/// # Errors
///
/// That of a file that cannot be read.
pub fn run_files(
    target: Target,
    files: impl IntoIterator<Item = impl Into<PathBuf>>,
) -> std::io::Result<()> {
    for file in files {
        target(&std::fs::read(file.into())?);
    }
    Ok(())
}
