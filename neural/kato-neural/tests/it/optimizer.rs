//! Adam against its formulas in `f64`, and its two forms against each other.

use kato_neural::burn;
use kato_neural::burn::module::{Module, Param};
use kato_neural::burn::optim::{GradientsParams, ModuleOptimizer};
use kato_neural::burn::tensor::{Device, Tensor, TensorData};
use kato_neural::{Adam, AdamOptions, AdamUpdate, Decay, Group, Initializer, parameter};

use crate::recurrent::{gap, numbers};

/// Two tensors, so that the norm is over more than one.
#[derive(Module, Debug)]
struct Model {
    weight: Param<Tensor<2>>,
    bias: Param<Tensor<1>>,
}

impl Model {
    fn new(device: &Device) -> Self {
        let mut initializer = Initializer::from_seed(1);
        Self {
            weight: parameter(initializer.uniform(6, 1.0), [2, 3], device),
            bias: parameter(initializer.uniform(3, 1.0), [3], device),
        }
    }

    /// A loss whose gradient is the given numbers.
    fn gradients(&self, of_weight: &[f32], of_bias: &[f32]) -> GradientsParams {
        let device = self.weight.val().device();
        let factor = Tensor::<2>::from_data(TensorData::new(of_weight.to_vec(), [2, 3]), &device);
        let other = Tensor::<1>::from_data(TensorData::new(of_bias.to_vec(), [3]), &device);
        let loss = (self.weight.val() * factor).sum() + (self.bias.val() * other).sum();
        GradientsParams::from_grads(loss.backward(), self)
    }

    fn weights(&self) -> Vec<f64> {
        [numbers(&self.weight.val()), numbers(&self.bias.val())].concat()
    }
}

/// Gradients of a step, as fixed as they are arbitrary.
fn gradient(step: u64) -> Vec<f32> {
    Initializer::from_seed(100 + step).normal(9, 0.7)
}

/// Adam in `f64`, as PyTorch's documentation writes it.
fn oracle(
    options: &AdamOptions,
    rate: f64,
    n_steps: u64,
    start: &[f64],
    decays: impl Fn(usize) -> Decay,
) -> Vec<f64> {
    let mut weights = start.to_vec();
    let (mut first, mut second) = (vec![0.0; 9], vec![0.0; 9]);
    for step in 0..n_steps {
        let mut gradient: Vec<f64> = gradient(step).into_iter().map(f64::from).collect();
        let norm = gradient
            .iter()
            .map(|entry| entry * entry)
            .sum::<f64>()
            .sqrt();
        if let Some(max_norm) = options.max_norm {
            let factor = (max_norm / (norm + 1e-6)).min(1.0);
            gradient.iter_mut().for_each(|entry| *entry *= factor);
        }
        let time = (step + 1) as f64;
        for at in 0..9 {
            let mut entry = gradient[at];
            match decays(at) {
                Decay::L2(factor) => entry += factor * weights[at],
                Decay::Decoupled(factor) => weights[at] *= 1.0 - rate * factor,
                _ => {}
            }
            first[at] = options.beta_1 * first[at] + (1.0 - options.beta_1) * entry;
            second[at] = options.beta_2 * second[at] + (1.0 - options.beta_2) * entry * entry;
            let mean = first[at] / (1.0 - options.beta_1.powf(time));
            let square = second[at] / (1.0 - options.beta_2.powf(time));
            weights[at] -= rate * mean / (square.sqrt() + options.epsilon);
        }
    }
    weights
}

fn train(options: &AdamOptions, rate: f64, n_steps: u64, model: Model) -> Model {
    let mut adam = Adam::new(options.clone());
    (0..n_steps).fold(model, |model, step| {
        let gradient = gradient(step);
        let gradients = model.gradients(&gradient[..6], &gradient[6..]);
        adam.step(rate, model, gradients, 1.0).0
    })
}

