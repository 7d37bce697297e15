//! The bytes of one vector: its name, its number of elements, a checksum of both and the elements,
//! then the elements.

use kato_model::VectorName;

/// Number of bytes before the elements.
pub(super) const HEAD_BYTES: usize = VectorName::BYTES + COUNT_BYTES + size_of::<u32>();

/// Number of bytes that the number of elements takes.
const COUNT_BYTES: usize = size_of::<u64>();

/// The head of a vector, which precedes its elements.
#[derive(Debug, Clone, Copy)]
pub(super) struct Head {
    pub(super) name: VectorName,
    pub(super) n_elements: u64,
    pub(super) crc32: u32,
}

impl Head {
    /// Decodes a head.
    pub(super) fn decode(bytes: &[u8; HEAD_BYTES]) -> Option<Self> {
        let (name, rest) = bytes.split_first_chunk()?;
        let (count, crc32) = rest.split_first_chunk()?;
        Some(Self {
            name: VectorName::from_bytes(*name),
            n_elements: u64::from_le_bytes(*count),
            crc32: u32::from_le_bytes(crc32.try_into().ok()?),
        })
    }

    /// Returns the bytes of the elements; `None` where no file could hold them.
    pub(super) fn element_bytes(&self) -> Option<u64> {
        self.n_elements.checked_mul(size_of::<f64>() as u64)
    }
}

/// Appends a vector.
pub(super) fn encode(name: VectorName, vector: &[f64], out: &mut Vec<u8>) {
    let start = out.len();
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(&(vector.len() as u64).to_le_bytes());
    // The checksum covers what precedes and what follows it, so its place is filled in at the end.
    let crc32_at = out.len();
    out.extend_from_slice(&[0; size_of::<u32>()]);
    out.extend(vector.iter().flat_map(|element| element.to_le_bytes()));
    let crc32 = checksum(&out[start..crc32_at], &out[start + HEAD_BYTES..]);
    out[crc32_at..start + HEAD_BYTES].copy_from_slice(&crc32.to_le_bytes());
}

/// Decodes the elements, if the checksum is theirs.
pub(super) fn decode(head: &[u8; HEAD_BYTES], crc32: u32, elements: &[u8]) -> Option<Vec<f64>> {
    let counted = &head[..VectorName::BYTES + COUNT_BYTES];
    let (elements, rest) = elements.as_chunks();
    let intact = rest.is_empty() && checksum(counted, elements.as_flattened()) == crc32;
    intact.then(|| {
        elements
            .iter()
            .map(|bytes| f64::from_le_bytes(*bytes))
            .collect()
    })
}

/// Returns the CRC-32 of the name, the number of elements and the elements.
fn checksum(head: &[u8], elements: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(head);
    hasher.update(elements);
    hasher.finalize()
}
