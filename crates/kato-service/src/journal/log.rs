//! The log files of the journal's database, read without changing them: which writes they hold, and
//! from where on they are not whole. The database cuts a log at the first place that it cannot
//! read, whatever follows, so its log is read here before it is opened.
//!
//! A log file of fjall 3 (`N.jnl`) is a sequence of writes: a start (1, number of items, place),
//! items (2, kind, compression, table, lengths of key, value and stored value, key, value), an end
//! (3, checksum, `FJL` 3). Zeros follow the last.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use super::mark::{Checksum, MARK_BYTES, MARK_KEY, Mark};
use crate::ServiceError;
use crate::loss::DataLoss;

const EXTENSION: &str = "jnl";

/// Ends a write.
const TRAILER: [u8; 4] = [b'F', b'J', b'L', 3];

const START: u8 = 1;
const ITEM: u8 = 2;
const END: u8 = 3;

const BUFFER_BYTES: usize = 1 << 18;

/// Places that the database's own threads take at most between the look at the next place, which is
/// in the mark, and the write: one for each file of a table that they write or merge. A damaged
/// place that is nearer keeps the order of writes, or is found by it.
const PLACES_BETWEEN: u64 = 1 << 16;

/// The content of the log files.
#[derive(Debug, Default)]
pub(super) struct Log {
    /// Numbers of the files, ascending.
    pub(super) files: Vec<u64>,
    /// The first write.
    pub(super) first: Option<Mark>,
    /// The last whole write.
    pub(super) last: Option<Mark>,
    /// Place of the last whole write, marked or not.
    last_place: Option<u64>,
    /// The place from which on it is not whole; nothing behind it was read.
    pub(super) fault: Option<Fault>,
}

/// A place from which on a log is not whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) path: PathBuf,
    /// Number of the file.
    file: u64,
    /// Where the last whole write ends.
    pub(super) at: u64,
    /// Bytes behind it, without the zeros at the end of the file.
    pub(super) bytes: u64,
    /// Whether it is in the newest file, where a write may have been broken off.
    pub(super) is_in_newest: bool,
    reason: &'static str,
}

