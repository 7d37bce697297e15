//! Segments of files on a disk, shared by all processes that name the same folder.

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use bytes::Bytes;

/// Bytes of a segment; the last one of a file is shorter.
pub(crate) const SEGMENT: u64 = 4 << 20;

const CHECKSUM: usize = 32;
const EXTENSION: &str = "segment";
/// A temporary file older than this was left behind by a process that died.
const ABANDONED: Duration = Duration::from_secs(3600);

/// Nothing here is the only copy of anything: what cannot be read or written is read from its server.
#[derive(Debug)]
pub(crate) struct Cache {
    folder: PathBuf,
    budget: u64,
    fill: Mutex<Fill>,
}

#[derive(Debug, Default)]
struct Fill {
    /// Bytes found at the last look, and written since by us.
    bytes: u64,
    /// Written since the last look: others write as well.
    unseen: u64,
}

impl Cache {
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

    /// What a segment of a file is called. The name and the validator are both in it, so a changed file has other segments.
    pub(crate) fn key(name: &str, validator: &str, start: u64) -> String {
        let mut hasher = blake3::Hasher::new();
        for part in [name.as_bytes(), validator.as_bytes()] {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
        hasher.update(&start.to_le_bytes());
        hasher.finalize().to_hex().to_string()
    }

    /// A segment of `expected` bytes, if it is there and whole. A damaged one is removed.
    pub(crate) fn read(&self, key: &str, expected: usize) -> Option<Bytes> {
        let path = self.path(key);
        let mut file = File::open(&path).ok()?;
        let Some(bytes) = checked(&mut file, expected) else {
            tracing::warn!(path = %path.display(), "a cached segment is damaged; it is read anew");
            let _ = fs::remove_file(&path);
            return None;
        };
        // The time of the last use decides what goes first.
        let _ = file.set_modified(SystemTime::now());
        Some(bytes)
    }

    /// Keeps a segment, if that is possible.
    pub(crate) fn write(&self, key: &str, bytes: &[u8]) {
        let size = (bytes.len() + CHECKSUM) as u64;
        if size > self.budget {
            return;
        }
        // One writer at a time: what is on its way to the disk would not be seen by another's look.
        let mut fill = self.fill();
        fill.bytes = fill.bytes.saturating_add(size);
        fill.unseen = fill.unseen.saturating_add(size);
        if fill.bytes > self.budget || fill.unseen > self.budget / 16 {
            self.evict(&mut fill, size);
        }
        if let Err(error) = self.write_file(key, bytes) {
            tracing::debug!(%error, "a segment was not cached");
        }
    }

    fn write_file(&self, key: &str, bytes: &[u8]) -> io::Result<()> {
        let path = self.path(key);
        let folder = path.parent().unwrap_or(&self.folder);
        fs::create_dir_all(folder)?;
        let mut file = tempfile::NamedTempFile::new_in(&self.folder)?;
        file.write_all(blake3::hash(bytes).as_bytes())?;
        file.write_all(bytes)?;
        file.persist(path)?;
        Ok(())
    }

    /// Looks at what is there, and makes room for `incoming` bytes: what was not used for the longest time goes first.
    fn evict(&self, fill: &mut Fill, incoming: u64) {
        let mut entries = self.entries();
        entries.sort_unstable_by_key(|entry| entry.used);
        let mut bytes: u64 = entries.iter().map(|entry| entry.size).sum();
        if bytes.saturating_add(incoming) > self.budget {
            // A tenth more than needed, so that not every segment written has to look.
            let aim = (self.budget / 10 * 9).saturating_sub(incoming);
            for entry in entries {
                if bytes <= aim {
                    break;
                }
                // Another process may have been faster.
                let _ = fs::remove_file(&entry.path);
                bytes -= entry.size;
            }
        }
        *fill = Fill {
            bytes: bytes.saturating_add(incoming),
            unseen: 0,
        };
    }

    fn entries(&self) -> Vec<Entry> {
        let now = SystemTime::now();
        let mut entries = Vec::new();
        for item in list(&self.folder) {
            if item.file_type().is_ok_and(|kind| kind.is_dir()) {
                entries.extend(list(&item.path()).filter_map(|item| Entry::of(&item)));
            } else if let Some(entry) = Entry::of(&item)
                && now
                    .duration_since(entry.used)
                    .is_ok_and(|age| age > ABANDONED)
            {
                let _ = fs::remove_file(&entry.path);
            }
        }
        entries.retain(|entry| {
            entry
                .path
                .extension()
                .is_some_and(|extension| extension == EXTENSION)
        });
        entries
    }

    fn path(&self, key: &str) -> PathBuf {
        let folder = key.get(..2).unwrap_or_default();
        self.folder.join(folder).join(format!("{key}.{EXTENSION}"))
    }

    fn fill(&self) -> std::sync::MutexGuard<'_, Fill> {
        self.fill.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Entry {
    path: PathBuf,
    size: u64,
    used: SystemTime,
}

impl Entry {
    fn of(item: &fs::DirEntry) -> Option<Self> {
        let about = item.metadata().ok().filter(fs::Metadata::is_file)?;
        Some(Self {
            path: item.path(),
            size: about.len(),
            used: about.modified().ok()?,
        })
    }
}

fn list(folder: &Path) -> impl Iterator<Item = fs::DirEntry> {
    fs::read_dir(folder).into_iter().flatten().flatten()
}

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
