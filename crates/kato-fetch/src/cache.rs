//! Cache of file segments on a disk, shared by all processes that name the same folder.

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use bytes::Bytes;

/// Bytes of a segment; the last one of a file is shorter.
pub(crate) const SEGMENT: u64 = 4 << 20;

/// Bytes of the BLAKE3 hash in front of a segment's content.
const CHECKSUM: usize = 32;
const EXTENSION: &str = "segment";
/// Beginning of the names of files that are being written.
const UNFINISHED: &str = ".kato-fetch-";
/// Age from which a temporary file was left behind by a process that died.
const ABANDONED: Duration = Duration::from_secs(3600);

/// Cache of segments. It holds the only copy of nothing: what cannot be read or written is read
/// from its server.
#[derive(Debug)]
pub(crate) struct Cache {
    folder: PathBuf,
    budget: u64,
    fill: Mutex<Fill>,
}

/// Estimate of how full the folder is.
#[derive(Debug, Default)]
struct Fill {
    /// Bytes found by the last scan, and written since by this process.
    bytes: u64,
    /// Bytes written since the last scan; other processes write as well.
    unseen: u64,
}

impl Cache {
    /// Opens the cache in `folder`, which is made if there is none, and brings it within its
    /// budget.
    pub(crate) fn open(folder: &Path, budget: u64) -> io::Result<Self> {
        fs::create_dir_all(folder)?;
        let cache = Self {
            folder: folder.to_owned(),
            budget,
            fill: Mutex::new(Fill::default()),
        };
        cache.evict(&mut cache.fill(), 0);
        Ok(cache)
    }

