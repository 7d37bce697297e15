//! The mark that ends every write of the journal: its number, its place, and a checksum over all of
//! it, so that writes that are missing, repeated or out of order are seen.

/// Key of the mark, in the table `meta`. No key of another table is like it: those are ids and
/// names, or begin with a length.
pub(super) const MARK_KEY: &[u8] = b"\0mark";

/// Bytes of a mark: its form, flags, number, place, checksum.
pub(super) const MARK_BYTES: usize = 1 + 1 + 8 + 8 + 4;

/// The version of the form of a mark.
const FORM: u8 = 1;

/// Flag: the numbers before may be missing, which was reported.
const FOLLOWS_LOSS: u8 = 1;

/// The end of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Mark {
    /// Counts writes, by one.
    pub(super) number: u64,
    /// The least that the database's own number of the write can be, which orders what was written to
    /// one key.
    pub(super) place: u64,
    /// Whether numbers before it may be missing, because a loss was reported.
    pub(super) follows_loss: bool,
}

impl Mark {
    /// Returns the bytes of the mark without its checksum.
    fn payload(&self) -> [u8; MARK_BYTES - 4] {
        let mut payload = [0; MARK_BYTES - 4];
        payload[0] = FORM;
        payload[1] = if self.follows_loss { FOLLOWS_LOSS } else { 0 };
        payload[2..10].copy_from_slice(&self.number.to_be_bytes());
        payload[10..].copy_from_slice(&self.place.to_be_bytes());
        payload
    }

    /// Returns the bytes of the mark of a write with these items.
    pub(super) fn encode(&self, items: Checksum) -> [u8; MARK_BYTES] {
        let mut bytes = [0; MARK_BYTES];
        let (payload, checksum) = bytes.split_at_mut(MARK_BYTES - 4);
        payload.copy_from_slice(&self.payload());
        checksum.copy_from_slice(&items.finalize_with(payload).to_be_bytes());
        bytes
    }

    /// Reads a mark; `None` if the bytes are none.
    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; MARK_BYTES] = bytes.try_into().ok()?;
        let number = |at: usize| {
            let bytes = bytes.get(at..at + 8)?.try_into().ok()?;
            Some(u64::from_be_bytes(bytes))
        };
        // A flag that is not known may change what the mark means, so it is no mark.
        let is_known = bytes[0] == FORM && bytes[1] & !FOLLOWS_LOSS == 0;
        Some(Self {
            number: number(2).filter(|_| is_known)?,
            place: number(10)?,
            follows_loss: bytes[1] == FOLLOWS_LOSS,
        })
    }

    /// Returns whether these are the bytes of a mark of the items that the checksum was taken of.
    pub(super) fn ends(bytes: &[u8], items: Checksum) -> bool {
        let payload_len = bytes.len().saturating_sub(4);
        let (payload, checksum) = bytes.split_at(payload_len);
        checksum == items.finalize_with(payload).to_be_bytes()
    }
}

/// The checksum of a write's items, in their order.
#[derive(Debug, Clone, Default)]
pub(super) struct Checksum(crc32fast::Hasher);

impl Checksum {
    /// Adds an item: where it was written to, whether it was removed, its key and its value.
    pub(super) fn add(&mut self, table: u64, is_removed: bool, key: &[u8], value: &[u8]) {
        self.0.update(&table.to_le_bytes());
        self.0.update(&[u8::from(is_removed)]);
        // Lengths before contents, so that no bytes can pass from key to value unseen.
        self.0.update(&(key.len() as u64).to_le_bytes());
        self.0.update(&(value.len() as u64).to_le_bytes());
        self.0.update(key);
        self.0.update(value);
    }

    /// Returns the checksum of the items and, behind them, of what the mark says.
    fn finalize_with(mut self, payload: &[u8]) -> u32 {
        self.0.update(payload);
        self.0.finalize()
    }
}
