//! Reads checkpoints, and trusts none of their bytes unchecked.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use burn::module::Module;
use burn::tensor::{Device, Tensor, TensorData};
use safetensors::{Dtype, SafeTensors};

use super::Progress;
use super::manifest::Body;
use super::write::{MANIFEST, MOMENTS, WEIGHTS, checksum};
use crate::optimizer::{Adam, Moments};
use crate::parameters::{Arrays, assign};
use crate::{AdamOptions, Error};

/// A checkpoint whose manifest and files were found whole.
#[derive(Debug, Clone)]
pub struct Checkpoint {
    folder: PathBuf,
    body: Body,
}

impl Checkpoint {
    /// Opens a checkpoint's folder and compares every file with its checksum.
    ///
    /// # Errors
    ///
    /// [`Error::Damaged`] where something is not as it was written, [`Error::Version`] where a newer
    /// program wrote it, [`Error::File`] where a file cannot be read.
    pub fn open(folder: impl Into<PathBuf>) -> Result<Self, Error> {
        let folder = folder.into();
        let body = Body::from_file(&folder.join(MANIFEST))?;
        // All files first, so that no half of a damaged checkpoint is ever used.
        for name in [WEIGHTS, MOMENTS] {
            let path = folder.join(name);
            let (n_bytes, blake3) = checksum(&path).map_err(Error::file("cannot read", &path))?;
            // The manifest's word counts: a file beside it may be of another checkpoint.
            let listed = body.files.iter().find(|file| file.name == name);
            let whole = listed.is_some_and(|file| file.n_bytes == n_bytes && file.blake3 == blake3);
            if !whole {
                let reason = "its size or checksum is not the manifest's".to_owned();
                return Err(Error::Damaged { path, reason });
            }
        }
        Ok(Self { folder, body })
    }

    /// Where the run stood.
    #[must_use]
    pub const fn progress(&self) -> &Progress {
        &self.body.progress
    }

    /// What the program added when it was written.
    #[must_use]
    pub const fn notes(&self) -> &serde_json::Value {
        &self.body.notes
    }

    /// The optimiser's settings.
    #[must_use]
    pub const fn adam_options(&self) -> &AdamOptions {
        &self.body.adam
    }

    /// Where it lies.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Puts the weights into a model of the same make.
    ///
    /// # Errors
    ///
    /// [`Error::Mismatch`] where names or shapes differ; the model is lost then.
    pub fn load_model<M: Module>(&self, model: M) -> Result<M, Error> {
        read_weights(model, &self.folder.join(WEIGHTS))
    }

    /// Makes the optimiser as it was, with its settings.
    ///
    /// # Errors
    ///
    /// [`Error::Damaged`] where a moment is missing, [`Error::File`] where the file cannot be read.
    pub fn load_adam(&self, device: &Device) -> Result<Adam, Error> {
        let path = self.folder.join(MOMENTS);
        // Moments take part in no graph.
        let device = device.clone().without_autodiff();
        let mut moments = BTreeMap::new();
        let mut arrays = read_arrays(&path)?;
        let mut take = |name: String| {
            let (_, values) = arrays.remove(&name)?;
            let n = values.len();
            Some(Tensor::<1>::from_data(
                TensorData::new(values, [n]),
                &device,
            ))
        };
        for name in names(&path)? {
            let parts = (
                take(format!("{name}.exp_avg")),
                take(format!("{name}.exp_avg_sq")),
            );
            let (Some(first), Some(second)) = parts else {
                let reason = format!("{name} lacks a moment");
                return Err(Error::Damaged { path, reason });
            };
            moments.insert(name, Moments { first, second });
        }
        let mut adam = Adam::new(self.body.adam.clone());
        adam.restore(self.body.adam_steps, moments);
        Ok(adam)
    }
}

/// Names of the parameters that have moments in the file.
fn names(path: &Path) -> Result<Vec<String>, Error> {
    let arrays = read_arrays(path)?;
    Ok(arrays
        .keys()
        .filter_map(|name| Some(name.strip_suffix(".exp_avg")?.to_owned()))
        .collect())
}

/// Puts the weights of a safetensors file into a model; names and shapes are PyTorch's.
///
/// # Errors
///
/// [`Error::File`], [`Error::Damaged`] where the file is none of `f32` tensors, and
/// [`Error::Mismatch`] where it is of another model; the model is lost then.
pub fn read_weights<M: Module>(model: M, path: &Path) -> Result<M, Error> {
    assign(model, read_arrays(path)?)
}

fn read_arrays(path: &Path) -> Result<Arrays, Error> {
    let bytes = std::fs::read(path).map_err(Error::file("cannot read", path))?;
    let damaged = |reason: String| Error::Damaged {
        path: path.to_owned(),
        reason,
    };
    let tensors = SafeTensors::deserialize(&bytes).map_err(|error| damaged(error.to_string()))?;
    let mut arrays = Arrays::new();
    for (name, view) in tensors.iter() {
        // Converting would lose what the bits of a resume depend on.
        if view.dtype() != Dtype::F32 {
            return Err(damaged(format!(
                "{name} is {:?}, and only F32 is read",
                view.dtype()
            )));
        }
        // The file's bytes lie at any address, so that each number is taken by itself.
        let (numbers, _) = view.data().as_chunks::<4>();
        let values = numbers
            .iter()
            .map(|&bytes| f32::from_le_bytes(bytes))
            .collect();
        arrays.insert(name.to_owned(), (view.shape().to_vec(), values));
    }
    Ok(arrays)
}
