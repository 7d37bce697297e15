//! Sequences from FASTA files.

use std::path::Path;

use kato_neural::run::RunError;

use crate::error::MicrobesError;
use crate::tokens::token_of;

/// Reads names and sequences of a FASTA file, in its order. A name ends at the first blank.
///
/// ```
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("s.fasta");
/// std::fs::write(&path, ">otu1 Bacteria\nACG\nT\n>otu2\nGG\n")?;
/// assert_eq!(
///     kato_microbes::fasta::read(&path)?,
///     [("otu1".to_owned(), "ACGT".to_owned()), ("otu2".to_owned(), "GG".to_owned())]
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// The file cannot be read, has letters of no nucleotide, a name without a sequence, or one name twice; the
/// error has the line.
pub fn read(path: &Path) -> Result<Vec<(String, String)>, MicrobesError> {
    let bytes = std::fs::read(path).map_err(RunError::file("read", path))?;
    let text = String::from_utf8_lossy(&bytes);
    let wrong = |at: usize, reason: String| MicrobesError::Line {
        path: path.to_owned(),
        line: at + 1,
        reason,
    };
    let mut found: Vec<(String, String)> = Vec::new();
    let mut names = std::collections::HashSet::new();
    for (at, line) in text.lines().enumerate() {
        let line = line.trim();
        if let Some(header) = line.strip_prefix('>') {
            let name = header.split_whitespace().next().unwrap_or_default();
            if !names.insert(name.to_owned()) {
                return Err(wrong(
                    at,
                    format!("`{name}` stands here a second time; keep one"),
                ));
            }
            found.push((name.to_owned(), String::new()));
            continue;
        }
        if line.is_empty() {
            continue;
        }
        let Some((_, sequence)) = found.last_mut() else {
            let reason = "a sequence comes before any name; FASTA has names behind `>`";
            return Err(wrong(at, reason.to_owned()));
        };
        if let Some(letter) = line.bytes().find(|letter| token_of(*letter).is_none()) {
            let letter = char::from(letter);
            return Err(wrong(
                at,
                format!("`{letter}` stands for no nucleotide; correct it"),
            ));
        }
        sequence.push_str(line);
    }
    if let Some(at) = found.iter().position(|(_, sequence)| sequence.is_empty()) {
        let reason = format!("`{}` has no sequence; take it out", found[at].0);
        let lines = text.lines().enumerate();
        let mut headers = lines.filter(|(_, line)| line.trim().starts_with('>'));
        let line = headers.nth(at).map_or(0, |(line, _)| line);
        return Err(wrong(line, reason));
    }
    Ok(found)
}
