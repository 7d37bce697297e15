//! Weights of the head that were fitted on held-out text, kept in a file of the knowledge base.

use std::path::Path;
use std::{fs, io};

use kato_advice::ErrorKind;
use kato_columns::files::{FileError, read_sealed, sync, write_sealed};
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
    let failed = |error| failed(&path, "cannot be written", "", error);
    if *weights == Weights::new() {
        return remove(&path).map_err(failed);
    }
    let kept = Kept {
        format_version: FORMAT,
        nodes: kb.nodes().to_vec(),
        weights: weights.clone(),
    };
    let body = serde_json::to_string(&kept)
        .map_err(|error| failed(FileError::io("write", &path)(error.into())))?;
    let new = path.with_extension("json.tmp");
    let write = || -> Result<(), FileError> {
        // Of a process that ended in the middle.
        remove(&new)?;
        write_sealed(&new, &body)?;
        fs::rename(&new, &path).map_err(FileError::io("write", &path))?;
        sync(kb.dir())
    };
    write().map_err(failed)
}

/// Removes a file, if it is there.
fn remove(path: &Path) -> Result<(), FileError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(FileError::io("remove", path)(error))
        }
        _ => Ok(()),
    }
}

/// Returns the weights that are kept with a knowledge base, or such as have learned nothing.
pub(crate) fn kept_weights(kb: &EmbeddedStore) -> Result<Weights, Error> {
    let path = kb.dir().join(FILE);
    let body = match read_sealed(&path) {
        Ok(Some(body)) => body,
        Ok(None) => return Ok(Weights::new()),
        Err(error) => return Err(failed(&path, "cannot be read", ADVICE, error)),
    };
    let refused = |reason: String| Error::Weights {
        path: path.clone(),
        reason: format!("{reason}{ADVICE}"),
        kind: ErrorKind::Conflict,
    };
    let kept = parse(&body).map_err(refused)?;
    if kept.nodes != kb.nodes() {
        let nodes = kept.nodes.join(", ");
        return Err(refused(format!(
            "are those of a knowledge base with the nodes {nodes}"
        )));
    }
    Ok(kept.weights)
}

/// Reads what the file holds, or says what is wrong with it.
fn parse(body: &str) -> Result<Kept, String> {
    #[derive(Deserialize)]
    struct Version {
        format_version: u32,
    }
    let version: Version = serde_json::from_str(body).map_err(|_| "are damaged".to_owned())?;
    if version.format_version != FORMAT {
        return Err(format!(
            "have form {} and this program reads {FORMAT}",
            version.format_version
        ));
    }
    serde_json::from_str(body).map_err(|error| format!("cannot be used: {error}"))
}

/// What to do about weights that cannot be used.
const ADVICE: &str = "; remove the file to begin with the first ones";

/// Says what a file of weights refuses, as the place is said already.
fn failed(path: &Path, action: &str, advice: &str, error: FileError) -> Error {
    let (reason, kind) = match error {
        FileError::Io { source, .. } => (
            format!("{action}: {source}"),
            ErrorKind::of_io(source.kind()),
        ),
        _ => ("are damaged".to_owned(), ErrorKind::Conflict),
    };
    let reason = format!("{reason}{advice}");
    let path = path.to_owned();
    Error::Weights { path, reason, kind }
}
