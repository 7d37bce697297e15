//! What the examples share: their arguments, the text that they learn where none is named, and how
//! they end.

mod arguments;
mod text;

pub use arguments::{Arguments, Output, Places, SOURCE, run};
pub use text::{made_text, own_text, sources};