#[test]
fn fifty_steps_follow_the_formulas() {
    let device = Device::flex().autodiff();
    for decay in [Decay::None, Decay::L2(0.1), Decay::Decoupled(0.1)] {
        for max_norm in [None, Some(1.0)] {
            let mut options = AdamOptions::default().with_decay(decay);
            options.max_norm = max_norm;
            let model = Model::new(&device);
            let expected = oracle(&options, 0.05, 50, &model.weights(), |_| decay);
            let found = train(&options, 0.05, 50, model).weights();
            assert!(gap(&found, &expected) < 2e-6, "{decay:?} {max_norm:?}");
        }
    }
}

#[test]
fn the_first_step_is_the_rate_against_the_gradients_sign() {
    let device = Device::flex().autodiff();
    let model = Model::new(&device);
    let before = model.weights();
    let after = train(&AdamOptions::default(), 1e-2, 1, model).weights();
    for (at, sign) in gradient(0)
        .into_iter()
        .map(|entry| f64::from(entry.signum()))
        .enumerate()
    {
        assert!((after[at] - (before[at] - 1e-2 * sign)).abs() < 1e-6);
    }
}

#[test]
fn groups_hold_by_name_and_the_last_one_wins() {
    let device = Device::flex().autodiff();
    let options = AdamOptions::default()
        .with_decay(Decay::Decoupled(0.5))
        .with_group(Group::without_decay("*"))
        .with_group(Group::without_decay("weight").with_decay(Decay::Decoupled(0.5)));
    let model = Model::new(&device);
    let decays = |at: usize| {
        if at < 6 {
            Decay::Decoupled(0.5)
        } else {
            Decay::None
        }
    };
    let expected = oracle(&options, 0.05, 20, &model.weights(), decays);
    let found = train(&options, 0.05, 20, model).weights();
    assert!(gap(&found, &expected) < 2e-6);
}

#[test]
fn a_gradient_that_is_not_finite_changes_nothing_and_is_named() {
    let device = Device::flex().autodiff();
    let mut adam = Adam::new(AdamOptions::default());
    for bad in [f32::NAN, f32::INFINITY] {
        let model = Model::new(&device);
        let before = model.weights();
        let gradients = model.gradients(&[0.0; 6], &[1.0, bad, 1.0]);
        let (model, step) = adam.step(0.1, model, gradients, 1.0);
        assert!(!step.applied);
        assert_eq!(step.not_finite.as_deref(), Some("bias"));
        assert_eq!(model.weights(), before);
        assert_eq!(adam.n_steps(), 0);
    }
}

#[test]
fn the_norm_is_over_all_parameters_and_scales_with_the_loss() {
    let device = Device::flex().autodiff();
    let mut adam = Adam::new(AdamOptions::default().with_max_norm(1.0));
    let model = Model::new(&device);
    let gradients = model.gradients(&[3.0, 0.0, 0.0, 0.0, 0.0, 0.0], &[0.0, 4.0, 0.0]);
    let (model, step) = adam.step(0.0, model, gradients, 1.0);
    assert!((step.norm - 5.0).abs() < 1e-6 && step.clipped);
    // A loss that was scaled up by 8 is taken back before the clip.
    let gradients = model.gradients(&[2.4, 0.0, 0.0, 0.0, 0.0, 0.0], &[0.0, 3.2, 0.0]);
    let (_, step) = adam.step(0.0, model, gradients, 0.125);
    assert!((step.norm - 0.5).abs() < 1e-6 && !step.clipped);
}

#[test]
fn as_an_optimiser_of_burns_it_does_the_same() {
    let device = Device::flex().autodiff();
    let options = AdamOptions::default().with_decay(Decay::Decoupled(0.1));
    let start = Model::new(&device);
    let expected = train(&options, 0.05, 10, start.clone()).weights();
    let mut optimizer = ModuleOptimizer::from(AdamUpdate::new(options));
    let found = (0..10).fold(start, |model, step| {
        let gradient = gradient(step);
        let gradients = model.gradients(&gradient[..6], &gradient[6..]);
        optimizer.step(0.05, model, gradients)
    });
    assert_eq!(found.weights(), expected);
}
