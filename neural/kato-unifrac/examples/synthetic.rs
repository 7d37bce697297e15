//! A random table and tree to measure with, as `OUT.biom` and `OUT.nwk`; a function of the seed.
//!
//! `cargo run --release -p kato-unifrac --example synthetic -- OUT SAMPLES TIPS COUNTS SEED`

use std::error::Error;
use std::fmt::Write;

use hdf5_writer::{
    AttributeBuilder, DatasetBuilder, FILTER_DEFLATE, FilterDescription, H5WriteElement,
    Hdf5Builder, WriteOptions,
};
use kato_random::SplitMix64;

/// Letters in a name, as in reads of the 16S gene.
const N_LETTERS: usize = 150;
/// Values in a chunk of the file.
const N_CHUNK: usize = 16 << 10;

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
    let by_sample: Vec<_> = (0..n_samples)
        .map(|i| {
            // As evenly as it goes, so that exactly so many counts come out.
            let n_held = n_counts * (i + 1) / n_samples - n_counts * i / n_samples;
            held(n_tips, n_held, &mut random)
        })
        .collect();
    write(&format!("{out}.biom"), &names, &samples, &by_sample)
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
fn held(n_tips: usize, n_held: usize, random: &mut SplitMix64) -> Vec<(i32, f64)> {
    let mut held = Vec::with_capacity(n_held);
    let mut wanted = n_held.min(n_tips);
    for tip in 0..n_tips {
        if random.below(n_tips - tip) < wanted {
            wanted -= 1;
            held.push((tip as i32, (1.0 / (1.0 - random.unit())).floor().min(1e6)));
        }
    }
    held
}

fn write(
    path: &str,
    names: &[String],
    samples: &[String],
    by_sample: &[Vec<(i32, f64)>],
) -> Result<(), Box<dyn Error>> {
    let mut by_feature = vec![Vec::new(); names.len()];
    for (sample, held) in by_sample.iter().enumerate() {
        for &(tip, count) in held {
            by_feature[tip as usize].push((sample as i32, count));
        }
    }
    let shape = [names.len() as i32, samples.len() as i32];
    let n_counts: usize = by_sample.iter().map(Vec::len).sum();
    let text = |name, value| AttributeBuilder::fixed_string(name, value);
    let mut file = Hdf5Builder::new()
        .attribute(text("id", "synthetic"))
        .attribute(text("type", "OTU table"))
        .attribute(text("format-url", "http://biom-format.org"))
        .attribute(text("generated-by", "kato-unifrac"))
        .attribute(text("creation-date", "2026-01-01T00:00:00"))
        .attribute(AttributeBuilder::vector("format-version", &[2_i32, 1])?)
        .attribute(AttributeBuilder::vector("shape", &shape)?)
        .attribute(AttributeBuilder::scalar("nnz", n_counts as i32)?);
    for (axis, ids, rows) in [
        ("observation", names, &by_feature[..]),
        ("sample", samples, by_sample),
    ] {
        let n = ids.len() as u64;
        let entries = || rows.iter().flatten();
        let mut starts = vec![0];
        for row in rows {
            starts.push(starts[starts.len() - 1] + row.len() as i32);
        }
        let indices: Vec<_> = entries().map(|entry| entry.0).collect();
        let counts: Vec<_> = entries().map(|entry| entry.1).collect();
        // biom-format wants these groups, which have nothing in them.
        for group in ["metadata", "group-metadata"] {
            let none = AttributeBuilder::scalar("n", 0_i32)?;
            file = file.group_attribute(format!("{axis}/{group}"), none);
        }
        file = file
            .dataset(DatasetBuilder::vlen_string_data(
                format!("{axis}/ids"),
                [n],
                ids,
            )?)
            .dataset(packed(format!("{axis}/matrix/indptr"), &starts)?)
            .dataset(packed(format!("{axis}/matrix/indices"), &indices)?)
            .dataset(packed(format!("{axis}/matrix/data"), &counts)?);
    }
    std::fs::write(path, file.into_plan()?.encode(WriteOptions::default())?)?;
    Ok(())
}

fn packed<T: H5WriteElement>(name: String, values: &[T]) -> Result<DatasetBuilder, Box<dyn Error>> {
    let deflate = FilterDescription {
        id: FILTER_DEFLATE,
        name: None,
        client_data: vec![4],
    };
    let set = DatasetBuilder::typed_data(name, [values.len() as u64], values)?;
    Ok(set
        .chunked([N_CHUNK.min(values.len()) as u64])
        .filter(deflate))
}
