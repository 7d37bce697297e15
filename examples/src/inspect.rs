//! Looking into a knowledge base: an overview, histograms, one pattern with all below it, export and import.
//!
//! Every [`View`] is a value that serialises as the JSON that `inspect --json` prints, and that has a text for people.

mod decode;
mod exchange;
mod find;
mod histogram;
mod layout;
mod overview;
mod settings;
mod tree;

use serde::Serialize;

pub use decode::Decoder;
pub use exchange::{Exported, Imported, export, import};
pub use find::find;
pub use histogram::{Histograms, NodeHistogram};
pub use layout::{DEFAULT_WIDTH, is_closed_pipe, terminal_width};
pub use overview::{CorpusOverview, NodeOverview, Overview, TopPattern};
pub use tree::PatternView;

/// Something that was looked up, to be shown to people or to programs.
pub trait View: Serialize {
    /// The text for people, in lines of at most `width` columns where that can be, the last one ended.
    fn text(&self, width: usize) -> String;
}
