//! A file that is read and written by whole blocks, past the operating system's cache where that is
//! possible.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use kato_random::SplitMix64;

use super::blocks::{ALIGNMENT, Blocks};
use crate::Allowance;
use crate::figure::MeasurementMethod;

/// Bytes of a block in sequential access.
pub(crate) const LARGE: usize = 1 << 20;
/// Bytes of a block in random access.
pub(crate) const SMALL: usize = 4096;

/// A file without a name, of which nothing is left however the program ends.
#[derive(Debug)]
pub(crate) struct BlockFile {
    file: File,
    blocks: Blocks,
    random: SplitMix64,
    pub(crate) method: MeasurementMethod,
    /// Reason why the method is not direct; empty where it is.
    pub(crate) note: String,
    /// Bytes that have been filled.
    pub(crate) len: u64,
}

impl BlockFile {
    /// Creates a file in a directory.
    ///
    /// # Errors
    ///
    /// When no file can be made there.
    pub(crate) fn create(directory: &Path, seed: u64) -> Result<Self, String> {
        let file = tempfile::tempfile_in(directory).map_err(|error| {
            format!(
                "no file can be made in {} ({error}): name a directory that can be written to with `directory`",
                directory.display()
            )
        })?;
        Self::from_file(file, seed)
    }

    /// Uses an empty file.
    pub(crate) fn from_file(file: File, seed: u64) -> Result<Self, String> {
        let mut random = SplitMix64::from_seed(seed);
        let mut blocks = Blocks::new(LARGE, &mut random)?;
        let (mut method, mut note) = enable_direct(&file);
        // Some file systems take the flag and refuse the first access, so one is tried. What it
        // wrote is written over when the file is filled.
        let probe = file.write_all_at(blocks.get_mut(ALIGNMENT), 0);
        if method == MeasurementMethod::Direct && probe.is_err() {
            disable_direct(&file).map_err(|error| failure_reason(&error))?;
            file.write_all_at(blocks.get(ALIGNMENT), 0)
                .map_err(|error| failure_reason(&error))?;
            (method, note) = (MeasurementMethod::Cached, REFUSED.to_owned());
        } else {
            // Through the cache a failure is one of the disk.
            probe.map_err(|error| failure_reason(&error))?;
        }
        Ok(Self {
            file,
            blocks,
            random,
            method,
            note,
            len: 0,
        })
    }

    /// Fills the file up to so many bytes with blocks that do not compress, as far as time allows.
    ///
    /// # Errors
    ///
    /// When a write fails, as on a disk that has less room than it reports.
    pub(crate) fn fill(&mut self, allowance: &Allowance, bytes: u64) -> Result<(), String> {
        while self.len + LARGE as u64 <= bytes && !allowance.is_over() {
            self.write(self.len, LARGE)?;
            self.len += LARGE as u64;
        }
        // What is still to be written must not slow down the first measurement.
        self.file
            .sync_data()
            .map_err(|error| failure_reason(&error))?;
        Ok(())
    }

    /// Writes one block of new content.
    ///
    /// # Errors
    ///
    /// When the write fails.
    pub(crate) fn write(&mut self, offset: u64, len: usize) -> Result<(), String> {
        self.stamp(len);
        self.write_stamped(offset, len)
    }

    /// Makes the block to write next differ from all that were written before.
    pub(crate) fn stamp(&mut self, len: usize) {
        self.blocks.stamp(len, &mut self.random);
    }

    /// Writes one block as [`stamp`](Self::stamp) has left it.
    ///
    /// # Errors
    ///
    /// When the write fails.
    pub(crate) fn write_stamped(&mut self, offset: u64, len: usize) -> Result<(), String> {
        let bytes = self.blocks.get(len);
        self.file
            .write_all_at(bytes, offset)
            .map_err(|error| failure_reason(&error))
    }

    /// Reads one block.
    ///
    /// # Errors
    ///
    /// When the read fails, or the block is not in the file as a whole.
    pub(crate) fn read(&mut self, offset: u64, len: usize) -> Result<(), String> {
        let bytes = self.blocks.get_mut(len);
        self.file
            .read_exact_at(bytes, offset)
            .map_err(|error| failure_reason(&error))
    }

    /// Waits until the device has everything that was written.
    ///
    /// # Errors
    ///
    /// When the device does not take it.
    pub(crate) fn flush(&self) -> Result<(), String> {
        self.file
            .sync_data()
            .map_err(|error| failure_reason(&error))
    }

