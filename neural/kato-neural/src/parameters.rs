//! A model's weights as named arrays: out of the module, and into it.

use std::borrow::Cow;
use std::collections::BTreeMap;

use burn::module::{Module, ModuleMapper, ModuleVisitor, Param, ParamId};
use burn::tensor::{Tensor, TensorData};
use safetensors::{Dtype, View};

use crate::Error;
use crate::names::Names;

/// A tensor that is shared with a model until one of them changes.
#[derive(Debug, Clone)]
pub(crate) struct NamedTensor {
    pub(crate) name: String,
    /// As in the file.
    pub(crate) shape: Vec<usize>,
    /// Whether the file has rows for the module's columns.
    transposed: bool,
    values: Tensor<1>,
}

impl NamedTensor {
    pub(crate) fn flat(name: String, values: Tensor<1>) -> Self {
        Self {
            name,
            shape: values.shape().to_vec(),
            transposed: false,
            values,
        }
    }

    /// How many entries it has.
    pub(crate) fn n_entries(&self) -> usize {
        self.shape.iter().product()
    }

    /// The entries in the file's order.
    pub(crate) fn entries(&self) -> Vec<f32> {
        // Read only when its turn comes to be written: one tensor at a time is copied.
        let values = self.values.to_data();
        let values: Vec<f32> = values.iter::<f32>().collect();
        match self.shape[..] {
            [n_rows, n_columns] if self.transposed => transpose(&values, n_columns, n_rows),
            _ => values,
        }
    }
}

impl View for &NamedTensor {
    fn dtype(&self) -> Dtype {
        Dtype::F32
    }

    fn shape(&self) -> &[usize] {
        &self.shape
    }

    fn data(&self) -> Cow<'_, [u8]> {
        // Little-endian, as the format wants it; a machine of the other kind turns every number.
        let entries = self.entries();
        if cfg!(target_endian = "little") {
            return Cow::Owned(bytemuck::cast_slice(&entries).to_vec());
        }
        Cow::Owned(
            entries
                .iter()
                .flat_map(|entry| entry.to_le_bytes())
                .collect(),
        )
    }

    fn data_len(&self) -> usize {
        self.n_entries() * size_of::<f32>()
    }
}

/// Turns a matrix of `n_rows` rows.
fn transpose(values: &[f32], n_rows: usize, n_columns: usize) -> Vec<f32> {
    (0..values.len())
        .map(|at| values[(at % n_rows) * n_columns + at / n_rows])
        .collect()
}

/// Takes handles on all of a model's floats, running statistics included; copies nothing.
pub(crate) fn collect<M: Module>(model: &M) -> Vec<NamedTensor> {
    collect_some(model, &|_| true)
}

/// Takes handles on those with certain names.
pub(crate) fn collect_some<M: Module>(model: &M, which: &dyn Fn(&str) -> bool) -> Vec<NamedTensor> {
    let mut collector = Collector {
        names: Names::default(),
        which,
        tensors: Vec::new(),
    };
    // Burn hands over running statistics one step late, except where a model is made valid.
    model.valid().visit(&mut collector);
    collector.tensors
}

/// A parameter's name, id and shape.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) name: String,
    pub(crate) id: ParamId,
    /// As in the file.
    pub(crate) shape: Vec<usize>,
}

impl Place {
    /// How many entries it has.
    pub(crate) fn n_entries(&self) -> usize {
        self.shape.iter().product()
    }
}

/// Lists a model's floats, in the order of [`collect`].
pub(crate) fn places<M: Module>(model: &M) -> Vec<Place> {
    struct Lister(Names, Vec<Place>);
    impl ModuleVisitor for Lister {
        fn enter_module(&mut self, name: &str, container_type: &str) {
            self.0.enter(name, container_type);
        }

        fn exit_module(&mut self, _name: &str, _container_type: &str) {
            self.0.leave();
        }

        fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
            let name = self.0.current();
            self.1.push(Place {
                shape: name.shape(param.val().shape().to_vec()),
                name: name.text,
                id: param.id,
            });
        }
    }
    let mut lister = Lister(Names::default(), Vec::new());
    model.visit(&mut lister);
    lister.1
}

