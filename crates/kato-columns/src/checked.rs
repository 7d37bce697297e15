//! Bytes under checksums, each block of which is compared when it is first read.

use std::fmt;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use crate::LayoutError;

/// Number of bytes under one checksum.
///
/// A page of memory on most machines: what is checked is what is read anyway.
pub const BLOCK_BYTES: usize = 4 << 10;

/// Most blocks that nobody asked for between two that are fetched together: a disk is as quick with all of
/// them as with being asked once more.
const MAX_GAP_BLOCKS: usize = 4;

/// The reason of damage that is found most.
const CHECKSUM: &str = "a checksum does not match";

/// Times that a read is repeated, as bytes have changed meanwhile.
const MAX_REPEATS: usize = 16;

/// The bytes of a column, such as a mapped file.
pub trait ColumnBytes: AsRef<[u8]> + Send + Sync {
    /// Is told that a range of the bytes will soon be read. What lies on a disk may begin to fetch it;
    /// by default nothing is done. It must not wait for the bytes.
    fn will_read(&self, range: Range<usize>) {
        let _ = range;
    }

    /// Returns whether the bytes are those of the call before, or of the beginning. By default they never
    /// change.
    fn look(&self) -> BytesState {
        BytesState::Unchanged
    }

    /// Returns where the bytes come from, for people.
    fn origin(&self) -> String {
        "a column".to_owned()
    }
}

impl ColumnBytes for Vec<u8> {}

/// Bytes that live as long as anybody reads them.
pub type SharedBytes = Arc<dyn ColumnBytes>;

/// The state of bytes since they were last looked at; see [`ColumnBytes::look`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum BytesState {
    /// They are those of before.
    Unchanged,
    /// They may be others, and are to be compared with their checksums again.
    Changed,
    /// They cannot be read any more, for this reason.
    Lost(String),
}

/// What tells that bytes of an index may have changed since they were compared with their checksums:
/// somebody may write to a mapped file.
pub trait Changes: Send + Sync {
    /// Returns a number that is another one as soon as bytes of the index were changed. It is asked at
    /// the end of every read.
    fn version(&self) -> u64;

    /// Returns a number that is another one when it is time to [look](ColumnBytes::look) at all columns,
    /// as something may have changed that [`version`](Self::version) does not tell of.
    fn look_version(&self) -> u64;
}

/// What is known of the damage of an index; clones share it.
#[derive(Clone, Default)]
pub struct DamageWatch(Arc<Shared>);

#[derive(Default)]
struct Shared {
    is_found: AtomicBool,
    /// What was found first.
    what: OnceLock<String>,
    /// How often changed bytes were found, twice each time.
    generation: AtomicU64,
    columns: Mutex<Vec<Weak<Inner>>>,
    changes: OnceLock<Box<dyn Changes>>,
    /// The versions of which the columns have been looked at, written while `columns` is locked.
    seen_version: AtomicU64,
    seen_look_version: AtomicU64,
}

impl DamageWatch {
    /// Looks for changes of the bytes, from now on and once.
    pub fn watch(&self, changes: impl Changes + 'static) {
        let shared = &self.0;
        shared
            .seen_version
            .store(changes.version(), Ordering::SeqCst);
        let look_version = changes.look_version();
        shared
            .seen_look_version
            .store(look_version, Ordering::SeqCst);
        drop(shared.changes.set(Box::new(changes)));
    }

    /// Returns whether damage was found.
    #[must_use]
    pub fn is_found(&self) -> bool {
        // Relaxed, as whoever found it in this thread sees it; others may as well find it later.
        self.0.is_found.load(Ordering::Relaxed)
    }

    /// Returns what is damaged, as it was found first; `None` if nothing was found.
    #[must_use]
    pub fn what(&self) -> Option<String> {
        let what = || self.0.what.get().cloned().unwrap_or_default();
        self.is_found().then(what)
    }

    /// Notes damage.
    fn raise(&self, what: impl FnOnce() -> String) {
        self.0.what.get_or_init(what);
        self.0.is_found.store(true, Ordering::Relaxed);
    }

    /// Reads, again where the bytes have changed meanwhile; `None` if they are damaged.
    pub fn read<T>(&self, mut read: impl FnMut() -> T) -> Option<T> {
        for _ in 0..MAX_REPEATS {
            let generation = self.generation();
            let value = read();
            self.look();
            if self.is_found() {
                return None;
            }
            if self.generation() == generation {
                return Some(value);
            }
        }
        self.raise(|| "it is changed again and again while it is read".to_owned());
        None
    }

    /// Reads once; `None` if bytes are damaged, or have changed meanwhile.
    pub fn read_once<T>(&self, read: impl FnOnce() -> T) -> Option<T> {
        let generation = self.generation();
        let value = read();
        self.look();
        (!self.is_found() && self.generation() == generation).then_some(value)
    }

