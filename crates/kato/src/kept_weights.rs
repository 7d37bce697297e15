//! Weights of the head that were fitted on held-out text, kept in a file of the knowledge base.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use kato_head::Weights;
use kato_store::{EmbeddedStore, PatternStore};
use serde::{Deserialize, Serialize};

use crate::Error;

/// Name of the file.
const FILE: &str = "weights.json";

/// Version of its form.
const FORMAT: u32 = 1;

/// What the file holds, before the line with its checksum.
#[derive(Serialize, Deserialize)]
struct Kept {
    format_version: u32,
    /// Names of the nodes of the knowledge base.
    nodes: Vec<String>,
    weights: Weights,
}

/// Keeps with a knowledge base how far the experts of its head are trusted: every
/// [`open_head`](crate::open_head) begins with these weights from then on. Others that were kept
/// before go; weights [that have learned nothing](Weights::new) take them away.
///
/// Weights are learned with [`TextHead::fit`](kato_hierarchy::TextHead::fit), from text that was not
/// trained on.
///
/// # Errors
///
/// [`Error::Weights`] when the file cannot be written.
pub fn keep_weights(kb: &EmbeddedStore, weights: &Weights) -> Result<(), Error> {
    let path = kb.dir().join(FILE);
    let failed = |error: io::Error| refused(&path, format!("cannot be written: {error}"));
    if *weights == Weights::new() {
        return match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed(error)),
            _ => Ok(()),
        };
    }
    let kept = Kept {
        format_version: FORMAT,
        nodes: kb.nodes().to_vec(),
        weights: weights.clone(),
    };
    let body = serde_json::to_string(&kept).map_err(|error| failed(error.into()))?;
    let new = path.with_extension("json.tmp");
    let write = || -> io::Result<()> {
        let mut file = File::create(&new)?;
        write!(
            file,
            "{body}\ncrc32 {:08x}\n",
            crc32fast::hash(body.as_bytes())
        )?;
        file.sync_all()?;
        fs::rename(&new, &path)?;
        // Windows cannot flush a directory and does not need to.
        match cfg!(unix) {
            true => File::open(kb.dir())?.sync_all(),
            false => Ok(()),
        }
    };
    write().map_err(failed)
}

/// Returns the weights that are kept with a knowledge base, or such as have learned nothing.
pub(crate) fn kept_weights(kb: &EmbeddedStore) -> Result<Weights, Error> {
    let path = kb.dir().join(FILE);
    let refused = |reason: String| {
        let advice = "remove the file to begin with the first ones";
        refused(&path, format!("{reason}; {advice}"))
    };
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Weights::new()),
        Err(error) => return Err(refused(format!("cannot be read: {error}"))),
    };
    let kept = parse(&text).map_err(refused)?;
    if kept.nodes != kb.nodes() {
        let nodes = kept.nodes.join(", ");
        return Err(refused(format!(
            "are those of a knowledge base with the nodes {nodes}"
        )));
    }
    Ok(kept.weights)
}

/// Reads what the file holds, or says what is wrong with it.
fn parse(text: &str) -> Result<Kept, String> {
    let damaged = || "are damaged".to_owned();
    let (body, checksum) = text.trim_end().rsplit_once('\n').ok_or_else(damaged)?;
    let checksum = checksum.strip_prefix("crc32 ").ok_or_else(damaged)?;
    if u32::from_str_radix(checksum, 16) != Ok(crc32fast::hash(body.as_bytes())) {
        return Err(damaged());
    }
    #[derive(Deserialize)]
    struct Version {
        format_version: u32,
    }
    let version: Version = serde_json::from_str(body).map_err(|_| damaged())?;
    if version.format_version != FORMAT {
        return Err(format!(
            "have form {} and this program reads {FORMAT}",
            version.format_version
        ));
    }
    serde_json::from_str(body).map_err(|error| format!("cannot be used: {error}"))
}

fn refused(path: &Path, reason: String) -> Error {
    let path = PathBuf::from(path);
    Error::Weights { path, reason }
}
