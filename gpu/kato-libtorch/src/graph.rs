//! A step's forward and backward pass as one CUDA graph: launched at once, and not operation by
//! operation.

use tch::{Device, Tensor};

use crate::Error;
#[cfg(cuda_headers)]
use crate::native;

#[cfg(cuda_headers)]
/// Steps before the capture, in which LibTorch makes its buffers and cuDNN its plans.
const N_WARM_UP: usize = 3;

/// A forward and backward pass that was recorded, with the loss that it writes.
///
/// The pass reads its batch and its draws from the tensors that it had when it was recorded: copy new
/// numbers into them. Clipping and the optimiser stay outside, and find gradients where the graph
/// leaves them.
#[derive(Debug)]
pub struct StepGraph {
    #[cfg(cuda_headers)]
    captured: native::Captured,
    loss: Tensor,
}

impl StepGraph {
    /// Records `forward`, which returns the loss, and the backward pass of its loss.
    ///
    /// `forward` is run four times; weights are not changed by it. Shapes, and whatever it decides on
    /// the host, are fixed from then on.
    ///
    /// # Errors
    ///
    /// [`Error::NoCuda`] on another device than a CUDA one, [`Error::NoGraphs`] where the program was
    /// built without CUDA's headers, and what LibTorch refuses to record: a step that waits for the
    /// device, such as one that reads a number back.
    pub fn capture(
        device: Device,
        parameters: &[Tensor],
        forward: impl FnMut() -> Tensor,
    ) -> Result<Self, Error> {
        let Device::Cuda(index) = device else {
            return Err(Error::NoCuda("a step is captured on a CUDA device only"));
        };
        if !tch::Cuda::is_available() {
            return Err(Error::NoCuda("run without graphs, or with `--device cpu`"));
        }
        Self::record(index, parameters, forward)
    }

    #[cfg(cuda_headers)]
    fn record(
        index: usize,
        parameters: &[Tensor],
        mut forward: impl FnMut() -> Tensor,
    ) -> Result<Self, Error> {
        let mut captured = native::Captured::new(index)?;
        for _ in 0..N_WARM_UP {
            native::clear_gradients(parameters)?;
            captured.warm_up(|| forward().backward())?;
        }
        // Gradients that are absent are made inside the graph, at places that stay the same.
        native::clear_gradients(parameters)?;
        let mut loss = None;
        captured.capture(|| {
            let value = forward();
            value.backward();
            loss = Some(value.detach());
        })?;
        let loss = loss.expect("the work was done, or an error returned");
        Ok(Self { captured, loss })
    }

    #[cfg(not(cuda_headers))]
    fn record(_: usize, _: &[Tensor], _: impl FnMut() -> Tensor) -> Result<Self, Error> {
        Err(Error::NoGraphs)
    }

    /// Computes loss and gradients of what the recorded tensors hold now; returns the loss, which the
    /// next call overwrites.
    ///
    /// # Errors
    ///
    /// What LibTorch refuses.
    pub fn replay(&mut self) -> Result<&Tensor, Error> {
        #[cfg(cuda_headers)]
        self.captured.replay()?;
        Ok(&self.loss)
    }
}
