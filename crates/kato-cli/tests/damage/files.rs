//! Trees of files: copied, listed, and compared by what they hold.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// All files below a folder, in the order of their paths.
pub(crate) fn files_below(dir: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut dirs = vec![dir.to_owned()];
    while let Some(dir) = dirs.pop() {
        for entry in fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => dirs.push(path),
                false => files.push(path),
            }
        }
    }
    files.sort();
    files
}

/// Copies a folder with all below it.
pub(crate) fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        match path.is_dir() {
            true => copy(&path, &target),
            false => drop(fs::copy(&path, &target).unwrap()),
        }
    }
}

/// What the segments below a folder hold, wherever they lie now.
pub(crate) fn segments_below(dir: &Path) -> BTreeSet<Vec<u8>> {
    let files = files_below(dir).into_iter();
    files
        .filter(|path| path.extension().is_some_and(|extension| extension == "seg"))
        .map(|path| fs::read(path).unwrap())
        .collect()
}
