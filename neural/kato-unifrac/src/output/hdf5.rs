//! HDF5 in the form of unifrac-binaries: the data sets `matrix` and `order`.

use std::io::Write;

use hdf5_writer::{DatasetBuilder, Hdf5Builder, WriteOptions};

use super::Cause;
use crate::matrix::DistanceMatrix;

pub(super) fn write(matrix: &DistanceMatrix, sink: &mut dyn Write) -> Result<(), Cause> {
    let n = matrix.n_samples();
    let mut bytes = Vec::with_capacity(n * n * size_of::<f64>());
    bytes.extend(matrix.square().flat_map(f64::to_le_bytes));
    let shape = [n as u64, n as u64];
    let plan = Hdf5Builder::new()
        .dataset(DatasetBuilder::typed::<f64>("matrix", shape).raw_data(bytes))
        .dataset(DatasetBuilder::vlen_string_data(
            "order",
            [n as u64],
            matrix.sample_ids(),
        )?)
        .into_plan()?;
    sink.write_all(&plan.encode(WriteOptions::default())?)?;
    Ok(())
}
