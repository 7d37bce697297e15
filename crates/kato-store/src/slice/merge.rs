//! Merging slices of one level by name: counts are added, texts renumbered.

use std::fs;
use std::path::Path;

use kato_model::AttributeLimits;

use super::source::SliceSource;
use super::walk::{CopyScratch, SliceWalk};
use super::writer::SliceWriter;
use super::{NameRanges, SliceSummary};
use crate::StoreError;

/// Most slices that are open at a time; more are merged in groups first, into files beside the
/// result.
pub const MAX_INPUTS: usize = 64;

/// Merges slices of one level into one, cut into these ranges.
///
/// The result is a function of what the inputs hold together, whatever their number, order and
/// cuts, but for the last bits of sums of affinity. `path` must not exist; files beside it are made
/// and removed where there are more than [`MAX_INPUTS`]. Memory: a block and the text symbols of each open slice.
///
/// # Errors
///
/// [`StoreError::Corrupt`] for an input that is no slice or is damaged, and I/O errors.
pub fn merge(
    inputs: &[SliceSource],
    limits: &AttributeLimits,
    ranges: NameRanges,
    path: &Path,
) -> Result<SliceSummary, StoreError> {
    if inputs.len() <= MAX_INPUTS {
        return merge_open(inputs, limits, ranges, path);
    }
    let mut groups = Vec::new();
    let merged = inputs
        .chunks(MAX_INPUTS)
        .enumerate()
        .try_for_each(|(number, chunk)| {
            let mut name = path.file_name().unwrap_or_default().to_owned();
            // There are fewer inputs each time, so groups of groups have names of their own.
            name.push(format!(".{}-{number}", inputs.len()));
            let group = path.with_file_name(name);
            groups.push(SliceSource::from_file(&group));
            merge_open(chunk, limits, NameRanges::whole(), &group).map(drop)
        })
        .and_then(|()| merge(&groups, limits, ranges, path));
    for group in groups {
        // Working files: nothing is lost when one stays.
        let _ = fs::remove_file(group.path());
    }
    merged
}

/// Merges slices that may all be open.
fn merge_open(
    inputs: &[SliceSource],
    limits: &AttributeLimits,
    ranges: NameRanges,
    path: &Path,
) -> Result<SliceSummary, StoreError> {
    let mut walk = SliceWalk::open(inputs)?;
    let texts: Vec<String> = walk.texts().map(str::to_owned).collect();
    let mut writer = SliceWriter::create(path, texts.iter().map(String::as_str), ranges)?;
    let mut scratch = CopyScratch::default();
    while let Some(name) = walk.next()? {
        walk.copy_to(name, limits, &mut writer, &mut scratch)?;
    }
    writer.finish()
}
