//! Bytes in memory that begin at a multiple of a page, as direct access to disks demands.

use super::random::Random;

/// Larger than the sectors of disks.
pub(crate) const ALIGNMENT: usize = 4096;
/// The smallest sector that there is.
const SECTOR: usize = 512;

/// Bytes whose address is a multiple of [`ALIGNMENT`], without order.
#[derive(Debug)]
pub(crate) struct Blocks {
    bytes: Vec<u8>,
    start: usize,
    len: usize,
}

impl Blocks {
    /// # Errors
    ///
    /// Where addresses cannot be told.
    pub(crate) fn new(len: usize, random: &mut Random) -> Result<Self, String> {
        let mut bytes = vec![0; len + ALIGNMENT];
        let start = bytes.as_ptr().align_offset(ALIGNMENT);
        if start > ALIGNMENT {
            return Err("memory cannot be aligned here".to_owned());
        }
        random.fill(&mut bytes);
        Ok(Self { bytes, start, len })
    }

    pub(crate) fn get(&self, len: usize) -> &[u8] {
        &self.bytes[self.start..self.start + len.min(self.len)]
    }

    pub(crate) fn get_mut(&mut self, len: usize) -> &mut [u8] {
        &mut self.bytes[self.start..self.start + len.min(self.len)]
    }

    /// Makes every sector differ from all others written before, so that nothing below can store one for many or pass over it.
    pub(crate) fn stamp(&mut self, len: usize, random: &mut Random) {
        for sector in self.get_mut(len).chunks_mut(SECTOR) {
            let stamp = random.next().to_le_bytes();
            let n = stamp.len().min(sector.len());
            sector[..n].copy_from_slice(&stamp[..n]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_aligned_and_differ_after_a_stamp() {
        let mut random = Random::new(1);
        let mut blocks = Blocks::new(2 * ALIGNMENT, &mut random).unwrap();
        assert_eq!(blocks.get(ALIGNMENT).as_ptr().align_offset(ALIGNMENT), 0);
        let before = blocks.get(2 * ALIGNMENT).to_vec();
        blocks.stamp(2 * ALIGNMENT, &mut random);
        let after = blocks.get(2 * ALIGNMENT);
        for sector in (0..2 * ALIGNMENT).step_by(SECTOR) {
            assert_ne!(before[sector..sector + 8], after[sector..sector + 8]);
        }
    }
}
