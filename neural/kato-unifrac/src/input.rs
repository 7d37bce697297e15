//! Distances from files: the forms that are written, and those of other programs.

mod hdf5;
mod tsv;

use std::error::Error;
use std::path::Path;

use crate::error::UnifracError;
use crate::matrix::DistanceMatrix;

/// How far the two triangles may be apart, and the diagonal from 0, as a share of the greatest distance:
/// `ssu` writes single precision.
const TOLERANCE: f64 = 1e-6;

/// Names and a whole matrix, row behind row, unchecked.
type Square = (Vec<String>, Vec<f64>);
type Cause = Box<dyn Error + Send + Sync>;

pub(crate) fn read(path: &Path) -> Result<DistanceMatrix, UnifracError> {
    let bytes = read_file(path)?;
    let damaged = |source: Cause| UnifracError::Distances {
        path: path.to_owned(),
        source,
    };
    let (ids, square) = match path.extension().and_then(|extension| extension.to_str()) {
        Some("npy") => {
            // The order of rows and columns does not matter: distances are symmetric.
            let found = kato_arrays::parse_floats(&bytes);
            let (shape, square) = found.map_err(|reason| damaged(reason.into()))?;
            let [n, _] = shape[..] else {
                let reason = "it is no matrix; write all pairs of samples";
                return Err(damaged(reason.into()));
            };
            let names = path.with_extension("ids.txt");
            let text = String::from_utf8(read_file(&names)?)
                .map_err(|_| damaged("the names beside it are no UTF-8".into()))?;
            let ids: Vec<_> = text.lines().map(str::to_owned).collect();
            if ids.len() != n {
                let n_ids = ids.len();
                let reason = format!("it has {n} rows, and `{}` {n_ids} names", names.display());
                return Err(damaged(reason.into()));
            }
            (ids, square)
        }
        Some("h5") => hdf5::parse(bytes).map_err(damaged)?,
        Some("tsv" | "txt" | "csv") => {
            tsv::parse(&bytes).map_err(|reason| damaged(reason.into()))?
        }
        _ => {
            return Err(UnifracError::UnknownOutput {
                path: path.to_owned(),
            });
        }
    };
    condensed(ids, &square).map_err(|reason| damaged(reason.into()))
}

fn read_file(path: &Path) -> Result<Vec<u8>, UnifracError> {
    std::fs::read(path).map_err(|source| UnifracError::Read {
        path: path.to_owned(),
        source,
    })
}

/// Keeps the upper triangle of what is a matrix of distances, or says why it is none.
fn condensed(ids: Vec<String>, square: &[f64]) -> Result<DistanceMatrix, String> {
    let n = ids.len();
    if square.len() != n * n {
        return Err(format!("it has {} numbers for {n} names", square.len()));
    }
    let mut seen = std::collections::HashSet::new();
    if let Some(twice) = ids.iter().find(|id| !seen.insert(id.as_str())) {
        return Err(format!("sample `{twice}` stands in it twice"));
    }
    let greatest = square.iter().copied().fold(0.0, f64::max);
    let mut upper = Vec::with_capacity(n * n.saturating_sub(1) / 2);
    for i in 0..n {
        for j in i..n {
            let (one, other) = (square[i * n + j], square[j * n + i]);
            let pair = || format!("between `{}` and `{}`", ids[i], ids[j]);
            if !(one.is_finite() && one >= 0.0) {
                return Err(format!("the distance {} is {one}", pair()));
            }
            if (one - other).abs() > TOLERANCE * greatest {
                return Err(format!(
                    "there are two distances {}: {one} and {other}",
                    pair()
                ));
            }
            if i == j && one > TOLERANCE * greatest {
                return Err(format!("sample `{}` is {one} away from itself", ids[i]));
            }
            if i < j {
                upper.push(one);
            }
        }
    }
    Ok(DistanceMatrix::new(ids, upper))
}
