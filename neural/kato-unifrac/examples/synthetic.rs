//! A random table and tree to measure with, as `OUT.biom` and `OUT.nwk`; a function of the seed.
//!
//! `cargo run --release -p kato-unifrac --example synthetic -- OUT SAMPLES TIPS COUNTS SEED`

use std::error::Error;
use std::fmt::Write;

use kato_random::SplitMix64;
use kato_unifrac::Table;

/// Letters in a name, as in reads of the 16S gene.
const N_LETTERS: usize = 150;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let [out, n_samples, n_tips, n_counts, seed] = &arguments[..] else {
        return Err("give OUT SAMPLES TIPS COUNTS SEED".into());
    };
    let (n_samples, n_tips): (usize, usize) = (n_samples.parse()?, n_tips.parse()?);
    let n_counts: usize = n_counts.parse()?;
    let mut random = SplitMix64::from_seed(seed.parse()?);
    let names: Vec<_> = (0..n_tips).map(|_| sequence(&mut random)).collect();
    std::fs::write(format!("{out}.nwk"), tree(&names, &mut random))?;
    let samples: Vec<_> = (0..n_samples).map(|i| format!("s{i}")).collect();
    let mut entries = Vec::with_capacity(n_counts);
    for sample in 0..n_samples {
        // As evenly as it goes, so that exactly so many counts come out.
        let n_held = n_counts * (sample + 1) / n_samples - n_counts * sample / n_samples;
        let held = held(n_tips, n_held, &mut random).into_iter();
        entries.extend(held.map(|(tip, count)| (tip, sample, count)));
    }
    Table::from_entries(names, samples, entries)?.write(format!("{out}.biom"))?;
    Ok(())
}

fn sequence(random: &mut SplitMix64) -> String {
    (0..N_LETTERS)
        .map(|_| char::from(b"ACGT"[random.below(4)]))
        .collect()
}

/// Joins two subtrees at random until one is left.
fn tree(names: &[String], random: &mut SplitMix64) -> String {
    let mut children = vec![None; names.len()];
    let mut roots: Vec<_> = (0..names.len()).collect();
    while roots.len() > 1 {
        let left = roots.swap_remove(random.below(roots.len()));
        let right = roots.swap_remove(random.below(roots.len()));
        roots.push(children.len());
        children.push(Some((left, right)));
    }
    let mut text = String::new();
    // What is still to be written, the next last.
    let mut waiting = vec![(roots[0], false)];
    while let Some((node, is_written)) = waiting.pop() {
        match children[node] {
            Some((left, right)) if !is_written => {
                text.push('(');
                waiting.extend([(node, true), (right, false), (left, false)]);
                continue;
            }
            Some(_) => {
                text.pop();
                text.push(')');
            }
            None => text.push_str(&names[node]),
        }
        let _ = write!(text, ":{:.6},", random.unit());
    }
    // Without the root's length, of which programs make different things.
    text.truncate(text.rfind(')').map_or(0, |end| end + 1));
    text.push(';');
    text
}

/// Draws the tips that a sample holds, ascending, with counts of which small ones are frequent.
fn held(n_tips: usize, n_held: usize, random: &mut SplitMix64) -> Vec<(usize, f64)> {
    let mut held = Vec::with_capacity(n_held);
    let mut wanted = n_held.min(n_tips);
    for tip in 0..n_tips {
        if random.below(n_tips - tip) < wanted {
            wanted -= 1;
            held.push((tip, (1.0 / (1.0 - random.unit())).floor().min(1e6)));
        }
    }
    held
}
