//! Reads checkpoints, and trusts none of their bytes unchecked.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use burn::module::Module;
use burn::tensor::{Device, Tensor, TensorData};
use safetensors::{Dtype, SafeTensors};

use super::TrainerProgress;
use super::manifest::Body;
use super::write::{MANIFEST, MOMENTS, WEIGHTS, checksum};
use crate::Error;
use crate::optimizer::{Adam, Moments};
use crate::parameters::{Arrays, assign};

/// A checkpoint whose manifest and files were found whole.
#[derive(Debug, Clone)]
pub struct TrainerCheckpoint {
    folder: PathBuf,
    body: Body,
}

impl TrainerCheckpoint {
    /// Opens a checkpoint's folder and compares every file with its checksum.
    ///
    /// # Errors
    ///
    /// [`Error::Damaged`] where something is not as it was written, [`Error::Version`] where a newer
    /// program wrote it, [`Error::File`] where a file cannot be read.
    pub fn open(folder: impl Into<PathBuf>) -> Result<Self, Error> {
        let folder = folder.into();
        let body = Body::from_file(&folder.join(MANIFEST))?;
        let checkpoint = Self { folder, body };
        for kind in [WEIGHTS, MOMENTS] {
            if checkpoint.files(kind).next().is_none() {
                let path = checkpoint.folder.join(MANIFEST);
                let reason = format!("it lists no file of {kind}");
                return Err(Error::Damaged { path, reason });
            }
        }
        // All files first, so that no half of a damaged checkpoint is ever used.
        for file in &checkpoint.body.files {
            let path = checkpoint.folder.join(&file.name);
            let (n_bytes, blake3) = checksum(&path).map_err(Error::file("cannot read", &path))?;
            // The manifest's word counts: a file beside it may be of another checkpoint.
            if file.n_bytes != n_bytes || file.blake3 != blake3 {
                let reason = "its size or checksum is not the manifest's".to_owned();
                return Err(Error::Damaged { path, reason });
            }
        }
        Ok(checkpoint)
    }

    /// Files of a kind: one, or each replica's.
    fn files(&self, kind: &str) -> impl Iterator<Item = PathBuf> {
        let files = self.body.files.iter();
        let files = files.filter(move |file| file.name.starts_with(kind));
        files.map(|file| self.folder.join(&file.name))
    }

    /// Reads all arrays of a kind.
    fn arrays(&self, kind: &str) -> Result<Arrays, Error> {
        let mut arrays = Arrays::new();
        for path in self.files(kind) {
            arrays.append(&mut read_arrays(&path)?);
        }
        Ok(arrays)
    }

    /// Where the run stood.
    #[must_use]
    pub const fn progress(&self) -> &TrainerProgress {
        &self.body.progress
    }

    /// What the program added when it was written.
    #[must_use]
    pub const fn notes(&self) -> &serde_json::Value {
        &self.body.notes
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
        assign(model, self.arrays(WEIGHTS)?)
    }

    /// Makes the optimiser as it was, with its settings.
    ///
    /// # Errors
    ///
    /// [`Error::Damaged`] where a moment is missing, [`Error::File`] where the file cannot be read.
    pub fn load_adam(&self, device: &Device) -> Result<Adam, Error> {
        // Moments take part in no graph.
        let device = device.clone().without_autodiff();
        let mut moments = BTreeMap::new();
        let mut arrays = self.arrays(MOMENTS)?;
        let names = arrays
            .keys()
            .filter_map(|name| name.strip_suffix(".exp_avg"));
        let names: Vec<String> = names.map(str::to_owned).collect();
        let mut take = |name: String| {
            let (_, values) = arrays.remove(&name)?;
            let n = values.len();
            Some(Tensor::<1>::from_data(
                TensorData::new(values, [n]),
                &device,
            ))
        };
        for name in names {
            let parts = (
                take(format!("{name}.exp_avg")),
                take(format!("{name}.exp_avg_sq")),
            );
            let (Some(first), Some(second)) = parts else {
                let path = self.folder.clone();
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
