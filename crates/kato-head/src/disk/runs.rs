//! Sorted windows in working files.

use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

use super::CountsError;
use crate::trie::{Key, Packing, Windows};

/// Bytes that are read or written at once.
const BUFFER: usize = 1 << 16;

/// Bytes of a window in a file at most.
const MOST_BYTES: usize = 1 + KEY_BYTES + 4;

/// Bytes of a key at most.
const KEY_BYTES: usize = size_of::<u128>();

/// The number from which on how often a window was learned stands behind it.
const OFTEN: u8 = 15;

/// Sorted windows.
#[derive(Debug)]
pub(super) enum Run {
    /// Those of one batch.
    Memory(Windows),
    /// In a file. Of each: how many first bytes its key shares with the one before, and how often it was learned, with
    /// 4 bits each; the bytes of the key that it does not share; after [`OFTEN`], how often, with 4 bytes.
    File(PathBuf),
}

/// What writes a run.
#[derive(Debug)]
pub(super) struct RunWriter {
    file: File,
    path: PathBuf,
    key_bytes: usize,
    last: Key,
    /// What is to be written, and how much of it is filled.
    buffer: Box<[u8]>,
    len: usize,
}

impl RunWriter {
    pub(super) fn create(dir: &Path, number: usize, packing: Packing) -> Result<Self, CountsError> {
        let path = dir.join(format!("run-{number}"));
        let file = File::create_new(&path).map_err(CountsError::io("create", &path))?;
        Ok(Self {
            file,
            path,
            key_bytes: packing.key_bytes(),
            last: Key::END,
            buffer: vec![0; BUFFER].into(),
            len: 0,
        })
    }

    pub(super) fn push(&mut self, key: Key, times: u32) -> Result<(), CountsError> {
        let shared = self.last.shared_bytes(key).min(self.key_bytes);
        self.last = key;
        let often = u8::try_from(times).unwrap_or(OFTEN).min(OFTEN);
        let mut bytes = [0u8; MOST_BYTES];
        // A key has fewer than 16 bytes.
        bytes[0] = (shared << 4) as u8 | often;
        bytes[1..=KEY_BYTES].copy_from_slice(&key.bytes_from(shared));
        let mut end = 1 + self.key_bytes - shared;
        if often == OFTEN {
            bytes[end..end + 4].copy_from_slice(&times.to_le_bytes());
            end += 4;
        }
        if self.len + MOST_BYTES > self.buffer.len() {
            self.flush()?;
        }
        // All of it, whose length is known, and then the next one over what is too much.
        self.buffer[self.len..self.len + MOST_BYTES].copy_from_slice(&bytes);
        self.len += end;
        Ok(())
    }

    #[cold]
    fn flush(&mut self) -> Result<(), CountsError> {
        let written = self.file.write_all(&self.buffer[..self.len]);
        self.len = 0;
        written.map_err(CountsError::io("write", &self.path))
    }

    pub(super) fn finish(mut self) -> Result<Run, CountsError> {
        self.flush()?;
        Ok(Run::File(self.path))
    }
}

/// Writes sorted windows into a working file.
pub(super) fn write(dir: &Path, number: usize, windows: &Windows) -> Result<Run, CountsError> {
    let mut writer = RunWriter::create(dir, number, windows.packing())?;
    let mut place = 0;
    while let Some((key, times)) = windows.next(&mut place) {
        writer.push(key, times)?;
    }
    writer.finish()
}

/// The windows of a run that are still to come.
pub(super) enum RunReader {
    Memory(Windows, usize),
    File(FileReader),
}

pub(super) struct FileReader {
    file: File,
    path: PathBuf,
    key_bytes: usize,
    buffer: Box<[u8]>,
    /// Where in the buffer the next window begins, and where what was read ends.
    start: usize,
    end: usize,
    is_at_end: bool,
    last: Key,
}

