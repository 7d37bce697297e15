//! Files of JSON lines that a kill leaves intact: one write a line, and a torn last line is cut
//! off.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use serde::Serialize;
use serde::de::DeserializeOwned;

/// File that grows by lines; nothing at all for a server without a directory.
#[derive(Debug)]
pub(crate) struct Journal(Option<Mutex<File>>);

impl Journal {
    /// Opens or makes a file of a directory, and returns the lines that are in it.
    pub(crate) fn open<T: DeserializeOwned>(
        dir: Option<&Path>,
        name: &str,
    ) -> io::Result<(Self, Vec<T>)> {
        let Some(dir) = dir else {
            return Ok((Self(None), Vec::new()));
        };
        std::fs::create_dir_all(dir)?;
        let path = dir.join(name);
        let (lines, whole) = read(&path)?;
        let file = OpenOptions::new().create(true).append(true).open(&path)?;
        // The next line would otherwise be appended to the torn one.
        file.set_len(whole)?;
        Ok((Self(Some(Mutex::new(file))), lines))
    }

    /// Adds a line by one `write`, so that all of it is in the file when this returns, whatever
    /// then happens to the process.
    ///
    /// # Panics
    ///
    /// When the file cannot be written: a server that forgets unseen would make every test that
    /// reads its file wrong.
    pub(crate) fn append(&self, line: &impl Serialize) {
        let Some(file) = &self.0 else { return };
        let mut bytes =
            serde_json::to_vec(line).expect("lines are made of text and finite numbers");
        bytes.push(b'\n');
        let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
        // Not flushed to the disk: what the system has taken survives the process, and no test cuts
        // the power.
        file.write_all(&bytes).expect("the journal can be written");
    }
}

/// Reads the complete lines of a file, and how many bytes they take; none if there is no file.
pub(crate) fn read<T: DeserializeOwned>(path: &Path) -> io::Result<(Vec<T>, u64)> {
    let bytes = match std::fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(error),
    };
    let whole = bytes.iter().rposition(|byte| *byte == b'\n');
    let whole = whole.map_or(0, |last| last + 1);
    let lines = bytes[..whole].split(|byte| *byte == b'\n');
    let lines = lines.filter(|line| !line.is_empty());
    let lines = lines.map(|line| serde_json::from_slice(line).map_err(io::Error::from));
    Ok((lines.collect::<io::Result<_>>()?, whole as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_torn_last_line_is_cut_off() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("j"), "1\n2\n3").unwrap();
        let (journal, lines) = Journal::open::<u64>(Some(dir.path()), "j").unwrap();
        assert_eq!(lines, [1, 2]);
        journal.append(&4);
        assert_eq!(
            std::fs::read_to_string(dir.path().join("j")).unwrap(),
            "1\n2\n4\n"
        );
    }
}
