//! Checkpoints into which each replica writes its share.

use std::path::PathBuf;

use super::Trainer;
use crate::Error;
use crate::checkpoint::{CheckpointWriter, FileEntry, TrainerSnapshot, Unfinished, write_files};
use crate::collective::CollectiveError;
use crate::train::Task;

impl<T: Task> Trainer<T> {
    /// Whether replicas have divided the state.
    pub(crate) const fn is_sharded(&self) -> bool {
        self.shards.is_some()
    }

    /// Writes a checkpoint together with all other replicas, if the first one has a writer.
    pub(crate) fn save_shares(
        &self,
        writer: Option<&CheckpointWriter>,
        best: bool,
    ) -> Result<(), Error> {
        let Some(shards) = &self.shards else {
            return Ok(());
        };
        let rank = self.rank();
        let snapshot = TrainerSnapshot::of(self.own(&shards.places), &self.adam, self.place());
        let snapshot = if best { snapshot.as_best() } else { snapshot };
        let begun = writer.filter(|_| rank == 0).map(|writer| {
            // What waits there is older, and must not take the place of this one.
            writer.flush()?;
            Unfinished::begin(writer.folder(), &snapshot)
        });
        let begun = begun.transpose()?;
        let path = begun.as_ref().map(|begun| begun.path().as_os_str());
        let path = path.unwrap_or_default().as_encoded_bytes();
        let told = self.exchange(|collective| collective.gather(path))?;
        let path = told.into_iter().next().unwrap_or_default();
        let path = path_of(path).ok_or_else(|| self.unreadable())?;
        if path.as_os_str().is_empty() {
            return Ok(());
        }
        let mine = write_files(&path, &snapshot, Some(rank))?;
        let mine = serde_json::to_vec(&mine).map_err(|_| self.unreadable())?;
        let told = self.exchange(|collective| collective.gather(&mine))?;
        if let (Some(begun), Some(writer)) = (begun, writer) {
            let mut files = Vec::new();
            for said in told {
                let said = serde_json::from_slice::<Vec<FileEntry>>(&said);
                files.extend(said.map_err(|_| self.unreadable())?);
            }
            begun.finish(&snapshot, files)?;
            writer.prune()?;
        }
        Ok(())
    }

    fn unreadable(&self) -> Error {
        let reason = "what one said of its files cannot be read".to_owned();
        self.collective_error(CollectiveError::Mismatch { reason })
    }
}

/// Makes a path of its bytes, which need not be text.
#[cfg(unix)]
fn path_of(bytes: Vec<u8>) -> Option<PathBuf> {
    use std::os::unix::ffi::OsStringExt as _;
    Some(std::ffi::OsString::from_vec(bytes).into())
}

/// Makes a path of its bytes, where they are text.
#[cfg(not(unix))]
fn path_of(bytes: Vec<u8>) -> Option<PathBuf> {
    String::from_utf8(bytes).ok().map(PathBuf::from)
}
