//! A model's weights by name: made, read from checkpoints, and written as such.

use std::collections::BTreeMap;
use std::path::Path;

use tch::nn::{Init, Path as Place, VarStore};
use tch::{Kind, Tensor, no_grad};

use crate::Error;

/// Tensors by name, as a safetensors file holds them.
pub type Arrays = BTreeMap<String, Tensor>;

/// Weights of a matrix, uniform in ± gain · √(6 / (rows + columns)).
pub(crate) fn xavier(n_out: i64, n_in: i64, gain: f64) -> Init {
    let bound = gain * (6.0 / (n_in + n_out) as f64).sqrt();
    Init::Uniform {
        lo: -bound,
        up: bound,
    }
}

/// A linear layer with a row an output, as PyTorch keeps it.
#[derive(Debug)]
pub(crate) struct Linear {
    pub(crate) weight: Tensor,
    pub(crate) bias: Tensor,
}

impl Linear {
    pub(crate) fn new(place: &Place<'_>, n_in: i64, n_out: i64, gain: f64) -> Self {
        Self {
            weight: place.var("weight", &[n_out, n_in], xavier(n_out, n_in, gain)),
            bias: place.var("bias", &[n_out], Init::Const(0.0)),
        }
    }

    pub(crate) fn forward(&self, input: &Tensor) -> Tensor {
        input.linear(&self.weight, Some(&self.bias))
    }

    /// Makes a second handle on the same weights.
    pub(crate) fn shared(&self) -> Self {
        Self {
            weight: self.weight.shallow_clone(),
            bias: self.bias.shallow_clone(),
        }
    }
}

/// Reads a safetensors file.
///
/// # Errors
///
/// When it cannot be read or is none.
pub fn read_arrays(path: &Path) -> Result<Arrays, Error> {
    // Asked first, as LibTorch's error does not tell what the system says.
    std::fs::File::open(path).map_err(Error::file("read", path))?;
    let arrays = Tensor::read_safetensors(path);
    let arrays =
        arrays.map_err(|error| Error::content(path, format!("is no safetensors file: {error}")))?;
    Ok(arrays.into_iter().collect())
}

/// Writes a safetensors file.
///
/// # Errors
///
/// When it cannot be written.
pub fn write_arrays(path: &Path, arrays: &Arrays) -> Result<(), Error> {
    let arrays: Vec<(&str, &Tensor)> = arrays
        .iter()
        .map(|(name, tensor)| (name.as_str(), tensor))
        .collect();
    Tensor::write_safetensors(&arrays, path)
        .map_err(|error| Error::content(path, format!("is not written: {error}")))
}

/// Copies a model's weights and statistics to the host.
#[must_use]
pub fn weights(store: &VarStore) -> Arrays {
    let on_host = |tensor: Tensor| tensor.detach().to_device(tch::Device::Cpu).contiguous();
    let variables = store.variables().into_iter();
    variables
        .map(|(name, tensor)| (name, on_host(tensor)))
        .collect()
}

/// Copies the gradients of a model's weights to the host; weights without one are left out.
#[must_use]
pub fn gradients(store: &VarStore) -> Arrays {
    let variables = store.variables().into_iter();
    let gradients = variables.map(|(name, tensor)| (name, tensor.grad()));
    let present = gradients.filter(|(_, gradient)| gradient.defined());
    present
        .map(|(name, gradient)| {
            (
                name,
                gradient.detach().to_device(tch::Device::Cpu).contiguous(),
            )
        })
        .collect()
}

/// Copies arrays into a model of the same names and shapes.
///
/// # Errors
///
/// [`Error::Mismatch`] where names or shapes differ; the model then has some of the weights.
pub fn assign(store: &VarStore, arrays: &Arrays) -> Result<(), Error> {
    let variables = store.variables();
    // What is left over belongs to another model, even if all else fits.
    if let Some(name) = arrays.keys().find(|name| !variables.contains_key(*name)) {
        return Err(Error::Mismatch(format!("the model has no {name}")));
    }
    for (name, mut variable) in variables {
        let missing = || Error::Mismatch(format!("they have no {name}"));
        let array = arrays.get(&name).ok_or_else(missing)?;
        if array.size() != variable.size() {
            let (found, expected) = (array.size(), variable.size());
            let reason = format!("{name} has shape {found:?} there and {expected:?} in the model");
            return Err(Error::Mismatch(reason));
        }
        // In place, so that cuDNN's single buffer of all weights stays one.
        no_grad(|| variable.f_copy_(&array.to_kind(Kind::Float)))?;
    }
    Ok(())
}

/// Takes the arrays whose names begin with `prefix`, which is cut off.
#[must_use]
pub fn under(prefix: &str, arrays: &Arrays) -> Arrays {
    let named = arrays.iter();
    named
        .filter_map(|(name, tensor)| {
            Some((
                name.strip_prefix(prefix)?.to_owned(),
                tensor.shallow_clone(),
            ))
        })
        .collect()
}