    /// Drops the file from the operating system's cache; direct access does without.
    pub(crate) fn drop_cache(&self) -> Result<(), String> {
        // Pages that are not written yet cannot be dropped.
        self.flush()?;
        #[cfg(target_os = "linux")]
        if self.method != MeasurementMethod::Direct {
            rustix::fs::fadvise(&self.file, 0, None, rustix::fs::Advice::DontNeed)
                .map_err(|error| failure_reason(&error.into()))?;
        }
        Ok(())
    }

    /// Uses other memory for blocks from here on.
    #[cfg(test)]
    pub(crate) fn use_memory(&mut self, memory: memmap2::MmapMut) {
        self.blocks = Blocks::from_memory(memory, &mut self.random);
    }

    /// Draws the beginning of a block at random.
    pub(crate) fn draw(&mut self, len: usize) -> u64 {
        let n = self.len / len as u64;
        self.random.below(n.max(1) as usize) as u64 * len as u64
    }
}

/// Returns the reason of a failure, with what to do.
fn failure_reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            format!("the disk has less room than it tells ({error}): free some, or see the quota")
        }
        _ => format!("the disk failed ({error}): see the system's log"),
    }
}

const REFUSED: &str = "the file system refuses direct access";

/// Turns on direct access, and returns the method with its note.
#[cfg(target_os = "linux")]
fn enable_direct(file: &File) -> (MeasurementMethod, String) {
    use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl, fstatfs};

    // tmpfs and ramfs, by their magic numbers. They take the flag, and have no device to go to.
    const IN_MEMORY: [u64; 2] = [0x0102_1994, 0x8584_58f6];
    let kind = fstatfs(file).map(|stat| stat.f_type as u64);
    if kind.is_ok_and(|kind| IN_MEMORY.contains(&kind)) {
        let note = "the file system lies in memory: name a directory on a disk with `directory`";
        return (MeasurementMethod::Cached, note.to_owned());
    }
    let set = fcntl_getfl(file).and_then(|flags| fcntl_setfl(file, flags | OFlags::DIRECT));
    match set {
        Ok(()) => (MeasurementMethod::Direct, String::new()),
        Err(_) => (MeasurementMethod::Cached, REFUSED.to_owned()),
    }
}

/// Turns off direct access.
#[cfg(target_os = "linux")]
fn disable_direct(file: &File) -> io::Result<()> {
    use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};

    let flags = fcntl_getfl(file)?;
    Ok(fcntl_setfl(file, flags - OFlags::DIRECT)?)
}

#[cfg(not(target_os = "linux"))]
fn enable_direct(_: &File) -> (MeasurementMethod, String) {
    (
        MeasurementMethod::Cached,
        "direct access is asked for on Linux only".to_owned(),
    )
}

#[cfg(not(target_os = "linux"))]
fn disable_direct(_: &File) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;
    use std::time::Duration;

    use super::*;
    use crate::Cancellation;

    #[test]
    fn a_filled_file_has_blocks_that_differ_and_leaves_no_name() {
        let dir = tempfile::tempdir().unwrap();
        let mut file = BlockFile::create(dir.path(), 5).unwrap();
        let allowance = Allowance::new(Duration::from_secs(10), &Cancellation::new());
        file.fill(&allowance, 3 << 20).unwrap();
        assert_eq!(file.len, 3 << 20);
        assert!(file.file.metadata().unwrap().blocks() * 512 >= 3 << 20);
        let mut page = |offset| {
            file.read(offset, SMALL).unwrap();
            file.blocks.get(SMALL).to_vec()
        };
        assert_ne!(page(0), page(1 << 20));
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    #[test]
    fn draws_stay_inside() {
        let dir = tempfile::tempdir().unwrap();
        let mut file = BlockFile::create(dir.path(), 5).unwrap();
        file.len = 1 << 20;
        for _ in 0..1000 {
            let offset = file.draw(SMALL);
            assert!(offset + SMALL as u64 <= file.len && offset.is_multiple_of(SMALL as u64));
        }
    }

    #[test]
    fn a_directory_that_is_not_there_is_told() {
        let error = BlockFile::create(Path::new("/nowhere/at/all"), 1).unwrap_err();
        assert!(error.contains("no file can be made"), "{error}");
    }
}