impl RunReader {
    pub(super) fn open(run: Run, packing: Packing) -> Result<Self, CountsError> {
        let path = match run {
            Run::Memory(windows) => return Ok(Self::Memory(windows, 0)),
            Run::File(path) => path,
        };
        let file = File::open(&path).map_err(CountsError::io("read", &path))?;
        Ok(Self::File(FileReader {
            file,
            path,
            key_bytes: packing.key_bytes(),
            buffer: vec![0; BUFFER].into(),
            start: 0,
            end: 0,
            is_at_end: false,
            last: Key::END,
        }))
    }

    /// Returns the next window, and how often it was learned.
    #[inline]
    pub(super) fn next(&mut self) -> Result<Option<(Key, u32)>, CountsError> {
        match self {
            Self::Memory(windows, place) => Ok(windows.next(place)),
            Self::File(reader) => reader.next(),
        }
    }

    pub(super) fn remove(self) -> Result<(), CountsError> {
        match self {
            Self::Memory(..) => Ok(()),
            Self::File(FileReader { file, path, .. }) => {
                drop(file);
                std::fs::remove_file(&path).map_err(CountsError::io("remove", &path))
            }
        }
    }
}

impl FileReader {
    #[inline]
    fn next(&mut self) -> Result<Option<(Key, u32)>, CountsError> {
        if self.end - self.start < MOST_BYTES && !self.is_at_end {
            self.fill().map_err(CountsError::io("read", &self.path))?;
        }
        if self.start == self.end {
            return Ok(None);
        }
        let bytes: &[u8] = &self.buffer[self.start..self.start + MOST_BYTES];
        let (shared, often) = (usize::from(bytes[0] >> 4), bytes[0] & 15);
        let (rest, _) = bytes[1..]
            .split_first_chunk()
            .unwrap_or((&[0; KEY_BYTES], &[]));
        self.last = self.last.followed_by(shared, *rest, self.key_bytes);
        let mut end = 1 + self.key_bytes - shared.min(self.key_bytes);
        let mut times = often.into();
        if often == OFTEN {
            let (number, _) = bytes[end..].split_first_chunk().unwrap_or((&[0; 4], &[]));
            times = u32::from_le_bytes(*number);
            end += 4;
        }
        self.start += end;
        Ok(Some((self.last, times)))
    }

    #[cold]
    fn fill(&mut self) -> std::io::Result<()> {
        self.buffer.copy_within(self.start..self.end, 0);
        (self.end, self.start) = (self.end - self.start, 0);
        // Behind the last window stands nothing, but it is read as if there were.
        while self.end + MOST_BYTES < self.buffer.len() {
            let room = self.buffer.len() - MOST_BYTES;
            match self.file.read(&mut self.buffer[self.end..room]) {
                Ok(0) => {
                    self.is_at_end = true;
                    break;
                }
                Ok(n) => self.end += n,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_are_read_as_they_were_written_in_every_width() {
        let dir = tempfile::tempdir().unwrap();
        let packings = [
            (15, 127),
            (14, 255),
            (7, 65_535),
            (6, 65_536),
            (5, (1 << 22) - 1),
        ];
        for (number, (order, n_symbols)) in packings.into_iter().enumerate() {
            let packing = Packing::new(order, n_symbols).unwrap();
            let largest = u32::try_from(n_symbols).unwrap() - 1;
            // More than is read at once.
            let symbol = |n: u32| {
                if n.is_multiple_of(3) {
                    largest
                } else {
                    n % 100
                }
            };
            let run: Vec<u32> = (0..8_000).map(symbol).collect();
            let mut windows = Windows::new(packing);
            windows.run(&run, 1);
            windows.run(&run[..100], 70_000);
            windows.window(&run, order - 1, 3);
            windows.sort();
            let written = write(dir.path(), number, &windows).unwrap();
            let mut reader = RunReader::open(written, packing).unwrap();
            let mut place = 0;
            while let Some(expected) = windows.next(&mut place) {
                assert_eq!(reader.next().unwrap(), Some(expected));
            }
            assert_eq!(reader.next().unwrap(), None);
            reader.remove().unwrap();
        }
    }
}