struct Collector<'a> {
    names: Names,
    which: &'a dyn Fn(&str) -> bool,
    tensors: Vec<NamedTensor>,
}

impl ModuleVisitor for Collector<'_> {
    fn enter_module(&mut self, name: &str, container_type: &str) {
        self.names.enter(name, container_type);
    }

    fn exit_module(&mut self, _name: &str, _container_type: &str) {
        self.names.leave();
    }

    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        let name = self.names.current();
        if !(self.which)(&name.text) {
            return;
        }
        let tensor = param.val().without_autodiff();
        // Only the shape is turned; numbers are turned where they are written, off the training
        // thread.
        let shape = name.shape(tensor.shape().to_vec());
        let n: usize = shape.iter().product();
        let values = tensor.reshape([n]);
        let (name, transposed) = (name.text, name.transposed);
        self.tensors.push(NamedTensor {
            name,
            shape,
            transposed,
            values,
        });
    }
}

/// Arrays by name, as they were read.
pub(crate) type Arrays = BTreeMap<String, (Vec<usize>, Vec<f32>)>;

/// Puts arrays into a model of the same names and shapes.
pub(crate) fn assign<M: Module>(model: M, arrays: Arrays) -> Result<M, Error> {
    Assigner::new(arrays, true).run(model)
}

/// Puts arrays into a model that has some more.
pub(crate) fn assign_some<M: Module>(model: M, arrays: Arrays) -> Result<M, Error> {
    Assigner::new(arrays, false).run(model)
}
struct Assigner {
    names: Names,
    arrays: Arrays,
    /// Whether every parameter has to be among them.
    is_whole: bool,
    problem: Option<String>,
}

impl Assigner {
    fn new(arrays: Arrays, is_whole: bool) -> Self {
        Self {
            names: Names::default(),
            arrays,
            is_whole,
            problem: None,
        }
    }

    fn run<M: Module>(self, model: M) -> Result<M, Error> {
        let mut assigner = self;
        let model = model.map(&mut assigner);
        // What is left over belongs to another model, even if all else fits.
        let left = assigner.arrays.into_keys().next();
        let problem = assigner
            .problem
            .or_else(|| Some(format!("the model has no {}", left?)));
        problem.map_or(Ok(model), |reason| Err(Error::Mismatch { reason }))
    }
}

impl ModuleMapper for Assigner {
    fn enter_module(&mut self, name: &str, container_type: &str) {
        self.names.enter(name, container_type);
    }

    fn exit_module(&mut self, _name: &str, _container_type: &str) {
        self.names.leave();
    }

    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        let name = self.names.current();
        let Some((mut shape, mut values)) = self.arrays.remove(&name.text) else {
            if self.is_whole {
                self.problem
                    .get_or_insert_with(|| format!("it has no {}", name.text));
            }
            return param;
        };
        if let ([n_rows, n_columns], true) = (&shape[..], name.transposed) {
            values = transpose(&values, *n_rows, *n_columns);
            shape.reverse();
        }
        // Kept: an optimiser of Burn's own finds its state by the parameter's id.
        let (id, tensor, mapper) = param.consume();
        if shape != tensor.shape().to_vec() {
            let expected = tensor.shape().to_vec();
            self.problem.get_or_insert_with(|| {
                format!(
                    "{} has shape {shape:?} there and {expected:?} in the model",
                    name.text
                )
            });
            return Param::from_mapped_value(id, tensor, mapper);
        }
        // Running statistics are not tracked, and have to stay so.
        let tracked = tensor.is_require_grad();
        let data = TensorData::new(values, shape);
        let tensor = Tensor::from_data(data, &tensor.device()).set_require_grad(tracked);
        Param::from_mapped_value(id, tensor, mapper)
    }
}
