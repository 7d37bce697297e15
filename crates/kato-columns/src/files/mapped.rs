//! Mapped files as columns.

use std::fs::File;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use crate::map::{DirectoryWatch, Map, MapState};

use super::FileError;
use crate::{BytesState, Changes, CheckedBytes, ColumnBytes, DamageWatch};

/// The mapped file of a column.
#[derive(Debug)]
pub struct MappedColumn(pub Map);

impl AsRef<[u8]> for MappedColumn {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl ColumnBytes for MappedColumn {
    fn will_read(&self, range: Range<usize>) {
        self.0.fetch(range);
    }

    fn look(&self) -> BytesState {
        match self.0.look() {
            MapState::Unchanged => BytesState::Unchanged,
            MapState::Changed => BytesState::Changed,
            MapState::Lost(reason) => BytesState::Lost(reason),
        }
    }

    fn origin(&self) -> String {
        self.0.path().display().to_string()
    }
}

/// A directory of columns.
#[derive(Debug)]
pub struct WatchedDirectories(pub Vec<DirectoryWatch>);

impl Changes for WatchedDirectories {
    // Each counts up, so the sum is another one as soon as one of them is.
    fn version(&self) -> u64 {
        let versions = self.0.iter().map(DirectoryWatch::version);
        versions.fold(0, u64::wrapping_add)
    }

    fn look_version(&self) -> u64 {
        let versions = self.0.iter().map(DirectoryWatch::look_version);
        versions.fold(0, u64::wrapping_add)
    }
}

/// Returns what finds damage of columns in directories. To be called before they are mapped, so that no
/// write to one of them is missed.
#[must_use]
pub fn watch<D: AsRef<Path>>(dirs: &[D]) -> DamageWatch {
    let damage = DamageWatch::default();
    // Ahead of the maps.
    let watches = dirs.iter().map(|dir| DirectoryWatch::new(dir.as_ref()));
    damage.watch(WatchedDirectories(watches.collect()));
    damage
}

/// Maps a column of so many bytes with these checksums, to be read here and there.
///
/// # Errors
///
/// [`FileError::Damaged`] when it has another length, and [`FileError::Io`].
pub fn map(
    path: &Path,
    bytes: u64,
    checksums: Box<[u32]>,
    damage: &DamageWatch,
) -> Result<CheckedBytes, FileError> {
    let open = || {
        let file = File::open(path)?;
        Ok((file.metadata()?.len(), Map::from_file(path, &file)?))
    };
    let (found, map) = open().map_err(FileError::io("map", path))?;
    if found != bytes {
        let reason = format!("it has {found} bytes instead of {bytes}");
        return Err(FileError::damaged(path, reason));
    }
    map.advise_random();
    let column = CheckedBytes::new(Arc::new(MappedColumn(map)), checksums, damage.clone());
    column.map_err(|error| FileError::damaged(path, error.to_string()))
}
