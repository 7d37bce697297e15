//! The witness: what the journal has acknowledged, kept apart from it. Nothing else can show that
//! the journal is not what it was.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use crate::ServiceError;
use crate::files::sync_dir;

/// Name of the file in the service's directory.
pub(crate) const FILE: &str = "WITNESS";

/// First bytes of a slot.
const MAGIC: [u8; 8] = *b"KATOWIT1";

/// Where the two slots begin: far enough from each other that no torn write damages both.
const SLOTS: [u64; 2] = [0, 4096];

/// Bytes of a slot: the magic, its turn, what it testifies, a checksum.
const SLOT_BYTES: usize = 8 + 8 + RECORD_BYTES + 4;

const RECORD_BYTES: usize = 16 + 5 * 8;

/// The statement of a witness.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct WitnessRecord {
    /// The id of the journal that it speaks of.
    pub(super) journal: [u8; 16],
    /// Number of the last write that was acknowledged.
    pub(super) written: u64,
    /// Number of the last write that was on the disk when it was acknowledged.
    pub(super) flushed: u64,
    /// Numbers of the tables' directories, one bit each; 0 until all were made.
    pub(super) tables: u64,
    /// Numbers of the oldest and of the newest log file, when they were looked at last.
    pub(super) oldest_log: u64,
    pub(super) newest_log: u64,
}

/// The open file of a witness. Whoever has it has the lock on the directory.
#[derive(Debug)]
pub(super) struct Witness {
    file: File,
    path: PathBuf,
    /// Counts the records; the next one goes into the slot of its parity.
    turn: u64,
    current: WitnessRecord,
}

impl WitnessRecord {
    /// Returns whether the journal was being made, and nothing was in it yet.
    pub(super) const fn is_of_nothing(&self) -> bool {
        self.written == 0 && self.tables == 0
    }

    /// Returns the bytes of a slot.
    fn encode(&self, turn: u64) -> [u8; SLOT_BYTES] {
        let numbers = [
            self.written,
            self.flushed,
            self.tables,
            self.oldest_log,
            self.newest_log,
        ];
        let mut bytes = [0; SLOT_BYTES];
        let (payload, checksum) = bytes.split_at_mut(SLOT_BYTES - 4);
        payload[..8].copy_from_slice(&MAGIC);
        payload[8..16].copy_from_slice(&turn.to_be_bytes());
        payload[16..32].copy_from_slice(&self.journal);
        for (place, number) in payload[32..].chunks_exact_mut(8).zip(numbers) {
            place.copy_from_slice(&number.to_be_bytes());
        }
        checksum.copy_from_slice(&crc32fast::hash(payload).to_be_bytes());
        bytes
    }

    /// Reads the turn and the statement of a slot; `None` if it is not whole.
    fn decode(bytes: &[u8]) -> Option<(u64, Self)> {
        let slot: &[u8; SLOT_BYTES] = bytes.get(..SLOT_BYTES)?.try_into().ok()?;
        let (payload, checksum) = slot.split_at(SLOT_BYTES - 4);
        if payload[..8] != MAGIC || checksum != crc32fast::hash(payload).to_be_bytes() {
            return None;
        }
        let number = |at: usize| {
            let bytes = payload.get(at..at + 8)?.try_into().ok()?;
            Some(u64::from_be_bytes(bytes))
        };
        let record = Self {
            journal: payload[16..32].try_into().ok()?,
            written: number(32)?,
            flushed: number(40)?,
            tables: number(48)?,
            oldest_log: number(56)?,
            newest_log: number(64)?,
        };
        Some((number(8)?, record))
    }
}

impl Witness {
    /// Opens the witness of a directory, or creates one that has nothing to say; returns what it
    /// said last.
    pub(super) fn open(dir: &Path) -> Result<(Self, Option<WitnessRecord>), ServiceError> {
        let path = dir.join(FILE);
        let file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .read(true)
            .write(true)
            .open(&path)
            .map_err(ServiceError::io("open", &path))?;
        let mut bytes = Vec::new();
        (&file)
            .read_to_end(&mut bytes)
            .map_err(ServiceError::io("read", &path))?;
        let slots = SLOTS.map(|at| WitnessRecord::decode(bytes.get(at as usize..)?));
        // A torn write spoils the slot that was written last: then the one before it counts.
        let latest = slots.into_iter().flatten().max_by_key(|(turn, _)| *turn);
        let witness = Self {
            file,
            path,
            turn: latest.map_or(0, |(turn, _)| turn),
            current: latest.map(|(_, record)| record).unwrap_or_default(),
        };
        Ok((witness, latest.map(|(_, record)| record)))
    }

    /// Returns what it says now.
    pub(super) const fn current(&self) -> &WitnessRecord {
        &self.current
    }

    /// Replaces what it says, and hands it to the operating system, so that a kill does not undo
    /// it. After a power cut an earlier statement may be there; what that says of the disk is true
    /// even then.
    pub(super) fn write(&mut self, record: WitnessRecord) -> io::Result<()> {
        if record == self.current {
            return Ok(());
        }
        // Into the slot that does not hold the present statement, which stays whole should this
        // write be torn.
        let turn = self.turn + 1;
        write_all_at(&self.file, &record.encode(turn), SLOTS[(turn % 2) as usize])?;
        (self.turn, self.current) = (turn, record);
        Ok(())
    }

    /// Waits until the disk holds what it says, and the name of its file.
    pub(super) fn sync(&self) -> Result<(), ServiceError> {
        self.file
            .sync_all()
            .map_err(ServiceError::io("flush", &self.path))?;
        sync_dir(self.path.parent().unwrap_or(&self.path))
    }

    /// Makes the error of a statement that cannot be written.
    pub(super) fn failed(&self, source: io::Error) -> ServiceError {
        ServiceError::io("write", &self.path)(source)
    }
}

#[cfg(unix)]
fn write_all_at(file: &File, bytes: &[u8], offset: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::write_all_at(file, bytes, offset)
}

#[cfg(windows)]
fn write_all_at(file: &File, mut bytes: &[u8], mut offset: u64) -> io::Result<()> {
    use std::os::windows::fs::FileExt;

    while !bytes.is_empty() {
        let written = file.seek_write(bytes, offset)?;
        if written == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
        bytes = &bytes[written..];
        offset += written as u64;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn record(written: u64) -> WitnessRecord {
        WitnessRecord {
            journal: [7; 16],
            written,
            tables: 0x1ff,
            newest_log: 3,
            ..WitnessRecord::default()
        }
    }

    #[test]
    fn the_last_word_counts_and_a_torn_one_leaves_the_one_before() {
        let dir = tempfile::tempdir().unwrap();
        let (mut witness, before) = Witness::open(dir.path()).unwrap();
        assert_eq!(before, None);
        for written in 1..=3 {
            witness.write(record(written)).unwrap();
        }
        let last_slot = SLOTS[(witness.turn % 2) as usize];
        drop(witness);
        let (witness, before) = Witness::open(dir.path()).unwrap();
        assert_eq!(before, Some(record(3)));
        drop(witness);

        let path = dir.path().join(FILE);
        let mut bytes = fs::read(&path).unwrap();
        bytes[last_slot as usize + 40] ^= 1;
        fs::write(&path, bytes).unwrap();
        let (_, before) = Witness::open(dir.path()).unwrap();
        assert_eq!(before, Some(record(2)));
    }
}
