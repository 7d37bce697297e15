//! HDF5 in the form of unifrac-binaries: the data sets `matrix` and `order`.

use hdf5_reader::{Datatype, Hdf5File, OpenOptions};

use super::{Cause, Square};

/// What deflate expands at most, by its format.
const MAX_EXPANSION: usize = 1032;

pub(super) fn parse(bytes: Vec<u8>) -> Result<Square, Cause> {
    let max_bytes = bytes.len().saturating_mul(MAX_EXPANSION);
    let options = OpenOptions::default()
        .with_max_read_bytes(max_bytes)
        .with_max_chunk_bytes(max_bytes);
    let file = Hdf5File::from_vec_with_options(bytes, options)?;
    let ids = file.dataset("order")?.read_strings()?;
    let matrix = file.dataset("matrix")?;
    let square: Vec<f64> = match matrix.dtype() {
        // `ssu` writes single precision unless it is asked for more.
        Datatype::FloatingPoint { size: 4, .. } => matrix
            .read_array::<f32>()?
            .iter()
            .map(|&x| x.into())
            .collect(),
        _ => matrix.read_array::<f64>()?.iter().copied().collect(),
    };
    Ok((ids, square))
}