    /// Returns the name of a segment. The file's name and validator are both part of it, so that a
    /// changed file has other segments.
    pub(crate) fn key(name: &str, validator: &str, start: u64) -> String {
        let mut hasher = blake3::Hasher::new();
        for part in [name.as_bytes(), validator.as_bytes()] {
            // With its length in front, no part can be mistaken for the beginning of the next.
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
        hasher.update(&start.to_le_bytes());
        hasher.finalize().to_hex().to_string()
    }

    /// Reads a segment of `expected` bytes, if it is there and intact. A damaged one is removed.
    pub(crate) fn read(&self, key: &str, expected: usize) -> Option<Bytes> {
        let path = self.path(key);
        let mut file = File::open(&path).ok()?;
        let Some(bytes) = checked(&mut file, expected) else {
            tracing::warn!(path = %path.display(), "a cached segment is damaged; it is read anew");
            let _ = fs::remove_file(&path);
            return None;
        };
        // The time of the last use decides which segments are evicted first. Where it cannot be
        // set, the order suffers and nothing else.
        let _ = file.set_modified(SystemTime::now());
        Some(bytes)
    }

    /// Keeps a segment, if that is possible.
    pub(crate) fn write(&self, key: &str, bytes: &[u8]) {
        let size = (bytes.len() + CHECKSUM) as u64;
        if size > self.budget {
            return;
        }
        // The lock is held until the file is written: a scan by another thread would not see a
        // segment that is still on its way to the disk.
        let mut fill = self.fill();
        fill.bytes = fill.bytes.saturating_add(size);
        fill.unseen = fill.unseen.saturating_add(size);
        // Other processes share the folder, so that it is scanned again after every sixteenth of
        // the budget, however much room there seems to be.
        if fill.bytes > self.budget || fill.unseen > self.budget / 16 {
            self.evict(&mut fill, size);
        }
        if let Err(error) = self.write_file(key, bytes) {
            tracing::debug!(%error, "a segment was not cached");
        }
    }

    /// Writes a segment's file as a whole.
    fn write_file(&self, key: &str, bytes: &[u8]) -> io::Result<()> {
        let path = self.path(key);
        let folder = path.parent().unwrap_or(&self.folder);
        fs::create_dir_all(folder)?;
        // Renamed when complete, so that no process reads half a segment. It is not flushed: what a
        // power cut leaves of it fails its checksum.
        let mut file = tempfile::Builder::new()
            .prefix(UNFINISHED)
            .tempfile_in(&self.folder)?;
        file.write_all(blake3::hash(bytes).as_bytes())?;
        file.write_all(bytes)?;
        file.persist(path)?;
        Ok(())
    }

    /// Scans the folder, and makes room for `incoming` bytes by removing the segments that were not
    /// used for the longest time.
    fn evict(&self, fill: &mut Fill, incoming: u64) {
        let mut entries = self.entries();
        entries.sort_unstable_by_key(|entry| entry.used);
        let mut bytes: u64 = entries.iter().map(|entry| entry.size).sum();
        if bytes.saturating_add(incoming) > self.budget {
            // More is removed than needed, a tenth of the budget, so that not every write scans the
            // folder.
            let aim = (self.budget / 10 * 9).saturating_sub(incoming);
            for entry in entries {
                if bytes <= aim {
                    break;
                }
                // It fails where another process has removed it already.
                let _ = fs::remove_file(&entry.path);
                bytes -= entry.size;
            }
        }
        *fill = Fill {
            bytes: bytes.saturating_add(incoming),
            unseen: 0,
        };
    }

    /// Returns the segments in the folder, and removes temporary files that were left behind.
    fn entries(&self) -> Vec<Entry> {
        let now = SystemTime::now();
        let mut entries = Vec::new();
        // Nothing is touched that the cache did not name itself: somebody may have put other files
        // into the folder, or chosen a folder that has some.
        for item in list(&self.folder) {
            let name = item.file_name();
            let name = name.to_string_lossy();
            if is_hexadecimal(&name, 2) {
                let folder = item.path();
                let items = list(&folder).filter(is_segment);
                entries.extend(items.filter_map(|item| Entry::of(&item)));
            } else if name.starts_with(UNFINISHED)
                && let Some(entry) = Entry::of(&item)
                && now
                    .duration_since(entry.used)
                    .is_ok_and(|age| age > ABANDONED)
            {
                let _ = fs::remove_file(&entry.path);
            }
        }
        entries
    }

    /// Returns the path of a segment, in one of 256 subfolders that keep each directory small.
    fn path(&self, key: &str) -> PathBuf {
        let folder = key.get(..2).unwrap_or_default();
        self.folder.join(folder).join(format!("{key}.{EXTENSION}"))
    }

    /// Locks the estimate. A panic elsewhere leaves numbers that the next scan corrects.
    fn fill(&self) -> std::sync::MutexGuard<'_, Fill> {
        self.fill.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// File in the folder.
struct Entry {
    path: PathBuf,
    size: u64,
    used: SystemTime,
}

impl Entry {
    /// Returns a file's entry; `None` for what is no file, or is gone.
    fn of(item: &fs::DirEntry) -> Option<Self> {
        let about = item.metadata().ok().filter(fs::Metadata::is_file)?;
        Some(Self {
            path: item.path(),
            size: about.len(),
            used: about.modified().ok()?,
        })
    }
}

/// Returns whether an item has the name of a segment: its key and the extension.
fn is_segment(item: &fs::DirEntry) -> bool {
    let path = PathBuf::from(item.file_name());
    let has_extension = path
        .extension()
        .is_some_and(|extension| extension == EXTENSION);
    let key = path.file_stem().and_then(|stem| stem.to_str());
    has_extension && key.is_some_and(|key| is_hexadecimal(key, 2 * blake3::OUT_LEN))
}

fn is_hexadecimal(text: &str, digits: usize) -> bool {
    text.len() == digits && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Returns the items of a folder, none if it cannot be read.
fn list(folder: &Path) -> impl Iterator<Item = fs::DirEntry> {
    fs::read_dir(folder).into_iter().flatten().flatten()
}

/// Returns the content of a segment's file, if it has the length and the hash that it should have.
fn checked(file: &mut File, expected: usize) -> Option<Bytes> {
    let mut content = Vec::with_capacity(CHECKSUM + expected);
    // One byte more than expected shows that a file is too long.
    let limit = (CHECKSUM + expected + 1) as u64;
    file.take(limit).read_to_end(&mut content).ok()?;
    if content.len() != CHECKSUM + expected {
        return None;
    }
    let bytes = Bytes::from(content);
    let sound = blake3::hash(&bytes[CHECKSUM..]).as_bytes() == &bytes[..CHECKSUM];
    sound.then(|| bytes.slice(CHECKSUM..))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(folder: &Path) -> usize {
        list(folder).map(|item| list(&item.path()).count()).sum()
    }

    #[test]
    fn what_was_written_is_read_until_it_is_damaged() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::open(folder.path(), 1 << 20).unwrap();
        let key = Cache::key("hf://a/b@c/d", "v", 0);
        assert_eq!(cache.read(&key, 3), None);
        cache.write(&key, b"abc");
        assert_eq!(cache.read(&key, 3).unwrap(), "abc");

        let path = cache.path(&key);
        let mut content = fs::read(&path).unwrap();
        *content.last_mut().unwrap() ^= 1;
        fs::write(&path, &content).unwrap();
        assert_eq!(cache.read(&key, 3), None);
        assert!(!path.exists(), "a damaged segment is removed");

        cache.write(&key, b"abc");
        assert_eq!(
            cache.read(&key, 2),
            None,
            "a segment of another length is damaged"
        );
    }

    #[test]
    fn files_of_others_are_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let long_ago = SystemTime::UNIX_EPOCH;
        let others = ["thesis.txt", "ab/notes.segment", "photos/a.segment"];
        let left_behind = folder.path().join(".kato-fetch-x1");
        for path in others
            .map(|name| folder.path().join(name))
            .iter()
            .chain([&left_behind])
        {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, [0; 1000]).unwrap();
            File::options()
                .write(true)
                .open(path)
                .unwrap()
                .set_modified(long_ago)
                .unwrap();
        }
        let cache = Cache::open(folder.path(), 5000).unwrap();
        for n in 0..20 {
            cache.write(&Cache::key("hf://a/b@c/d", "v", n), &[1; 900]);
        }
        for name in others {
            assert!(folder.path().join(name).exists(), "{name}");
        }
        assert!(!left_behind.exists());
    }

