//! The sequences of a community: evolved along its tree, or real ones.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use kato_random::SplitMix64;
use kato_unifrac::Tree;
use kato_unifrac::newick::NewickOptions;

use super::SynthOptions;
use super::phylogeny::Phylogeny;
use crate::error::MicrobesError;
use crate::fasta;

const LETTERS: &[u8; 4] = b"ACGT";

/// Letters of the words by which real sequences are compared.
const N_WORD: usize = 6;

/// Lets a random sequence evolve along a tree: every site changes at the same rate into any other
/// letter. No two tips are alike, as their sequences are their names.
///
/// Source: Jukes and Cantor, "Evolution of protein molecules", 1969.
pub(super) fn evolved(tree: &Phylogeny, length: usize, random: &mut SplitMix64) -> Vec<String> {
    let mut sequences: Vec<Vec<u8>> = vec![Vec::new(); tree.parents.len()];
    sequences[tree.root()] = (0..length).map(|_| LETTERS[random.below(4)]).collect();
    // From the root down: parents come behind their children.
    for node in (0..tree.root()).rev() {
        let changed = 0.75 * (1.0 - libm::exp(-4.0 / 3.0 * tree.lengths[node]));
        let mut sequence = sequences[tree.parents[node]].clone();
        for letter in &mut sequence {
            if random.unit() < changed {
                *letter = other_letter(*letter, random);
            }
        }
        sequences[node] = sequence;
    }
    let mut seen = HashSet::new();
    let mut names = Vec::with_capacity(tree.n_tips);
    for mut sequence in sequences.into_iter().take(tree.n_tips) {
        while !seen.insert(sequence.clone()) {
            let site = random.below(length);
            sequence[site] = other_letter(sequence[site], random);
        }
        names.push(sequence.into_iter().map(char::from).collect());
    }
    names
}

fn other_letter(letter: u8, random: &mut SplitMix64) -> u8 {
    let at = LETTERS
        .iter()
        .position(|&other| other == letter)
        .unwrap_or(0);
    LETTERS[(at + 1 + random.below(3)) % 4]
}

/// Draws real sequences from a file, cuts the part asked for out of each, and finds their tree.
///
/// Sequences that are too short or have letters of several nucleotides are passed over, and of those
/// that are alike one is taken.
pub(super) fn real(
    path: &Path,
    options: &SynthOptions,
    random: &mut SplitMix64,
) -> Result<(Vec<String>, Phylogeny), MicrobesError> {
    let tree = options
        .tree
        .as_ref()
        .map(|path| Tree::read(path, NewickOptions::default()));
    let tree = tree.transpose()?;
    let tips: Option<HashMap<&str, usize>> = tree
        .as_ref()
        .map(|tree| tree.tips().map(|tip| (tree.label(tip), tip)).collect());
    let mut records = fasta::read(path)?;
    // Fisher and Yates's shuffle: any choice is as likely as any other.
    for at in (1..records.len()).rev() {
        records.swap(at, random.below(at + 1));
    }
    let (mut names, mut nodes, mut seen) = (Vec::new(), Vec::new(), HashSet::new());
    for (name, sequence) in records {
        if names.len() == options.n_sequences {
            break;
        }
        let letters = sequence.to_uppercase().replace('U', "T");
        let Some(part) = letters.get(options.offset..options.offset.saturating_add(options.length))
        else {
            continue;
        };
        let node = tips.as_ref().map(|tips| tips.get(name.as_str()).copied());
        let is_plain = part.bytes().all(|letter| LETTERS.contains(&letter));
        if !is_plain || node == Some(None) || !seen.insert(part.to_owned()) {
            continue;
        }
        names.push(part.to_owned());
        nodes.extend(node.flatten());
    }
    if names.len() < options.n_single.max(4) {
        return Err(MicrobesError::TooFewSamples {
            what: "real sequences to draw from",
            n: names.len(),
            least: options.n_single.max(4),
            advice: "give a file with more sequences of that length, all of them tips of the tree",
        });
    }
    let phylogeny = match &tree {
        Some(tree) => Phylogeny::cut(tree, &nodes),
        None => by_words(&names),
    };
    Ok((names, phylogeny))
}

/// Joins sequences by the share of their words that they do not have in common.
fn by_words(names: &[String]) -> Phylogeny {
    let words: Vec<HashSet<&[u8]>> = names
        .iter()
        .map(|name| name.as_bytes().windows(N_WORD).collect())
        .collect();
    let distance = |i: usize, j: usize| {
        let n_shared = words[i].intersection(&words[j]).count() as f32;
        let n_all = (words[i].len() + words[j].len()) as f32 - n_shared;
        1.0 - n_shared / n_all
    };
    Phylogeny::upgma(names.len(), distance)
}
