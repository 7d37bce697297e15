//! Writes a checkpoint such that it is there as a whole or not at all.

use std::collections::HashMap;
use std::fs::File;
use std::path::{Path, PathBuf};

use burn::module::Module;
use kato_arrays::temporary;

use super::manifest::{Body, FileEntry};
use super::{CheckpointPath, SCHEMA_VERSION, TrainerSnapshot, checkpoints};
use crate::Error;
use crate::parameters::{NamedTensor, collect};

/// What the names of files of weights begin with, and of the optimiser's state.
pub(crate) const WEIGHTS: &str = "weights";
pub(crate) const MOMENTS: &str = "optimizer";
pub(crate) const MANIFEST: &str = "manifest.json";
/// What the name of a checkpoint begins with that has none yet.
pub(crate) const UNFINISHED: &str = ".unfinished-";

/// Writes a checkpoint into `folder` and returns its place.
///
/// Files are written into a folder beside it and flushed; then that folder gets its name.
///
/// # Errors
///
/// [`Error::File`] where the system refuses something; nothing that is incomplete is left behind.
pub fn write_checkpoint(
    folder: &Path,
    snapshot: &TrainerSnapshot,
) -> Result<CheckpointPath, Error> {
    let unfinished = Unfinished::begin(folder, snapshot)?;
    let files = write_files(unfinished.path(), snapshot, None)?;
    unfinished.finish(snapshot, files)
}

/// Writes the tensors of a snapshot: the whole, or a replica's share of them.
pub(crate) fn write_files(
    folder: &Path,
    snapshot: &TrainerSnapshot,
    rank: Option<usize>,
) -> Result<Vec<FileEntry>, Error> {
    let write = |kind: &str, tensors: &[NamedTensor]| {
        let name = match rank {
            Some(rank) => format!("{kind}-{rank}.safetensors"),
            None => format!("{kind}.safetensors"),
        };
        write_tensors(folder, &name, tensors)
    };
    Ok(vec![
        write(WEIGHTS, &snapshot.weights)?,
        write(MOMENTS, &snapshot.moments)?,
    ])
}

/// A checkpoint that is being written.
#[derive(Debug)]
pub(crate) struct Unfinished {
    /// Removed when it is dropped, unless it has got its name.
    files: tempfile::TempDir,
    folder: PathBuf,
    place: CheckpointPath,
}

impl Unfinished {
    pub(crate) fn begin(folder: &Path, snapshot: &TrainerSnapshot) -> Result<Self, Error> {
        std::fs::create_dir_all(folder).map_err(Error::file("cannot make", folder))?;
        let (kind, step) = (snapshot.kind, snapshot.progress.step);
        // Never over an existing one: until the new one has its name, the old one is the newest.
        let attempt = checkpoints(folder)?
            .iter()
            .filter(|place| place.kind == kind && place.step == step)
            .map(|place| place.attempt + 1)
            .max()
            .unwrap_or(0);
        // Temporary folders are the owner's alone by default. This one becomes the checkpoint, with the
        // rights of any new folder.
        let files = temporary(0o777)
            .prefix(UNFINISHED)
            .tempdir_in(folder)
            .map_err(Error::file("cannot make a folder in", folder))?;
        Ok(Self {
            files,
            folder: folder.to_owned(),
            place: CheckpointPath::new(folder, kind, step, attempt),
        })
    }

    /// Where its files go.
    pub(crate) fn path(&self) -> &Path {
        self.files.path()
    }

    /// Writes the manifest, and gives the checkpoint its name.
    pub(crate) fn finish(
        self,
        snapshot: &TrainerSnapshot,
        files: Vec<FileEntry>,
    ) -> Result<CheckpointPath, Error> {
        let has_shares = files.iter().any(|file| file.name.contains('-'));
        // The manifest comes last, as it has the checksums of the others.
        let body = Body {
            // Programs that know no shares would miss a file and call it damaged.
            schema: if has_shares { SCHEMA_VERSION } else { 1 },
            program: concat!("kato-neural ", env!("CARGO_PKG_VERSION")).to_owned(),
            progress: snapshot.progress.clone(),
            adam: snapshot.adam.clone(),
            adam_steps: snapshot.adam_steps,
            notes: snapshot.notes.clone(),
            files,
        };
        let manifest = self.path().join(MANIFEST);
        let bytes = body.to_bytes().map_err(std::io::Error::other);
        bytes
            .and_then(|bytes| std::fs::write(&manifest, bytes))
            .and_then(|()| flush(&manifest))
            .and_then(|()| flush(self.path()))
            .map_err(Error::file("cannot write", &manifest))?;
        // From here on the rename decides what becomes of it.
        let (unfinished, place) = (self.files.keep(), self.place);
        std::fs::rename(&unfinished, &place.path)
            .inspect_err(|_| drop(std::fs::remove_dir_all(&unfinished)))
            .and_then(|()| flush(&self.folder))
            .map_err(Error::file("cannot give its name to", &place.path))?;
        Ok(place)
    }
}

/// Writes a model's weights alone, with PyTorch's names: a file for other programs.
///
/// # Errors
///
/// [`Error::File`] where it cannot be written.
pub fn write_weights<M: Module>(model: &M, path: &Path) -> Result<(), Error> {
    serialize(path, &collect(model)).map_err(Error::file("cannot write", path))
}

fn write_tensors(folder: &Path, name: &str, tensors: &[NamedTensor]) -> Result<FileEntry, Error> {
    let path = folder.join(name);
    serialize(&path, tensors)
        .and_then(|()| flush(&path))
        .and_then(|()| checksum(&path))
        .map(|(n_bytes, blake3)| FileEntry {
            name: name.to_owned(),
            n_bytes,
            blake3,
        })
        .map_err(Error::file("cannot write", &path))
}

fn serialize(path: &Path, tensors: &[NamedTensor]) -> std::io::Result<()> {
    let views = tensors.iter().map(|tensor| (tensor.name.as_str(), tensor));
    // What other readers ask for before they load it.
    let header = HashMap::from([("format".to_owned(), "pt".to_owned())]);
    safetensors::serialize_to_file(views, Some(header), path).map_err(|error| match error {
        safetensors::SafeTensorError::IoError(error) => error,
        other => std::io::Error::other(other),
    })?;
    // It has renamed a temporary file, which is the owner's alone.
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    let any = temporary(0o666).tempfile_in(folder.unwrap_or(Path::new(".")))?;
    std::fs::set_permissions(path, any.as_file().metadata()?.permissions())
}

/// Returns the size and hash of what can be read back.
pub(crate) fn checksum(path: &Path) -> std::io::Result<(u64, String)> {
    let mut hasher = blake3::Hasher::new();
    // From the file and not from memory, so that a short write shows at once.
    hasher.update_reader(File::open(path)?)?;
    Ok((hasher.count(), hasher.finalize().to_hex().to_string()))
}

/// Waits until a file, or a folder's names, are on the disk.
fn flush(path: &Path) -> std::io::Result<()> {
    File::open(path)?.sync_all()
}
