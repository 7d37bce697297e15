//! Copying files durably, as long as the disk has room.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use super::entries;
use crate::ServiceError;
use crate::disk_room::{DiskRoom, LOOK_EVERY};
use crate::files::sync_dir;
use crate::steps::{self, Step};

/// Bytes that are read at a time.
const BUFFER_BYTES: usize = 1 << 20;

/// A copy in progress.
#[derive(Debug)]
pub(super) struct Copying<'a> {
    room: &'a DiskRoom,
    /// Bytes that were written.
    pub(super) bytes: u64,
    /// Bytes that were written since the last look at the room.
    since_look: u64,
    buffer: Vec<u8>,
    /// Files that cannot be read, and why.
    pub(super) unread: Vec<(PathBuf, std::io::Error)>,
}

impl<'a> Copying<'a> {
    pub(super) fn new(room: &'a DiskRoom) -> Self {
        Self {
            room,
            bytes: 0,
            since_look: 0,
            buffer: vec![0; BUFFER_BYTES],
            unread: Vec::new(),
        }
    }

    /// Copies a directory with all that is in it, durably. Files that cannot be read are left out.
    pub(super) fn directory(&mut self, from: &Path, to: &Path) -> Result<(), ServiceError> {
        fs::create_dir_all(to).map_err(ServiceError::io("create", to))?;
        for path in entries(from)? {
            let target = to.join(path.file_name().unwrap_or_default());
            match path.is_dir() {
                true => self.directory(&path, &target)?,
                false => self.file(&path, &target)?,
            }
        }
        sync_dir(to)
    }

    /// Copies a file, durably. One that cannot be read is left out.
    pub(super) fn file(&mut self, from: &Path, to: &Path) -> Result<(), ServiceError> {
        steps::reach(Step::CopyPart);
        self.room.check_again()?;
        let write = ServiceError::io("write", to);
        let mut source = match File::open(from) {
            Ok(source) => source,
            Err(error) => return self.leave_out(from, error),
        };
        let mut target = File::create_new(to).map_err(write)?;
        loop {
            let n = match source.read(&mut self.buffer) {
                Ok(0) => break,
                Ok(n) => n,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(error) => {
                    // A part of a file is of no use.
                    fs::remove_file(to).map_err(ServiceError::io("remove", to))?;
                    return self.leave_out(from, error);
                }
            };
            target.write_all(&self.buffer[..n]).map_err(write)?;
            self.bytes += n as u64;
            self.since_look += n as u64;
            if self.since_look >= LOOK_EVERY {
                self.since_look = 0;
                self.room.check_again()?;
            }
        }
        target.sync_all().map_err(write)
    }

    #[expect(clippy::unnecessary_wraps, reason = "what a copy of a file returns")]
    fn leave_out(&mut self, from: &Path, error: std::io::Error) -> Result<(), ServiceError> {
        self.unread.push((from.to_owned(), error));
        Ok(())
    }
}
