//! Rarefaction: as many counts from each sample, drawn by a seed.

use kato_random::SplitMix64;

use crate::error::UnifracError;
use crate::table::Table;

/// A rarefied table, and what it lacks.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Rarefied {
    /// The samples that are deep enough, each with exactly the depth asked for. All features stay,
    /// those that no sample holds any more included.
    pub table: Table,
    /// Samples that hold less than the depth.
    pub too_shallow: Vec<String>,
}

/// Draws the same number of counts from each sample, without putting any back.
///
/// What is drawn from a sample depends on the seed, the sample's name and its counts alone, so
/// other samples of the table change nothing. Cost grows with the sum of all counts.
///
/// ```
/// use kato_unifrac::{Table, rarefy};
///
/// let table = Table::from_classic("#OTU ID\ts1\ts2\na\t30\t1\nb\t10\t2\n")?;
/// let rarefied = rarefy(&table, 20, 7)?;
/// assert_eq!(rarefied.too_shallow, ["s2"]);
/// assert_eq!(rarefied.table.sample(0).map(|(_, count)| count).sum::<f64>(), 20.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// A count is no whole number from 0 to 2⁵³, or a sample holds more than that.
pub fn rarefy(table: &Table, depth: u64, seed: u64) -> Result<Rarefied, UnifracError> {
    let mut sample_ids = Vec::new();
    let mut too_shallow = Vec::new();
    let mut entries = Vec::new();
    for (sample, id) in table.sample_ids().iter().enumerate() {
        let total = whole_total(table, sample)?;
        if total < depth {
            too_shallow.push(id.clone());
            continue;
        }
        let mut random = SplitMix64::from_seed(seed ^ hash(id));
        let (mut left, mut wanted) = (total, depth);
        for (feature, count) in table.sample(sample) {
            let mut n_drawn = 0_u64;
            // Each count is taken with the chance of what is wanted among what is left, which gives
            // every choice of `depth` counts the same chance.
            for _ in 0..count as u64 {
                if (random.below(left as usize) as u64) < wanted {
                    wanted -= 1;
                    n_drawn += 1;
                }
                left -= 1;
            }
            entries.push((feature, sample_ids.len(), n_drawn as f64));
        }
        sample_ids.push(id.clone());
    }
    let table = Table::from_entries(table.feature_ids().to_vec(), sample_ids, entries);
    match table {
        Ok(table) => Ok(Rarefied { table, too_shallow }),
        // The entries are those of a table, each once.
        Err(source) => unreachable!("{source}"),
    }
}

/// Adds a sample's counts up, if all are whole.
fn whole_total(table: &Table, sample: usize) -> Result<u64, UnifracError> {
    const MOST: f64 = (1_u64 << 53) as f64;
    let mut total = 0.0;
    for (feature, count) in table.sample(sample) {
        total += count;
        if !(0.0..=MOST).contains(&total) || count < 0.0 || count.fract() != 0.0 {
            return Err(UnifracError::NotWhole {
                sample: table.sample_ids()[sample].clone(),
                feature: table.feature_ids()[feature].clone(),
                count,
            });
        }
    }
    Ok(total as u64)
}

/// FNV-1a, whose values never change: they are part of what a seed means.
fn hash(id: &str) -> u64 {
    id.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}
