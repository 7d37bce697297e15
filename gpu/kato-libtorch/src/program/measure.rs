//! Times steps on a device that works behind the host's back.

use std::time::Instant;

use tch::{Cuda, Device, Tensor};

use crate::{Error, memory};

/// Steps before anything is timed: buffers, plans and kernels are made in them.
const N_WARM_UP: usize = 4;
/// Steps from which the number of timed ones is estimated.
const N_ESTIMATE: usize = 3;

/// What was measured of a configuration.
#[derive(Debug, serde::Serialize)]
pub(super) struct Timing {
    /// Milliseconds of a step.
    step_ms: f64,
    /// How many steps were timed.
    n_steps: usize,
    /// Bytes of tensors at most on a GPU, or resident in the process.
    peak_bytes: Option<u64>,
    first_loss: f64,
    last_loss: f64,
}

impl Timing {
    /// Computes how many items a second, of `n` a step.
    pub(super) fn per_second(&self, n: i64) -> f64 {
        n as f64 * 1e3 / self.step_ms
    }
}

/// Waits until the device has done all that it was given.
fn wait(device: Device) {
    if let Device::Cuda(index) = device {
        Cuda::synchronize(index as i64);
    }
}

/// Begins a configuration: memory is counted, and random numbers are drawn, as for the first one.
pub(super) fn begin(device: Device) -> Result<(), Error> {
    tch::manual_seed(1);
    memory::reset_peak(device)
}

/// Runs a step, which returns its loss, for about so many seconds.
pub(super) fn time(
    device: Device,
    seconds: f64,
    mut step: impl FnMut() -> Result<Tensor, Error>,
) -> Result<Timing, Error> {
    let first_loss = step()?.double_value(&[]);
    for _ in 1..N_WARM_UP {
        // Only its work is wanted.
        drop(step()?);
    }
    wait(device);
    let mut run = |n: usize| {
        let begin = Instant::now();
        let mut loss = None;
        for _ in 0..n {
            loss = Some(step()?);
        }
        wait(device);
        let elapsed = begin.elapsed().as_secs_f64();
        Ok::<_, Error>((
            elapsed,
            loss.map_or(f64::NAN, |loss| loss.double_value(&[])),
        ))
    };
    let (estimate, _) = run(N_ESTIMATE)?;
    let n_steps = (seconds * N_ESTIMATE as f64 / estimate).ceil() as usize;
    let n_steps = n_steps.clamp(1, 100_000);
    let (elapsed, last_loss) = run(n_steps)?;
    Ok(Timing {
        step_ms: elapsed * 1e3 / n_steps as f64,
        n_steps,
        peak_bytes: memory::peak(device)?,
        first_loss,
        last_loss,
    })
}