    #[test]
    fn keys_tell_names_validators_and_places_apart() {
        let keys = [
            Cache::key("ab", "c", 0),
            Cache::key("a", "bc", 0),
            Cache::key("ab", "c", 1),
            Cache::key("abc", "", 0),
        ];
        for (i, key) in keys.iter().enumerate() {
            assert!(!keys[..i].contains(key));
        }
    }

    #[test]
    fn what_was_not_used_for_long_goes_first() {
        let folder = tempfile::tempdir().unwrap();
        let budget = 100_000;
        let cache = Cache::open(folder.path(), budget).unwrap();
        let key = |n: u64| Cache::key("f", "v", n);
        let old = SystemTime::now() - Duration::from_secs(600);
        for n in 0..8 {
            cache.write(&key(n), &[1; 10_000]);
            let path = cache.path(&key(n));
            if let Ok(file) = File::options().append(true).open(path) {
                file.set_modified(old + Duration::from_secs(n)).unwrap();
            }
        }
        let total = |cache: &Cache| cache.entries().iter().map(|entry| entry.size).sum::<u64>();
        assert!(total(&cache) <= budget);
        let kept: Vec<u64> = (0..8).filter(|n| cache.path(&key(*n)).exists()).collect();
        let newest: Vec<u64> = (8 - kept.len() as u64..8).collect();
        assert_eq!(kept, newest, "the oldest are gone");
        cache.write(&key(9), &[0; 200_000]);
        assert!(!cache.path(&key(9)).exists(), "larger than the budget");
    }

    #[test]
    fn a_folder_that_vanishes_only_costs_the_cache() {
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join("cache");
        let cache = Cache::open(&inner, 1 << 20).unwrap();
        fs::remove_dir_all(&inner).unwrap();
        fs::write(&inner, "a file in its place").unwrap();
        cache.write(&Cache::key("a", "b", 0), b"abc");
        assert_eq!(cache.read(&Cache::key("a", "b", 0), 3), None);
        assert_eq!(files(&inner), 0);
    }
}
