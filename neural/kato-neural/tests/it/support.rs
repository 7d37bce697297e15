//! What several subjects need.

use kato_neural::BoxError;
use kato_neural::burn::module::{Module, ModuleVisitor, Param};
use kato_neural::burn::tensor::{Device, Tensor};
use kato_neural::train::{FitEvent, Observer, Task, Trainer};

pub(crate) fn device() -> Device {
    Device::flex().autodiff()
}

/// All floats of a model, running statistics included, in order.
pub(crate) fn weights<M: Module>(model: &M) -> Vec<f32> {
    struct Collector(Vec<f32>);
    impl ModuleVisitor for Collector {
        fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
            self.0
                .extend(param.val().into_data().try_into_vec::<f32>().expect("f32"));
        }
    }
    let mut collector = Collector(Vec::new());
    model.valid().visit(&mut collector);
    collector.0
}

/// Watches without a word.
pub(crate) struct Nobody;

impl<T: Task> Observer<T> for Nobody {
    fn on_event(&mut self, _: FitEvent<'_>) -> bool {
        true
    }

    fn judge(&mut self, _: &Trainer<T>, _: u64) -> Result<Option<f64>, BoxError> {
        Ok(None)
    }
}
