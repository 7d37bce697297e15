//! Blocks of memory that begin at a multiple of a page, as direct access to disks demands.

use kato_random::SplitMix64;
use memmap2::MmapMut;

use super::random::fill;

/// Pages of memory begin at multiples of this, and sectors of disks are no larger.
pub(crate) const ALIGNMENT: usize = 4096;
/// The smallest sector that there is.
const SECTOR: usize = 512;

/// Whole pages of random bytes.
#[derive(Debug)]
pub(crate) struct Blocks {
    memory: MmapMut,
}

impl Blocks {
    /// Maps memory that begins at a page, and fills it with random bytes.
    ///
    /// # Errors
    ///
    /// When there is no memory.
    pub(crate) fn new(len: usize, random: &mut SplitMix64) -> Result<Self, String> {
        let mut memory =
            MmapMut::map_anon(len).map_err(|error| format!("no memory for blocks ({error})"))?;
        // Before anything else touches the memory: the first access to a page decides where it
        // lies.
        scatter(&mut memory);
        Ok(Self::from_memory(memory, random))
    }

    /// Fills memory with random bytes.
    pub(crate) fn from_memory(mut memory: MmapMut, random: &mut SplitMix64) -> Self {
        fill(&mut memory, random);
        Self { memory }
    }

    /// Returns the first bytes, as many as there are.
    pub(crate) fn get(&self, len: usize) -> &[u8] {
        &self.memory[..len.min(self.memory.len())]
    }

    /// Returns the first bytes for writing, as many as there are.
    pub(crate) fn get_mut(&mut self, len: usize) -> &mut [u8] {
        let len = len.min(self.memory.len());
        &mut self.memory[..len]
    }

    /// Makes every sector differ from all sectors written before, so that no layer below can store
    /// one of them for many or leave it out.
    pub(crate) fn stamp(&mut self, len: usize, random: &mut SplitMix64) {
        for sector in self.get_mut(len).chunks_mut(SECTOR) {
            let stamp = random.next_u64().to_le_bytes();
            let n = stamp.len().min(sector.len());
            sector[..n].copy_from_slice(&stamp[..n]);
        }
    }
}

/// Touches pages in an order in which no two neighbours follow each other, so that the system
/// scatters them.
///
/// Pages that happen to be neighbours in physical memory reach the disk as one piece: a block of 1
/// MiB is then one request instead of two, and up to two fifths faster. In a program that has run
/// for a while pages are anywhere. They are so here as well, whatever the system has at hand,
/// because the same disk would otherwise have another figure in every process.
fn scatter(memory: &mut [u8]) {
    for first in [0, ALIGNMENT] {
        for page in memory.iter_mut().skip(first).step_by(2 * ALIGNMENT) {
            // Not 0, which is there already: the write must not be optimised away.
            *page = 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_aligned_and_differ_after_a_stamp() {
        let mut random = SplitMix64::from_seed(1);
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