    fn generation(&self) -> u64 {
        self.0.generation.load(Ordering::SeqCst)
    }

    /// Looks at the columns if they may have changed.
    #[inline]
    fn look(&self) {
        if let Some(changes) = self.0.changes.get() {
            let is_new = self.0.seen_version.load(Ordering::SeqCst) != changes.version();
            let is_due = self.0.seen_look_version.load(Ordering::SeqCst) != changes.look_version();
            if is_new || is_due {
                self.look_at_columns(&**changes);
            }
        }
    }

    #[cold]
    fn look_at_columns(&self, changes: &dyn Changes) {
        let shared = &self.0;
        // Who finds it locked waits, and sees then that something has changed.
        let mut columns = shared
            .columns
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let (version, look_version) = (changes.version(), changes.look_version());
        let is_new = shared.seen_version.load(Ordering::SeqCst) != version;
        columns.retain(|column| {
            let Some(column) = column.upgrade() else {
                return false;
            };
            match column.bytes.look() {
                BytesState::Unchanged if !is_new => {}
                BytesState::Unchanged | BytesState::Changed => {
                    // On both sides: who compares a block meanwhile sees one of the two.
                    shared.generation.fetch_add(1, Ordering::SeqCst);
                    column.forget_checks();
                    shared.generation.fetch_add(1, Ordering::SeqCst);
                }
                BytesState::Lost(reason) => column.raise(&reason),
            }
            true
        });
        // Last, so that nobody relies on the columns before they were looked at.
        shared.seen_version.store(version, Ordering::SeqCst);
        shared
            .seen_look_version
            .store(look_version, Ordering::SeqCst);
    }
}

impl fmt::Debug for DamageWatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("DamageWatch").field(&self.what()).finish()
    }
}

/// The bytes of one column with a CRC-32 for every [`BLOCK_BYTES`] of them.
///
/// Clones share the bytes and what was checked.
#[derive(Clone)]
pub struct CheckedBytes(Arc<Inner>);

struct Inner {
    bytes: SharedBytes,
    len: usize,
    checksums: Box<[u32]>,
    /// A bit for each block that was compared and found whole.
    checked: Box<[AtomicU64]>,
    damage: DamageWatch,
}

impl CheckedBytes {
    /// Joins bytes and their checksums; what fails its checksum raises the flag when it is read.
    ///
    /// # Errors
    ///
    /// [`LayoutError`] when there are not as many checksums as blocks.
    pub fn new(
        bytes: SharedBytes,
        checksums: Box<[u32]>,
        damage: DamageWatch,
    ) -> Result<Self, LayoutError> {
        let len = (*bytes).as_ref().len();
        if checksums.len() != len.div_ceil(BLOCK_BYTES) {
            return Err(LayoutError(
                "a column has another number of checksums than of blocks",
            ));
        }
        let checked = (0..checksums.len().div_ceil(64)).map(|_| AtomicU64::new(0));
        let inner = Arc::new(Inner {
            checked: checked.collect(),
            bytes,
            len,
            checksums,
            damage,
        });
        let columns = inner.damage.0.columns.lock();
        let mut columns = columns.unwrap_or_else(PoisonError::into_inner);
        columns.push(Arc::downgrade(&inner));
        drop(columns);
        Ok(Self(inner))
    }

    /// Returns the number of bytes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len
    }

    /// Returns whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.len == 0
    }

    /// Compares all blocks with their checksums, ahead of any reading, from a
    /// copy of the bytes; damage raises the flag.
    ///
    /// For those who want to know before they rely on the bytes. `read` fills a buffer from an
    /// offset on, past the mapping, so that checking takes no memory.
    ///
    /// # Errors
    ///
    /// Those of `read`.
    pub fn check_all(
        &self,
        mut read: impl FnMut(u64, &mut [u8]) -> std::io::Result<()>,
    ) -> std::io::Result<()> {
        let mut buffer = vec![0; BLOCK_BYTES * 64];
        for first in (0..self.0.checksums.len()).step_by(64) {
            let start = first * BLOCK_BYTES;
            let part = &mut buffer[..(self.0.len - start).min(BLOCK_BYTES * 64)];
            read(start as u64, part)?;
            for (block, bytes) in (first..).zip(part.chunks(BLOCK_BYTES)) {
                let generation = self.0.damage.generation();
                match crc32fast::hash(bytes) == self.0.checksums[block] {
                    true => self.0.set_checked(block, generation),
                    false => self.0.raise(CHECKSUM),
                }
            }
        }
        Ok(())
    }

    /// Returns the bytes of memory that the checksums take, and what tells which of them were
    /// compared; the bytes themselves are not counted.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        size_of_val(&*self.0.checksums) + size_of_val(&*self.0.checked)
    }

    /// Returns a view to read from.
    #[inline]
    #[must_use]
    pub fn view(&self) -> View<'_> {
        View {
            bytes: (*self.0.bytes).as_ref(),
            of: &self.0,
        }
    }
}