impl Fault {
    /// Returns whether a whole write follows that is later than this number: then no write was
    /// broken off there, and what follows can be saved.
    pub(super) fn is_followed_by_writes(&self, last: Option<Mark>) -> Result<bool, ServiceError> {
        let read = ServiceError::io("read", &self.path);
        let mut trailers = Trailers::open(&self.path, self.at).map_err(read)?;
        let mut reader = LogReader::open(&self.path).map_err(read)?;
        // A write begins where another ends: every trailer behind the fault may have a whole one
        // behind it.
        while let Some(end) = trailers.next_end().map_err(read)? {
            reader.seek_to(end).map_err(read)?;
            if let Next::Write(Write {
                mark: Some(mark), ..
            }) = reader.next_write().map_err(read)?
                && last.is_none_or(|last| mark.number > last.number)
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns the fault as a loss, where it is not of a write that was broken off.
    pub(super) fn loss(&self) -> DataLoss {
        DataLoss::Journal {
            path: self.path.clone(),
            reason: format!(
                "from byte {} on {}; {} bytes follow",
                self.at, self.reason, self.bytes
            ),
        }
    }
}

/// Lists the numbers of the log files in a directory, ascending.
pub(super) fn list(dir: &Path) -> Result<Vec<u64>, ServiceError> {
    let listed = ServiceError::io("list", dir);
    let mut files = Vec::new();
    for entry in fs::read_dir(dir).map_err(listed)? {
        let path = entry.map_err(listed)?.path();
        if path.extension().is_some_and(|found| found == EXTENSION)
            && let Some(number) = path
                .file_stem()
                .and_then(|stem| stem.to_str()?.parse().ok())
        {
            files.push(number);
        }
    }
    files.sort_unstable();
    Ok(files)
}

/// Returns the path of a log file.
pub(super) fn path_of(dir: &Path, file: u64) -> PathBuf {
    dir.join(format!("{file}.{EXTENSION}"))
}

/// Reads the log files of a directory.
pub(super) fn read(dir: &Path) -> Result<Log, ServiceError> {
    let mut log = Log {
        files: list(dir)?,
        ..Log::default()
    };
    let newest = log.files.last().copied();
    for file in log.files.clone() {
        let path = path_of(dir, file);
        let read = ServiceError::io("read", &path);
        let mut reader = LogReader::open(&path).map_err(read)?;
        let reason = loop {
            match reader.next_write() {
                Ok(Next::Write(write)) => match log.take_in(&write) {
                    Ok(()) => reader.whole = reader.at,
                    Err(reason) => break reason,
                },
                Ok(Next::Zeros) => break "nothing was written",
                Ok(Next::Broken(reason)) => break reason,
                Err(source) => return Err(read(source)),
            }
        };
        // Zeros up to the end of a file are no fault: nothing was written there.
        let (at, used) = (reader.whole, reader.used().map_err(read)?);
        if used > at {
            log.fault = Some(Fault {
                path,
                file,
                at,
                bytes: used - at,
                is_in_newest: Some(file) == newest,
                reason,
            });
            return Ok(log);
        }
    }
    Ok(log)
}

/// Cuts the log at a fault. What follows is kept under names that end in `.lost`, and so are later
/// files.
pub(super) fn cut(dir: &Path, log: &Log, fault: &Fault) -> Result<(), ServiceError> {
    let cut = ServiceError::io("cut", &fault.path);
    let kept = fault.path.with_extension(format!("{EXTENSION}.lost"));
    // Kept before it is cut: an operator may still save something.
    fs::copy(&fault.path, kept).map_err(cut)?;
    let file = File::options().write(true).open(&fault.path).map_err(cut)?;
    file.set_len(fault.at)
        .and_then(|()| file.sync_all())
        .map_err(cut)?;
    put_away(
        dir,
        log.files.iter().copied().filter(|&file| file > fault.file),
    )
}

/// Renames log files, so that the database does not read them.
pub(super) fn put_away(dir: &Path, files: impl Iterator<Item = u64>) -> Result<(), ServiceError> {
    for file in files {
        let path = path_of(dir, file);
        fs::rename(&path, path.with_extension(format!("{EXTENSION}.lost")))
            .map_err(ServiceError::io("rename", &path))?;
    }
    Ok(())
}

impl Log {
    /// Takes in the next write, or says why it cannot follow those before it.
    fn take_in(&mut self, write: &Write) -> Result<(), &'static str> {
        if self.last_place.is_some_and(|last| write.place <= last) {
            return Err("the order of writes is not the one in which they were made");
        }
        match write.mark {
            Some(mark) => {
                if write.place < mark.place || write.place - mark.place > PLACES_BETWEEN {
                    return Err("the order of writes is not the one in which they were made");
                }
                if let Some(last) = self.last {
                    // Numbers count by one, so that every missing write shows, except behind a loss
                    // that was accepted.
                    let follows = match mark.follows_loss {
                        true => mark.number > last.number,
                        false => mark.number == last.number + 1,
                    };
                    if !follows {
                        return Err("writes are missing");
                    }
                }
                self.first.get_or_insert(mark);
                self.last = Some(mark);
            }
            // Writes without a mark come from earlier releases and from the making of tables, in
            // front of the first one with a mark.
            None if self.last.is_none() => {}
            None => return Err("there is a write that is not the service's"),
        }
        self.last_place = Some(write.place);
        Ok(())
    }
}

/// A whole write.
struct Write {
    place: u64,
    mark: Option<Mark>,
}

/// The next thing in a log file.
enum Next {
    Write(Write),
    /// Nothing was written here.
    Zeros,
    Broken(&'static str),
}

/// A reader of the writes of one log file.
struct LogReader {
    reader: BufReader<File>,
    bytes: u64,
    /// The position of the reader.
    at: u64,
    /// Where the last whole write ends.
    whole: u64,
    path: PathBuf,
    body: Vec<u8>,
}

/// A search for the trailers in a log file, in the memory of one buffer: what lies behind a fault
/// may be as large as the file.
struct Trailers {
    reader: BufReader<File>,
    /// The position of the reader.
    at: u64,
    /// The bytes of a trailer that were matched last.
    n_matched: usize,
}

impl Trailers {
    /// Begins to search at a position.
    fn open(path: &Path, at: u64) -> io::Result<Self> {
        let mut reader = BufReader::with_capacity(BUFFER_BYTES, File::open(path)?);
        reader.seek(SeekFrom::Start(at))?;
        Ok(Self {
            reader,
            at,
            n_matched: 0,
        })
    }

