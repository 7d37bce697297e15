//! Replacing the newest generation by another one, and removing the files that no generation names.

use std::collections::HashSet;
use std::fs;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};

use super::deletions::Deletions;
use super::directory::{deletions_path, remove_files, segment_dir};
use super::manifest::{NamedFiles, PREVIOUS_FILE, WITH_DELETIONS, WITH_TOMBSTONES, sync_dir};
use super::segment::Segment;
use super::{EmbeddedStore, Generation, State, Writing};
use crate::StoreError;

impl EmbeddedStore {
    /// Makes another generation the newest as [`replace`](Self::replace) does, of whose segments more is
    /// deleted than the files say.
    pub(super) fn replace_deleting(
        &self,
        writing: &Writing<'_>,
        mut next: Generation,
    ) -> Result<(), StoreError> {
        let path = deletions_path(&self.dir, self.next_number());
        Deletions::write(&path, &self.dir, &self.newest(), &mut next)?;
        self.replace(writing, next)
    }

    /// Makes another generation the newest, durably, and removes the files of the one before the
    /// newest.
    pub(super) fn replace(
        &self,
        _writing: &Writing<'_>,
        mut next: Generation,
    ) -> Result<(), StoreError> {
        // Beyond the numbers of batches that are only staged, too: a later commit may still name
        // their files.
        next.manifest.next_segment = self.next_segment.load(Ordering::Relaxed);
        if next.segments.iter().all(|it| it.deleted().is_empty()) {
            // The last segment that it spoke of was merged.
            next.manifest.deletions.clear();
        }
        let versions = next.segments.iter().map(|segment| segment.version());
        // Older programs refuse a knowledge base for the sake of one segment that they cannot read.
        let of_segments = versions.max().unwrap_or(1);
        let manifest = &next.manifest;
        next.manifest.format_version = match (&*manifest.deletions, &*manifest.tombstones) {
            ([], []) => of_segments,
            ([], _) => of_segments.max(WITH_TOMBSTONES),
            (_, _) => WITH_DELETIONS,
        };
        // The segments are flushed already; their names must be durable before a manifest mentions
        // them.
        sync_dir(&segment_dir(&self.dir))?;
        let is_in_doubt = std::mem::replace(&mut self.state().is_in_doubt, true);
        let before = is_in_doubt.then(|| self.newest().manifest);
        next.manifest.commit(&self.dir, before.as_ref())?;
        // Only now, as a commit that failed leaves the last one valid.
        let mut state = self.state();
        state.is_in_doubt = false;
        let Generation { manifest, segments } = std::mem::replace(&mut state.newest, next);
        let dropped = std::mem::replace(&mut state.previous, manifest.named_files());
        state.retired.extend(segments.iter().map(Arc::downgrade));
        // Without this hold on them, segments are alive only if they are in the newest generation
        // or someone is reading from them.
        drop(segments);
        self.remove_unreferenced(&mut state, &dropped);
        Ok(())
    }

    /// Drops the previous generation, so that the files of what was merged or forgotten are removed
    /// at once.
    pub(super) fn drop_previous_generation(&self, _writing: &Writing<'_>) {
        // Best effort, as what was asked for is done: if it fails, the files are removed with the
        // next commit. The newest manifest has its twin, so it is not alone.
        let removed = fs::remove_file(self.dir.join(PREVIOUS_FILE));
        let is_gone = removed.is_ok_and(|()| sync_dir(&self.dir).is_ok());
        if is_gone {
            let mut state = self.state();
            let files = state.newest.manifest.named_files();
            let dropped = std::mem::replace(&mut state.previous, files);
            self.remove_unreferenced(&mut state, &dropped);
        }
    }

    /// Removes the files of dropped segments that no generation names.
    fn remove_unreferenced(&self, state: &mut State, dropped: &NamedFiles) {
        let State {
            newest,
            previous,
            retired,
            is_in_doubt: _,
        } = state;
        let previous = previous.iter().map(|(file, _)| file.as_str());
        let referenced: HashSet<&str> = newest.manifest.files().chain(previous).collect();
        let dropped = dropped.iter().map(|(file, _)| file.as_str());
        let removable = dropped.filter(|file| !referenced.contains(file));
        remove_files(
            &self.dir,
            removable.filter(|file| hold_for_readers(retired, file)),
        );
        // Segments that nobody reads need no attention any more; those of the newest generation
        // come back to the list when it is replaced.
        let is_in_newest = |segment: &Weak<Segment>| {
            let newest = newest.segments.iter();
            newest
                .map(Arc::as_ptr)
                .any(|newest| newest == segment.as_ptr())
        };
        retired.retain(|segment| segment.strong_count() > 0 && !is_in_newest(segment));
    }
}

/// Holds a dropped segment open for whoever still reads from it, and returns whether its file may
/// be removed.
///
/// A file that cannot be held open stays and is removed by the next writer.
fn hold_for_readers(retired: &[Weak<Segment>], file: &str) -> bool {
    let is_file = |segment: &Segment| segment.path().file_name().is_some_and(|name| name == file);
    let live = retired.iter().filter_map(Weak::upgrade);
    live.filter(|segment| is_file(segment))
        .all(|segment| segment.hold().is_ok())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::PatternStore as _;

    #[test]
    fn the_commit_before_is_none_that_failed() {
        let dir = tempfile::tempdir().unwrap();
        let store = EmbeddedStore::create(dir.path(), &["node0"], json!(null)).unwrap();
        store.commit(Vec::new(), json!("first")).unwrap();
        // All but the last flush is done, and that fails.
        let mut failed = store.newest().manifest;
        failed.n_commits += 1;
        failed.checkpoint = json!("failed");
        failed.commit(store.dir(), None).unwrap();
        store.state().is_in_doubt = true;
        store.commit(Vec::new(), json!("second")).unwrap();
        let previous = || fs::read_to_string(dir.path().join(PREVIOUS_FILE)).unwrap();
        assert!(previous().contains("\"first\""), "{}", previous());
        store.commit(Vec::new(), json!("third")).unwrap();
        assert!(previous().contains("\"second\""), "{}", previous());
    }

    #[test]
    fn a_commit_that_fails_leaves_the_newest_in_doubt() {
        let dir = tempfile::tempdir().unwrap();
        let store = EmbeddedStore::create(dir.path(), &["node0"], json!(null)).unwrap();
        // No manifest can be written in the place of a directory.
        let obstacle = dir.path().join("MANIFEST.previous.tmp");
        fs::create_dir(&obstacle).unwrap();
        assert!(store.commit(Vec::new(), json!("first")).is_err());
        assert!(store.state().is_in_doubt);
        fs::remove_dir(&obstacle).unwrap();
        store.commit(Vec::new(), json!("first")).unwrap();
        assert!(!store.state().is_in_doubt);
        assert_eq!(store.checkpoint(), json!("first"));
    }
}
