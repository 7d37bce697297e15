//! The views of a knowledge base: an overview, histograms, one pattern with all below it, export
//! and import.
//!
//! Every [`View`] is a value that serialises as the JSON that `--json` prints, and that has a text for
//! people.

pub(crate) mod decode;
mod exchange;
mod find;
mod histogram;
pub(crate) mod layout;
mod overview;
mod settings;
mod tree;

use std::io::{self, BufWriter, Write};

use anyhow::Result;
use serde::Serialize;

use crate::output::stdout;

pub(crate) use decode::Decoder;
pub(crate) use exchange::{export, import};
pub(crate) use find::find;
pub(crate) use histogram::Histograms;
pub(crate) use layout::terminal_width;
pub(crate) use overview::Overview;
pub(crate) use tree::PatternView;

/// A value that can be shown to people or to programs.
pub(crate) trait View: Serialize {
    /// Returns the text for people, in lines of at most `width` columns where that can be, the last
    /// one ended.
    fn text(&self, width: usize) -> String;
}

/// Prints a view to standard output: as one line of JSON, or as text for people.
///
/// # Errors
///
/// When it cannot be written; see [`exit_code`](crate::exit::exit_code).
pub(crate) fn show(view: &impl View, as_json: bool) -> Result<()> {
    let mut out = BufWriter::new(stdout());
    if as_json {
        // As an I/O error, so that a closed pipe is known for what it is.
        serde_json::to_writer(&mut out, view).map_err(io::Error::from)?;
        writeln!(out)?;
    } else {
        write!(out, "{}", view.text(terminal_width()))?;
    }
    // A buffer that is dropped hides the error of its last write.
    Ok(out.flush()?)
}