    /// Returns the end of the next trailer.
    fn next_end(&mut self) -> io::Result<Option<u64>> {
        loop {
            let buffer = match self.reader.fill_buf() {
                Ok([]) => return Ok(None),
                Ok(buffer) => buffer,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            let (n_bytes, is_found) = match search(buffer, &mut self.n_matched) {
                Some(n_bytes) => (n_bytes, true),
                None => (buffer.len(), false),
            };
            self.reader.consume(n_bytes);
            self.at += n_bytes as u64;
            if is_found {
                return Ok(Some(self.at));
            }
        }
    }
}

/// Returns how many of these bytes there are up to the end of the first trailer, of which some were
/// matched at the end of the bytes before.
fn search(bytes: &[u8], n_matched: &mut usize) -> Option<usize> {
    for (idx, byte) in bytes.iter().enumerate() {
        // The bytes of a trailer are all different, so one that does not go on with a trailer can
        // only begin another.
        *n_matched = match *n_matched {
            n if *byte == TRAILER[n] => n + 1,
            _ => usize::from(*byte == TRAILER[0]),
        };
        if *n_matched == TRAILER.len() {
            *n_matched = 0;
            return Some(idx + 1);
        }
    }
    None
}

/// The reasons for which a write is not whole.
const CUT_OFF: &str = "a write is cut off";
const UNREADABLE: &str = "a write is damaged";

impl LogReader {
    fn open(path: &Path) -> io::Result<Self> {
        let file = File::open(path)?;
        Ok(Self {
            bytes: file.metadata()?.len(),
            reader: BufReader::with_capacity(BUFFER_BYTES, file),
            at: 0,
            whole: 0,
            path: path.to_owned(),
            body: Vec::new(),
        })
    }

    /// Moves to a position.
    fn seek_to(&mut self, at: u64) -> io::Result<()> {
        self.at = at;
        self.reader.seek(SeekFrom::Start(at)).map(drop)
    }

    /// Reads the next write, as far as there is one.
    fn next_write(&mut self) -> io::Result<Next> {
        match self.read_write() {
            Ok(next) => Ok(next),
            // The end of the file is a finding about the log, and not a failure to read it.
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => Ok(Next::Broken(CUT_OFF)),
            Err(error) => Err(error),
        }
    }

    /// Reads a write; an end of the file in the middle of it is an error.
    fn read_write(&mut self) -> io::Result<Next> {
        if self.at == self.bytes {
            return Ok(Next::Zeros);
        }
        match self.read_number::<1>()? as u8 {
            0 => return Ok(Next::Zeros),
            START => {}
            _ => return Ok(Next::Broken(UNREADABLE)),
        }
        let n_items = self.read_number::<4>()?;
        let place = self.read_number::<8>()?;
        let mut checksum = Checksum::default();
        // Table, whether it was removed, and bytes of the key; key and value are the reader's body.
        let mut item: Option<(u64, bool, usize)> = None;
        for _ in 0..n_items {
            // One item behind: the last one may be the mark, which is not part of its own checksum.
            if let Some((table, is_removed, key)) = item {
                let (key, value) = self.body.split_at(key);
                checksum.add(table, is_removed, key, value);
            }
            if self.read_number::<1>()? as u8 != ITEM {
                return Ok(Next::Broken(UNREADABLE));
            }
            let (kind, compression) = (self.read_number::<1>()?, self.read_number::<1>()?);
            let table = self.read_number::<8>()?;
            let key = self.read_number::<2>()?;
            let (value, stored) = (self.read_number::<4>()?, self.read_number::<4>()?);
            // The journal puts and removes records, uncompressed: anything else was not written by
            // it.
            if kind > 1 || compression != 0 || value != stored {
                return Ok(Next::Broken(UNREADABLE));
            }
            self.read_body(key + value)?;
            item = Some((table, kind == 1, key as usize));
        }
        if self.read_number::<1>()? as u8 != END {
            return Ok(Next::Broken(UNREADABLE));
        }
        // The checksum of the database, which checks it itself. It does not cover everything: the
        // mark's does.
        self.read_number::<8>()?;
        let mut trailer = [0; TRAILER.len()];
        self.read_exact(&mut trailer)?;
        if trailer != TRAILER {
            return Ok(Next::Broken(UNREADABLE));
        }
        let mark = match item {
            Some((_, false, key)) if self.is_mark(key) => {
                let bytes = &self.body[key..];
                let mark = Mark::decode(bytes).filter(|_| Mark::ends(bytes, checksum));
                match mark {
                    Some(mark) => Some(mark),
                    None => return Ok(Next::Broken(UNREADABLE)),
                }
            }
            _ => None,
        };
        Ok(Next::Write(Write { place, mark }))
    }

    /// Returns whether the record that was read last is a mark.
    fn is_mark(&self, key: usize) -> bool {
        let (key, value) = self.body.split_at(key);
        key == MARK_KEY && value.len() == MARK_BYTES
    }

    /// Reads the next bytes as a little-endian number.
    fn read_number<const N: usize>(&mut self) -> io::Result<u64> {
        let mut bytes = [0; N];
        self.read_exact(&mut bytes)?;
        Ok(bytes
            .iter()
            .rev()
            .fold(0, |number, &byte| number << 8 | u64::from(byte)))
    }

