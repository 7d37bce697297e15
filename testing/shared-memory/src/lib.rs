//! Memory that a test and a program that it starts both work on: the same pages, wherever they lie.
//!
//! Where a buffer lies in physical memory decides into how many requests the kernel cuts a large
//! direct access, and with it up to two fifths of its speed. Two programs that are compared are to
//! differ in nothing but themselves.
#![expect(unsafe_code, reason = "mapping a file is")]

use std::io;
use std::path::Path;

use memmap2::{MmapMut, MmapOptions};
use tempfile::NamedTempFile;

/// A file system in memory, on Linux.
const IN_MEMORY: &str = "/dev/shm";

/// A file in memory, gone when dropped. Its pages stay where they are while it lives, whoever maps
/// it.
#[derive(Debug)]
pub struct SharedMemory {
    file: NamedTempFile,
    len: usize,
}

impl SharedMemory {
    /// Memory of so many bytes, all 0.
    ///
    /// # Errors
    ///
    /// When no file can be made, in `/dev/shm` or where there is none among temporary files.
    pub fn new(len: usize) -> io::Result<Self> {
        let file = if Path::new(IN_MEMORY).is_dir() {
            NamedTempFile::new_in(IN_MEMORY)?
        } else {
            NamedTempFile::new()?
        };
        file.as_file().set_len(len as u64)?;
        Ok(Self { file, len })
    }

    /// What another program maps. It must not make the file shorter, nor run while anybody here
    /// looks at a map.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.file.path()
    }

    /// Maps it here.
    ///
    /// # Errors
    ///
    /// When it cannot be mapped, or became shorter.
    pub fn map(&self) -> io::Result<MmapMut> {
        if self.file.as_file().metadata()?.len() < self.len as u64 {
            return Err(io::Error::other("a program made the memory shorter"));
        }
        // SAFETY: the bytes must not change while somebody looks at them. The file has a random
        // name and is this user's alone; who is told the name, by `path`, is asked to leave
        // it alone while a map is looked at, and not to make it shorter.
        unsafe {
            MmapOptions::new()
                .len(self.len)
                .map_mut(self.file.as_file())
        }
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn a_program_and_the_test_see_what_the_other_wrote() {
        let memory = SharedMemory::new(4096).unwrap();
        memory.map().unwrap()[..6].copy_from_slice(b"tokens");
        let output = Command::new("head")
            .args(["-c", "6"])
            .arg(memory.path())
            .output()
            .unwrap();
        assert_eq!(output.stdout, b"tokens");
        std::fs::write(memory.path(), vec![7; 4096]).unwrap();
        assert_eq!(memory.map().unwrap()[4095], 7);
    }

    #[test]
    fn memory_that_became_shorter_is_refused() {
        let memory = SharedMemory::new(4096).unwrap();
        std::fs::write(memory.path(), "short").unwrap();
        assert!(memory.map().is_err());
    }
}
