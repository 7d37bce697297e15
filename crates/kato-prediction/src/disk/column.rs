//! Mapped files as the columns of an index.

use std::ops::Range;

use crate::frozen::{BytesState, Changes, ColumnBytes};
use kato_map::{DirectoryWatch, Map, MapState};

/// The mapped file of a column.
#[derive(Debug)]
pub(crate) struct MappedColumn(pub(crate) Map);

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

/// The directories of an index and of those that it adds to.
#[derive(Debug)]
pub(crate) struct WatchedDirectories(pub(crate) Vec<DirectoryWatch>);

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