impl fmt::Debug for CheckedBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CheckedBytes")
            .field("len", &self.0.len)
            .finish_non_exhaustive()
    }
}

impl Inner {
    #[inline]
    fn is_checked(&self, block: usize) -> bool {
        // Relaxed: a thread that misses the bit checks again, and one that misses that it was taken back
        // reads again, as the generation is another one.
        self.checked[block / 64].load(Ordering::Relaxed) >> (block % 64) & 1 == 1
    }

    /// Notes that a block was found whole, unless bytes have changed since this generation.
    fn set_checked(&self, block: usize, generation: u64) {
        let bit = 1 << (block % 64);
        self.checked[block / 64].fetch_or(bit, Ordering::SeqCst);
        if self.damage.generation() != generation {
            self.checked[block / 64].fetch_and(!bit, Ordering::SeqCst);
        }
    }

    /// Forgets which blocks were compared.
    fn forget_checks(&self) {
        for bits in &self.checked {
            bits.store(0, Ordering::SeqCst);
        }
    }

    /// Notes damage of the column.
    fn raise(&self, what: &str) {
        let origin = || format!("{}: {what}", self.bytes.origin());
        self.damage.raise(origin);
    }

    /// Compares a block with its checksum.
    #[cold]
    fn check(&self, bytes: &[u8], block: usize) -> bool {
        let start = block * BLOCK_BYTES;
        let end = (start + BLOCK_BYTES).min(bytes.len());
        let generation = self.damage.generation();
        let is_whole = bytes
            .get(start..end)
            .is_some_and(|block_bytes| crc32fast::hash(block_bytes) == self.checksums[block]);
        match is_whole {
            true => self.set_checked(block, generation),
            false => self.raise(CHECKSUM),
        }
        is_whole
    }
}

/// The bytes of a column, borrowed for a while.
#[derive(Clone, Copy)]
pub struct View<'a> {
    bytes: &'a [u8],
    of: &'a Inner,
}

impl<'a> View<'a> {
    /// Returns some bytes at an offset; zeros where they are damaged or not there.
    #[inline]
    #[must_use]
    pub fn array<const N: usize>(self, at: usize) -> [u8; N] {
        let part = self.slice(at, N);
        part.try_into().unwrap_or([0; N])
    }

    /// Returns so many bytes from an offset on; none where they are damaged or not there.
    #[inline]
    #[must_use]
    pub fn slice(self, at: usize, len: usize) -> &'a [u8] {
        if len == 0 {
            return &[];
        }
        let Some(part) = at.checked_add(len).and_then(|end| self.bytes.get(at..end)) else {
            self.of.raise("a position in it is beyond its end");
            return &[];
        };
        for block in at / BLOCK_BYTES..=(at + len - 1) / BLOCK_BYTES {
            if !self.of.is_checked(block) && !self.of.check(self.bytes, block) {
                return &[];
            }
        }
        part
    }

    /// Has memory send what lies at an offset to the processor, which does not wait for it until it is read.
    #[inline]
    pub fn prefetch(self, at: usize) {
        // Believed by nobody, so it is not compared with its checksum.
        if let Some(&byte) = self.bytes.get(at) {
            std::hint::black_box(byte);
        }
    }

    /// Says that these parts, by where they begin and their length, will soon be read, so that a disk is
    /// asked for all of them at once and not for each when it is needed. What was read before is in memory,
    /// as a rule, and passed over. Where parts ascend, neighbours are asked for together.
    #[inline]
    pub fn will_read(self, parts: impl IntoIterator<Item = (usize, usize)>) {
        let mut run: Option<Range<usize>> = None;
        for (at, len) in parts {
            if len == 0 || at.checked_add(len).is_none_or(|end| end > self.bytes.len()) {
                continue;
            }
            for block in at / BLOCK_BYTES..=(at + len - 1) / BLOCK_BYTES {
                if self.of.is_checked(block) {
                    continue;
                }
                match &mut run {
                    Some(run) if run.contains(&block) => {}
                    Some(run) if (run.end..=run.end + MAX_GAP_BLOCKS).contains(&block) => {
                        run.end = block + 1;
                    }
                    _ => self.fetch(run.replace(block..block + 1)),
                }
            }
        }
        self.fetch(run);
    }

    /// Says of blocks that they will soon be read.
    fn fetch(self, run: Option<Range<usize>>) {
        if let Some(run) = run {
            let end = (run.end * BLOCK_BYTES).min(self.bytes.len());
            self.of.bytes.will_read(run.start * BLOCK_BYTES..end);
        }
    }

    /// Returns a number of the column as an array of them.
    #[inline]
    #[must_use]
    pub fn u32(self, idx: usize) -> u32 {
        u32::from_le_bytes(self.array(idx.wrapping_mul(4)))
    }

    /// Returns a number of the column as an array of them.
    #[inline]
    #[must_use]
    pub fn u64(self, idx: usize) -> u64 {
        u64::from_le_bytes(self.array(idx.wrapping_mul(8)))
    }

    /// Notes damage: what was read contradicts itself.
    pub fn raise_damage(self) {
        self.of.raise("its content contradicts itself");
    }
}

