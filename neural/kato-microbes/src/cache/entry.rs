//! The file of one result: a checksum, a head of JSON, and bytes.

use std::path::Path;

use kato_unifrac::DistanceMatrix;
use serde::{Deserialize, Serialize};

use crate::tokens::{Sequences, TokenReport};

/// Bytes of the checksum, and of the head's length behind it.
const N_SUM: usize = blake3::OUT_LEN;
const N_LENGTH: usize = 8;

/// A result as it is kept.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Entry {
    /// Seconds that it took to compute.
    pub(super) computed_s: f64,
    ids: Vec<String>,
    ends: Vec<usize>,
    report: TokenReport,
    #[serde(skip)]
    bytes: Vec<u8>,
}

impl Entry {
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        // Strings and numbers always have a form in JSON.
        let head = serde_json::to_vec(self).unwrap_or_default();
        let mut bytes = vec![0; N_SUM];
        bytes.extend((head.len() as u64).to_le_bytes());
        bytes.extend(head);
        bytes.extend(&self.bytes);
        let sum = blake3::hash(&bytes[N_SUM..]);
        bytes[..N_SUM].copy_from_slice(sum.as_bytes());
        bytes
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (sum, rest) = bytes.split_at_checked(N_SUM)?;
        if blake3::hash(rest).as_bytes() != sum {
            return None;
        }
        let (length, rest) = rest.split_first_chunk::<N_LENGTH>()?;
        let n_head = usize::try_from(u64::from_le_bytes(*length)).ok()?;
        let (head, bytes) = rest.split_at_checked(n_head)?;
        let mut entry: Self = serde_json::from_slice(head).ok()?;
        entry.bytes = bytes.to_vec();
        Some(entry)
    }
}

/// Reads an entry and its size; `None` where there is none, or it is damaged.
pub(super) fn read(path: &Path) -> Option<(Entry, u64)> {
    let bytes = std::fs::read(path).ok()?;
    Some((Entry::from_bytes(&bytes)?, bytes.len() as u64))
}

pub(super) fn of_distances(matrix: &DistanceMatrix) -> Entry {
    let distances = matrix.condensed().iter();
    Entry {
        computed_s: 0.0,
        ids: matrix.sample_ids().to_vec(),
        ends: Vec::new(),
        report: TokenReport::default(),
        bytes: distances
            .flat_map(|distance| distance.to_le_bytes())
            .collect(),
    }
}

pub(super) fn to_distances(entry: Entry) -> Option<DistanceMatrix> {
    let (numbers, _) = entry.bytes.as_chunks::<8>();
    let condensed = numbers
        .iter()
        .map(|bytes| f64::from_le_bytes(*bytes))
        .collect();
    DistanceMatrix::from_condensed(entry.ids, condensed).ok()
}

pub(super) fn of_tokens((sequences, report): &(Sequences, TokenReport)) -> Entry {
    let (tokens, ends) = sequences.parts();
    Entry {
        computed_s: 0.0,
        ids: Vec::new(),
        ends: ends.to_vec(),
        report: report.clone(),
        bytes: tokens.to_vec(),
    }
}

pub(super) fn to_tokens(entry: Entry) -> Option<(Sequences, TokenReport)> {
    Some((
        Sequences::from_parts(entry.bytes, entry.ends)?,
        entry.report,
    ))
}
