//! Reads poems: from texts through the loader, and from JSON arrays.

mod cut;
mod json;

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use kato_loader::{Format, StreamingDatasetLoader, TextUnit};
use kato_neural::run::RunError;
use serde::{Deserialize, Serialize};

use crate::error::PoetryError;
use crate::poem::Poem;

/// Bytes of a file at most: what is read is held in memory, several times over later on.
const MAX_FILE_BYTES: u64 = 1 << 30;

/// What a poem is in a text file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum PoemUnit {
    /// The lines between blank lines: one poem a paragraph, without stanzas. The default, as nothing
    /// is guessed.
    #[default]
    Paragraph,
    /// The lines between two or more blank lines in a row; one blank line parts stanzas.
    Gap,
    /// The whole file; blank lines part stanzas.
    File,
}

/// How texts are cut into poems.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct TextOptions {
    /// What a poem is in a text file.
    pub unit: PoemUnit,
    /// Whether a single line in front of a poem, a blank line between them, is its title and no
    /// text. Off by default: a poem of one line looks the same.
    pub titles: bool,
}

impl TextOptions {
    /// Says what a poem is in a text file.
    #[must_use]
    pub fn with_unit(mut self, unit: PoemUnit) -> Self {
        self.unit = unit;
        self
    }

    /// Takes single lines in front of poems for their titles.
    #[must_use]
    pub fn with_titles(mut self) -> Self {
        self.titles = true;
        self
    }
}

/// Reads the poems of files, directories and globs, in the order of the inputs and, inside a
/// directory, of the names.
///
/// - A file whose name ends with `.json` is an array of objects with `text` and, if they are known,
///   `title` and `author`; other fields are passed over. In a directory such a file is refused.
/// - A record of JSON Lines (`.jsonl`, `.ndjson`), CSV or TSV is a poem.
/// - Any other text is cut as `options` say.
///
/// Everything but JSON arrays is read by [`kato_loader`], with its compressions and encodings. A
/// text, an array and a record may have 1 GiB each.
///
/// ```
/// use kato_poetry::poems::{PoemUnit, TextOptions, read_poems};
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("two.txt");
/// std::fs::write(&path, "I\n\nA line,\nanother.\n\nA stanza.\n\n\nII\n\nAn end.\n")?;
///
/// let options = TextOptions::default().with_unit(PoemUnit::Gap).with_titles();
/// let poems = read_poems([&path], &options)?;
/// assert_eq!(poems.len(), 2);
/// assert_eq!(poems[0].title.as_deref(), Some("I"));
/// assert_eq!(poems[0].text, "A line,\nanother.\n\nA stanza.");
/// assert!(poems[1].place.ends_with("two.txt, line 11"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// When a file cannot be read, is no text, or is no array of poems, or when one is named twice.
pub fn read_poems<P: AsRef<Path>>(
    paths: impl IntoIterator<Item = P>,
    options: &TextOptions,
) -> Result<Vec<Poem>, PoetryError> {
    let mut poems = Vec::new();
    // Neighbours of one kind go through one loader, which refuses files that are named twice.
    let mut texts: Vec<PathBuf> = Vec::new();
    let mut arrays = HashSet::new();
    for path in paths {
        let path = path.as_ref();
        if path
            .extension()
            .is_some_and(|extension| extension.eq_ignore_ascii_case("json"))
        {
            read_texts(&mut texts, options, &mut poems)?;
            // A poem that is there twice would be learned from and judged.
            let file = path.canonicalize().map_err(RunError::file("read", path))?;
            if !arrays.insert(file) {
                return Err(PoetryError::Twice {
                    path: path.to_owned(),
                });
            }
            poems.extend(json::read(path)?);
        } else {
            texts.push(path.to_owned());
        }
    }
    read_texts(&mut texts, options, &mut poems)?;
    Ok(poems)
}

/// Reads the poems of a text that is at hand, cut as `options` say.
#[must_use]
pub fn poems_of_text(text: &str, options: &TextOptions) -> Vec<Poem> {
    cut::cut(text, "", options)
}

/// Reads the inputs that the loader knows, and forgets them.
fn read_texts(
    inputs: &mut Vec<PathBuf>,
    options: &TextOptions,
    poems: &mut Vec<Poem>,
) -> Result<(), PoetryError> {
    if inputs.is_empty() {
        return Ok(());
    }
    let loader = StreamingDatasetLoader::builder()
        .with_inputs(inputs.drain(..))
        .with_text_unit(TextUnit::File)
        .with_max_record_bytes(MAX_FILE_BYTES)
        .build()?;
    for document in loader {
        let document = document?;
        let name = document.id.to_string();
        // Names of records end with `#number`.
        let file = name
            .rsplit_once(['#', '@'])
            .map_or(name.as_str(), |(file, _)| file);
        if is_of_records(file) {
            poems.push(Poem::new(document.text).with_place(name));
        } else {
            poems.extend(cut::cut(&document.text, file, options));
        }
    }
    Ok(())
}

/// Returns whether a file has records, which are poems each, by its name.
fn is_of_records(file: &str) -> bool {
    Format::from_path(file).is_some_and(|format| format != Format::Text)
}
