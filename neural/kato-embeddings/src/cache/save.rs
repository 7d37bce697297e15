//! Writes a cache: under a temporary name, onto the disk, and only then to its place.

use std::fs::{self, File};
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::Path;
use std::time::Duration;

use kato_arrays::temporary;

use super::CHECKED_BYTES;
use super::header::{HEADER_BYTES, Header, Lengths, Origins};
use crate::element::Number;
use crate::text::Table;

/// Bytes that are handed to the system at once.
const BUFFER_BYTES: usize = 1 << 20;

/// What the names of temporary files begin with.
const PREFIX: &str = ".kato-embeddings-";

/// Age below which a temporary file may not be locked yet.
const JUST_MADE: Duration = Duration::from_secs(60);

/// Writes a table's cache to `path`, replacing what is there. Other processes see the old file or
/// all of the new one.
pub(crate) fn save<E: Number>(path: &Path, table: &Table<E>, origins: &Origins) -> io::Result<()> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        // The parent of a bare file name is the empty path.
        _ => Path::new("."),
    };
    sweep(folder);
    // In the folder of its place, which renaming needs.
    let mut file = temporary(0o666).prefix(PREFIX).tempfile_in(folder)?;
    // Held until the end, so that nobody takes it for left behind. Where files cannot be locked
    // nothing is removed either.
    drop(file.as_file().try_lock());
    write(file.as_file_mut(), table, origins)?;
    // Before the renaming: after a power cut, the name must not stand for a file without its
    // content.
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    sync_folder(folder)
}

/// Removes the temporary files of processes that were killed: old ones whose lock nobody holds.
fn sweep(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    for entry in entries.flatten() {
        let is_temporary = entry
            .file_name()
            .as_encoded_bytes()
            .starts_with(PREFIX.as_bytes());
        // A file that was just made is not locked yet.
        let is_old = |metadata: fs::Metadata| {
            let age = metadata
                .modified()
                .ok()
                .and_then(|time| time.elapsed().ok());
            metadata.is_file() && age.is_some_and(|age| age > JUST_MADE)
        };
        // Of a link itself, not of what it leads to.
        if is_temporary && entry.metadata().is_ok_and(is_old) {
            let is_free = File::open(entry.path()).is_ok_and(|file| file.try_lock().is_ok());
            if is_free {
                drop(fs::remove_file(entry.path()));
            }
        }
    }
}

/// Makes the new name as durable as the content.
fn sync_folder(folder: &Path) -> io::Result<()> {
    // Windows does not open a directory as a file.
    if cfg!(unix) {
        File::open(folder)?.sync_all()?;
    }
    Ok(())
}

/// Writes all of a cache into an empty file.
fn write<E: Number>(file: &mut File, table: &Table<E>, origins: &Origins) -> io::Result<()> {
    let bad_lines = serde_json::to_vec(&table.bad_lines)?;
    let lengths = Lengths {
        n_words: table.words.len() as u64,
        dims: table.dims as u64,
        word_bytes: table.words.text().len() as u64,
        bad_line_bytes: bad_lines.len() as u64,
    };
    let sections = lengths
        .sections::<E>()
        .ok_or(io::Error::from(io::ErrorKind::FileTooLarge))?;
    let padding = [0; size_of::<f64>()];
    // The header follows when the sums are known: until then the file is no cache.
    file.write_all(&[0; HEADER_BYTES])?;
    let mut body = Summed {
        inner: BufWriter::with_capacity(BUFFER_BYTES, &mut *file),
        hasher: crc32fast::Hasher::new(),
        n_hashed: 0,
        sums: Vec::new(),
    };
    body.write_all(bytemuck::cast_slice(&table.elements))?;
    body.write_all(&padding[..sections.norms.start - sections.elements.end])?;
    body.write_all(bytemuck::cast_slice(&table.norms))?;
    body.write_all(bytemuck::cast_slice(table.words.ends()))?;
    body.write_all(table.words.text().as_bytes())?;
    body.write_all(&bad_lines)?;
    let sums = body.finish()?;
    file.write_all(bytemuck::cast_slice(&sums))?;
    let header = Header::new::<E>(lengths, origins, table.lines, table.duplicates).sealed(&sums);
    file.seek(SeekFrom::Start(0))?;
    file.write_all(bytemuck::bytes_of(&header))
}

/// Writer that computes the CRC of each block that passes.
struct Summed<W: Write> {
    inner: BufWriter<W>,
    hasher: crc32fast::Hasher,
    n_hashed: usize,
    sums: Vec<u32>,
}

impl<W: Write> Summed<W> {
    /// Writes bytes, and sums them up.
    fn write_all(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        self.inner.write_all(bytes)?;
        while !bytes.is_empty() {
            let (now, rest) = bytes.split_at(bytes.len().min(CHECKED_BYTES - self.n_hashed));
            self.hasher.update(now);
            self.n_hashed += now.len();
            if self.n_hashed == CHECKED_BYTES {
                self.end_block();
            }
            bytes = rest;
        }
        Ok(())
    }

    /// Ends the sum of a block.
    fn end_block(&mut self) {
        self.sums.push(std::mem::take(&mut self.hasher).finalize());
        self.n_hashed = 0;
    }

    /// Ends the last block, which may be short, and returns all sums.
    fn finish(mut self) -> io::Result<Vec<u32>> {
        if self.n_hashed > 0 {
            self.end_block();
        }
        self.inner.flush()?;
        Ok(self.sums)
    }
}
