//! Stands in for the reader of Parquet in builds without the feature `parquet`, which list no such
//! file.

use std::path::Path;
use std::sync::Arc;

use super::RecordReader;
use crate::bad_record::Fault;
use crate::cursor::Mark;
use crate::extent::Extent;
use crate::options::CorpusOptions;

/// A file whose footer has been read: there is none in this build.
pub(crate) enum ParquetFile {}

impl ParquetFile {
    /// Refuses the file, in case one was not refused when it was listed.
    pub(crate) fn open_local(_path: &Path, _selection: &CorpusOptions) -> Result<Self, Fault> {
        Err(Fault::corrupt(
            "Parquet is not read by a build without the feature `parquet`",
        ))
    }

    /// Returns the runs of rows that are decoded on their own.
    pub(crate) fn extents(&self) -> &[Extent] {
        match *self {}
    }

    /// Opens the rows of an extent.
    pub(crate) fn reader(
        self: Arc<Self>,
        _extent: Extent,
        _mark: Mark,
    ) -> Result<Box<dyn RecordReader>, Fault> {
        match *self {}
    }

    /// Returns the number of rows.
    pub(crate) fn n_rows(&self) -> u64 {
        match *self {}
    }
}
