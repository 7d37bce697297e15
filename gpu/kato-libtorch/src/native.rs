//! The C++ functions of `native/`, and all `unsafe` code of this crate.

#![expect(unsafe_code, reason = "these functions are C++")]

use std::ffi::{CStr, c_char, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;

use tch::{Device, Tensor};

use crate::Error;

#[cfg(cuda_headers)]
mod cuda;
#[cfg(cuda_headers)]
pub(crate) use cuda::{Captured, peak_memory, reset_peak_memory};

/// A handle of LibTorch's, `at::Tensor *`.
type Handle = *mut c_void;
type Status = *mut c_char;
type Run = unsafe extern "C" fn(*mut c_void, *const c_void) -> Handle;
type Drop = unsafe extern "C" fn(*mut c_void);

unsafe extern "C" {
    fn kato_free(text: *mut c_char);
    fn kato_clear_gradients(parameters: *const Handle, n: usize) -> Status;
    fn kato_clip(parameters: *const Handle, n: usize, max_norm: f64, norm: *mut Handle) -> Status;
    fn kato_adam(
        parameters: *const Handle,
        first: *const Handle,
        second: *const Handle,
        steps: *const Handle,
        n: usize,
        rates: *const f64,
        decoupled: bool,
    ) -> Status;
    fn kato_autocast_enter(cuda: bool, before: *mut bool) -> Status;
    fn kato_autocast_leave(cuda: bool, before: bool) -> Status;
    fn kato_recompute(
        input: *const c_void,
        block: *mut c_void,
        run: Run,
        drop: Drop,
        draws: bool,
        output: *mut Handle,
    ) -> Status;
    fn kato_allow_tf32(recurrent: bool, products: bool) -> Status;
}

/// Turns what a function returned into a result; `what` says what was asked for.
fn check(status: Status, what: &'static str) -> Result<(), Error> {
    if status.is_null() {
        return Ok(());
    }
    // SAFETY: a status that is not null is a text made by `strdup`, which is ours to free, once.
    let reason = unsafe {
        let reason = CStr::from_ptr(status).to_string_lossy().into_owned();
        kato_free(status);
        reason
    };
    // LibTorch adds its stack below the first line, which tells a user nothing.
    let reason = reason.lines().next().unwrap_or_default().to_owned();
    Err(Error::Native { what, reason })
}

fn handles(tensors: &[Tensor]) -> Vec<Handle> {
    let handles = tensors.iter();
    handles
        .map(|tensor| tensor.as_ptr().cast_mut().cast())
        .collect()
}

/// Makes a tensor of a handle that C++ gave away.
fn owned(handle: Handle) -> Tensor {
    // SAFETY: called with handles made by `new at::Tensor` only, which nobody else frees.
    unsafe { Tensor::from_ptr(handle.cast()) }
}

/// Makes gradients absent, so that the next backward pass stores instead of adding.
pub(crate) fn clear_gradients(parameters: &[Tensor]) -> Result<(), Error> {
    let parameters = handles(parameters);
    // SAFETY: the handles are of tensors that are borrowed for the call.
    let status = unsafe { kato_clear_gradients(parameters.as_ptr(), parameters.len()) };
    check(status, "cannot clear gradients")
}

/// Scales gradients to a norm of at most `max_norm` together; returns the norm before.
pub(crate) fn clip(parameters: &[Tensor], max_norm: f64) -> Result<Tensor, Error> {
    let parameters = handles(parameters);
    let mut norm = ptr::null_mut();
    // SAFETY: the handles are of tensors that are borrowed for the call, and `norm` is written where
    // the status is null.
    let status = unsafe {
        kato_clip(
            parameters.as_ptr(),
            parameters.len(),
            max_norm,
            &raw mut norm,
        )
    };
    check(status, "cannot clip gradients")?;
    Ok(owned(norm))
}

/// Moves parameters by one step of Adam. `rates` are rate, β₁, β₂, decay and ε.
pub(crate) fn adam(
    parameters: &[Tensor],
    [first, second, steps]: [&[Tensor]; 3],
    rates: [f64; 5],
    decoupled: bool,
) -> Result<(), Error> {
    let n = parameters.len();
    assert!([first, second, steps].iter().all(|list| list.len() == n));
    let lists = [parameters, first, second, steps].map(handles);
    let [parameters, first, second, steps] = lists.each_ref().map(Vec::as_ptr);
    // SAFETY: each of the four lists has `n` handles of tensors that are borrowed for the call; the
    // five rates outlive it.
    let status = unsafe {
        kato_adam(
            parameters,
            first,
            second,
            steps,
            n,
            rates.as_ptr(),
            decoupled,
        )
    };
    check(status, "cannot move the weights")
}

/// Lets cuDNN's recurrent nets, and matrix products, round factors to TF32.
pub(crate) fn allow_tf32(recurrent: bool, products: bool) -> Result<(), Error> {
    // SAFETY: it takes two values and no memory.
    check(
        unsafe { kato_allow_tf32(recurrent, products) },
        "cannot set TF32",
    )
}

/// Products in bf16 until it is dropped, as PyTorch's `autocast` chooses them.
#[derive(Debug)]
pub(crate) struct Autocast {
    cuda: bool,
    before: bool,
}

impl Autocast {
    /// Begins a scope of this thread.
    pub(crate) fn enter(device: Device) -> Result<Self, Error> {
        let (cuda, mut before) = (device.is_cuda(), false);
        // SAFETY: `before` outlives the call.
        let status = unsafe { kato_autocast_enter(cuda, &raw mut before) };
        check(status, "cannot begin autocast")?;
        Ok(Self { cuda, before })
    }
}

impl std::ops::Drop for Autocast {
    fn drop(&mut self) {
        // SAFETY: it takes two values and no memory; the scope was begun by this thread, since the type
        // is never handed to another.
        let status = unsafe { kato_autocast_leave(self.cuda, self.before) };
        // Nothing can be done about it here, and it only ends a mode.
        drop(check(status, "cannot end autocast"));
    }
}

/// A block of a model, which may be run again by the thread that computes gradients.
type Block = Box<dyn Fn(&Tensor) -> Tensor + Send>;

/// Runs a block without keeping its graph; the backward pass runs it again. `draws` says that it uses
/// random numbers, which are then the same.
pub(crate) fn recompute(input: &Tensor, block: Block, draws: bool) -> Result<Tensor, Error> {
    // Boxed twice: a pointer to a trait object is two words, and C++ has room for one.
    let block = Box::into_raw(Box::new(block)).cast::<c_void>();
    let mut output = ptr::null_mut();
    // SAFETY: the input is borrowed for the call. `block` is given away: C++ hands it to `drop_block`
    // once, when the last reference is gone, and to `run_block` before that alone, one call at a time,
    // since a node of a graph is run once. `output` is written where the status is null.
    let status = unsafe {
        kato_recompute(
            input.as_ptr().cast(),
            block,
            run_block,
            drop_block,
            draws,
            &raw mut output,
        )
    };
    check(status, "cannot run a block that is computed again")?;
    Ok(owned(output))
}

unsafe extern "C" fn run_block(block: *mut c_void, input: *const c_void) -> Handle {
    // SAFETY: `recompute` made the pointer of a `Box<Block>`, which `drop_block` has not yet freed.
    let block = unsafe { &*block.cast::<Block>() };
    // SAFETY: C++ passes an `at::Tensor` that lives during the call; the clone is a reference of its own.
    let input = unsafe { Tensor::clone_from_ptr(input.cast_mut().cast()) };
    // A panic must not pass through C++; the null is an exception there.
    let output = catch_unwind(AssertUnwindSafe(|| block(&input)));
    output.map_or(ptr::null_mut(), |mut output| {
        let handle = output.as_mut_ptr().cast();
        // C++ moves out of it and frees it.
        std::mem::forget(output);
        handle
    })
}

unsafe extern "C" fn drop_block(block: *mut c_void) {
    // SAFETY: `recompute` made the pointer by `into_raw` of this type, and C++ calls this once.
    drop(unsafe { Box::from_raw(block.cast::<Block>()) });
}