    /// Reads so many bytes as there is room for.
    fn read_exact(&mut self, bytes: &mut [u8]) -> io::Result<()> {
        self.reader.read_exact(bytes)?;
        self.at += bytes.len() as u64;
        Ok(())
    }

    /// Reads so many bytes, if the file has as many: no checksum has vouched for lengths at this
    /// point, and a damaged one must not take all memory.
    fn read_body(&mut self, bytes: u64) -> io::Result<()> {
        if bytes > self.bytes.saturating_sub(self.at) {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        self.body.resize(bytes as usize, 0);
        self.reader.read_exact(&mut self.body)?;
        self.at += bytes;
        Ok(())
    }

    /// Returns the bytes of the file without the zeros at its end.
    fn used(&self) -> io::Result<u64> {
        let mut reader = File::open(&self.path)?;
        let (mut at, mut used) = (self.whole, self.whole);
        let (mut buffer, zeros) = (vec![0; BUFFER_BYTES], vec![0; BUFFER_BYTES]);
        loop {
            let Some(data) = next_data(&reader, at) else {
                return Ok(used);
            };
            at = data;
            reader.seek(SeekFrom::Start(at))?;
            let n = match reader.read(&mut buffer) {
                Ok(0) => return Ok(used),
                Ok(n) => n,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            // Compared as a whole first: a log file begins as 64 MiB of zeros, and not every file
            // system knows holes.
            if buffer[..n] != zeros[..n]
                && let Some(last) = buffer[..n].iter().rposition(|&byte| byte != 0)
            {
                used = at + last as u64 + 1;
            }
            at += n as u64;
        }
    }
}

/// Returns the next position from one on at which a file may have something other than a hole, which
/// is zeros; `None` if there is none.
fn next_data(file: &File, at: u64) -> Option<u64> {
    #[cfg(target_os = "linux")]
    match rustix::fs::seek(file, rustix::fs::SeekFrom::Data(at)) {
        Ok(data) => return Some(data),
        Err(rustix::io::Errno::NXIO) => return None,
        // A file system that does not tell: everything is read.
        Err(_) => {}
    }
    let _ = file;
    Some(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trailers_are_found_wherever_a_buffer_ends() {
        let bytes = b"FJL\x03..FFJL\x03FJFJL\x03FJL";
        let ends = [4, 11, 17];
        for cut in 0..bytes.len() {
            let (left, right) = bytes.split_at(cut);
            let mut n_matched = 0;
            let mut found = Vec::new();
            for (part, begin) in [(left, 0), (right, cut)] {
                let mut at = 0;
                while let Some(n_bytes) = search(&part[at..], &mut n_matched) {
                    at += n_bytes;
                    found.push(begin + at);
                }
            }
            assert_eq!(found, ends, "cut at {cut}");
        }
    }

    #[test]
    fn zeros_at_the_end_and_holes_are_not_used() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("0.jnl");
        let mut bytes = vec![0; 3 * BUFFER_BYTES];
        for at in [
            None,
            Some(0),
            Some(1),
            Some(BUFFER_BYTES),
            Some(3 * BUFFER_BYTES - 1),
        ] {
            if let Some(at) = at {
                bytes[at] = 7;
            }
            fs::write(&path, &bytes).unwrap();
            for hole in [0, 1 << 20] {
                let file = File::options().write(true).open(&path).unwrap();
                file.set_len(bytes.len() as u64 + hole).unwrap();
                let used = LogReader::open(&path).unwrap().used().unwrap();
                assert_eq!(used, at.map_or(0, |at| at as u64 + 1));
            }
        }
    }

    #[test]
    fn a_search_takes_no_more_memory_than_a_buffer() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("0.jnl");
        let mut bytes = vec![b'F'; 3 * BUFFER_BYTES];
        for at in [BUFFER_BYTES - 2, 2 * BUFFER_BYTES + 7] {
            bytes[at..at + TRAILER.len()].copy_from_slice(&TRAILER);
        }
        fs::write(&path, bytes).unwrap();
        let mut trailers = Trailers::open(&path, 5).unwrap();
        for at in [BUFFER_BYTES - 2, 2 * BUFFER_BYTES + 7] {
            let end = (at + TRAILER.len()) as u64;
            assert_eq!(trailers.next_end().unwrap(), Some(end));
        }
        assert_eq!(trailers.next_end().unwrap(), None);
        assert!(trailers.reader.capacity() == BUFFER_BYTES);
    }
}