impl fmt::Debug for View<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("View")
            .field("len", &self.bytes.len())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_damaged_block_reads_as_zeros_and_the_others_as_they_are() {
        let mut bytes: Vec<u8> = (0..=250).cycle().take(3 * BLOCK_BYTES + 5).collect();
        let checksums: Box<[u32]> = bytes.chunks(BLOCK_BYTES).map(crc32fast::hash).collect();
        bytes[BLOCK_BYTES + 7] ^= 1;
        let damage = DamageWatch::default();
        let column = CheckedBytes::new(Arc::new(bytes), checksums, damage.clone()).unwrap();
        let view = column.view();
        assert_eq!(view.array::<2>(3), [3, 4]);
        assert_eq!(view.slice(3 * BLOCK_BYTES, 5).len(), 5);
        assert!(!damage.is_found());
        assert_eq!(view.array::<2>(BLOCK_BYTES - 1), [0, 0]);
        assert!(damage.is_found());
    }

    /// Bytes that remember what was said of them.
    struct Told(Vec<u8>, std::sync::Mutex<Vec<Range<usize>>>);

    impl AsRef<[u8]> for Told {
        fn as_ref(&self) -> &[u8] {
            &self.0
        }
    }

    impl ColumnBytes for Told {
        fn will_read(&self, range: Range<usize>) {
            self.1.lock().unwrap().push(range);
        }
    }

    #[test]
    fn a_disk_is_told_of_what_was_not_read_before_and_of_nothing_that_is_not_there() {
        let told = Arc::new(Told(vec![7; 2 * BLOCK_BYTES + 5], Default::default()));
        let checksums = told.0.chunks(BLOCK_BYTES).map(crc32fast::hash).collect();
        let damage = DamageWatch::default();
        let column =
            CheckedBytes::new(Arc::<Told>::clone(&told), checksums, damage.clone()).unwrap();
        let view = column.view();
        assert_eq!(view.array::<1>(0), [7]);
        view.will_read([(BLOCK_BYTES - 1, 2)]);
        view.will_read([(2 * BLOCK_BYTES, 5), (2 * BLOCK_BYTES, 6)]);
        view.will_read([(usize::MAX, 2), (BLOCK_BYTES, 0)]);
        let expected = [
            BLOCK_BYTES..2 * BLOCK_BYTES,
            2 * BLOCK_BYTES..2 * BLOCK_BYTES + 5,
        ];
        assert_eq!(*told.1.lock().unwrap(), expected);
        assert!(!damage.is_found());
    }

    #[test]
    fn neighbours_are_asked_for_together() {
        let told = Arc::new(Told(vec![7; 20 * BLOCK_BYTES], Default::default()));
        let checksums = told.0.chunks(BLOCK_BYTES).map(crc32fast::hash).collect();
        let column =
            CheckedBytes::new(Arc::<Told>::clone(&told), checksums, DamageWatch::default())
                .unwrap();
        let blocks = [
            0,
            0,
            1,
            3,
            3 + MAX_GAP_BLOCKS + 1,
            3 + 2 * (MAX_GAP_BLOCKS + 1) + 1,
            2,
        ];
        let parts = blocks.map(|block| (block * BLOCK_BYTES + 9, 4));
        column.view().will_read(parts);
        let runs = [0..3 + MAX_GAP_BLOCKS + 2, blocks[5]..blocks[5] + 1, 2..3];
        let expected = runs.map(|run| run.start * BLOCK_BYTES..run.end * BLOCK_BYTES);
        assert_eq!(*told.1.lock().unwrap(), expected);
    }

    #[test]
    fn what_lies_outside_is_damage_and_no_panic() {
        let damage = DamageWatch::default();
        let column = CheckedBytes::new(Arc::new(Vec::new()), Box::new([]), damage.clone()).unwrap();
        assert_eq!(column.view().u32(usize::MAX), 0);
        assert!(damage.is_found());
        assert!(CheckedBytes::new(Arc::new(vec![1]), Box::new([]), damage).is_err());
    }
}
