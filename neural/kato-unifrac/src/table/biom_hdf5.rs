//! BIOM 2.1: a table in an HDF5 file, kept by feature and by sample.

use hdf5_reader::{Dataset, Datatype, H5Type, Hdf5File, OpenOptions};

use super::{Compressed, Table, TableError};

/// The first bytes of every HDF5 file without a block before it.
pub(super) const MAGIC: &[u8] = b"\x89HDF\r\n\x1a\n";

/// What deflate expands at most, by its format: no sound file decodes to more.
const MAX_EXPANSION: usize = 1032;

impl Table {
    /// Reads a BIOM 2.1 table from the bytes of its file.
    ///
    /// Names and the sparse matrix are read, metadata are not. The copy that is kept by sample is
    /// taken; a file that has only the one by feature is read as well.
    ///
    /// # Errors
    ///
    /// The bytes are no HDF5 file, or it lacks a part of the table, or parts contradict each other.
    pub fn from_biom_hdf5(bytes: Vec<u8>) -> Result<Self, TableError> {
        let max_bytes = bytes.len().saturating_mul(MAX_EXPANSION);
        let options = OpenOptions::default()
            .with_max_read_bytes(max_bytes)
            .with_max_chunk_bytes(max_bytes)
            // Every chunk is read once, so keeping it would only take memory.
            .with_chunk_cache_bytes(0);
        let n_bytes = bytes.len() as u64;
        let file = Hdf5File::from_vec_with_options(bytes, options).map_err(|e| failed("/", e))?;
        // What is missing may lie outside of the table, but a copy that was cut off is no copy.
        if n_bytes < file.superblock().eof_address {
            return Err(TableError::Damaged {
                reason: "the file is cut off",
            });
        }
        let feature_ids = names(&file, "observation/ids")?;
        let sample_ids = names(&file, "sample/ids")?;
        if file.group("sample/matrix").is_ok() {
            let by_sample = matrix(&file, "sample/matrix")?;
            return Self::from_samples(feature_ids, sample_ids, by_sample);
        }
        let by_feature = matrix(&file, "observation/matrix")?;
        Self::from_features(feature_ids, sample_ids, &by_feature)
    }
}

fn names(file: &Hdf5File, path: &str) -> Result<Vec<String>, TableError> {
    let names = file.dataset(path).map_err(|e| failed(path, e))?;
    // An empty one may have any type: `biom` writes numbers then.
    if names.num_elements().map_err(|e| failed(path, e))? == 0 {
        return Ok(Vec::new());
    }
    names.read_strings().map_err(|e| failed(path, e))
}

fn matrix(file: &Hdf5File, path: &str) -> Result<Compressed, TableError> {
    Ok(Compressed {
        starts: numbers(file, &format!("{path}/indptr"))?,
        columns: numbers(file, &format!("{path}/indices"))?,
        counts: numbers(file, &format!("{path}/data"))?,
    })
}

/// A type that numbers of a data set are converted to.
trait Number: Sized {
    /// Whether it has fractions.
    const IS_REAL: bool;
    /// Converts a whole number, unless it is out of range.
    fn from_whole(value: i64) -> Option<Self>;
    /// Converts any number, unless it is out of range.
    fn from_real(value: f64) -> Option<Self>;
}

macro_rules! impl_whole_number {
    ($($type:ty),*) => {$(
        impl Number for $type {
            const IS_REAL: bool = false;

            fn from_whole(value: i64) -> Option<Self> {
                value.try_into().ok()
            }

            fn from_real(_: f64) -> Option<Self> {
                None
            }
        }
    )*};
}

impl_whole_number!(u32, u64);

impl Number for f64 {
    const IS_REAL: bool = true;

    fn from_whole(value: i64) -> Option<Self> {
        Some(value as Self)
    }

    fn from_real(value: f64) -> Option<Self> {
        Some(value)
    }
}

/// Reads the numbers of a data set, whichever of the usual types they have.
fn numbers<T: Number>(file: &Hdf5File, path: &str) -> Result<Vec<T>, TableError> {
    let data = file.dataset(path).map_err(|e| failed(path, e))?;
    if data.num_elements().map_err(|e| failed(path, e))? == 0 {
        return Ok(Vec::new());
    }
    let read = match data.dtype() {
        Datatype::FixedPoint {
            size: 4,
            signed: true,
            ..
        } => convert(&data, |value: i32| T::from_whole(value.into())),
        Datatype::FixedPoint {
            size: 4,
            signed: false,
            ..
        } => convert(&data, |value: u32| T::from_whole(value.into())),
        Datatype::FixedPoint {
            size: 8,
            signed: true,
            ..
        } => convert(&data, T::from_whole),
        Datatype::FixedPoint {
            size: 8,
            signed: false,
            ..
        } => convert(&data, |value: u64| T::from_whole(value.try_into().ok()?)),
        Datatype::FloatingPoint { size: 4, .. } if T::IS_REAL => {
            convert(&data, |value: f32| T::from_real(value.into()))
        }
        Datatype::FloatingPoint { size: 8, .. } if T::IS_REAL => convert(&data, T::from_real),
        other => {
            let found = format!("{other:?}");
            return Err(TableError::NumberType {
                name: path.to_owned(),
                found,
            });
        }
    };
    let out_of_range = TableError::Damaged {
        reason: "an index is negative or out of range",
    };
    read.map_err(|e| failed(path, e))?.ok_or(out_of_range)
}

/// Reads and converts; `None` if a number does not convert.
fn convert<F: H5Type, T>(
    data: &Dataset,
    convert: impl Fn(F) -> Option<T>,
) -> Result<Option<Vec<T>>, hdf5_reader::error::Error> {
    // As the file's own order is kept, the numbers begin at the vector's start.
    let (values, _) = data.read_array_parallel::<F>()?.into_raw_vec_and_offset();
    Ok(values.into_iter().map(convert).collect())
}

fn failed(name: &str, source: hdf5_reader::error::Error) -> TableError {
    TableError::Hdf5 {
        name: name.to_owned(),
        source: Box::new(source),
    }
}
