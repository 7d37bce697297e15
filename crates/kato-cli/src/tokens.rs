//! Files of bearer tokens.

use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::text_file::read_text;

/// Reads the bearer tokens of a file, one a line; there is at least one, and blank lines are
/// skipped.
///
/// # Errors
///
/// When the file cannot be read or holds no token.
pub(crate) fn read_tokens(file: &Path) -> Result<Vec<String>> {
    let text = read_text(file)
        .with_context(|| format!("--token-file {} cannot be read", file.display()))?;
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let tokens: Vec<String> = lines.map(str::to_owned).collect();
    if tokens.is_empty() {
        bail!(
            "--token-file {} holds no token: write one a line",
            file.display()
        );
    }
    Ok(tokens)
}
