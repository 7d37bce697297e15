//! The functions of `native/cuda.cpp`.

use std::ffi::{c_int, c_longlong, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr;

use super::{Status, check};
use crate::Error;

type Work = unsafe extern "C" fn(*mut c_void) -> bool;

unsafe extern "C" {
    fn kato_graph_new(device: c_int, captured: *mut *mut c_void) -> Status;
    fn kato_graph_free(captured: *mut c_void);
    fn kato_graph_warm_up(captured: *mut c_void, work: Work, closure: *mut c_void) -> Status;
    fn kato_graph_capture(captured: *mut c_void, work: Work, closure: *mut c_void) -> Status;
    fn kato_graph_replay(captured: *mut c_void) -> Status;
    fn kato_reset_peak(device: c_int) -> Status;
    fn kato_peak(device: c_int, bytes: *mut c_longlong) -> Status;
}

/// A CUDA graph and the stream on which it is captured.
#[derive(Debug)]
pub(crate) struct Captured(*mut c_void);

impl Captured {
    pub(crate) fn new(device: usize) -> Result<Self, Error> {
        let mut captured = ptr::null_mut();
        // SAFETY: `captured` is written where the status is null.
        let status = unsafe { kato_graph_new(device as c_int, &raw mut captured) };
        check(status, "cannot make a CUDA graph")?;
        Ok(Self(captured))
    }

    /// Does the work once on the graph's stream.
    pub(crate) fn warm_up(&mut self, work: impl FnMut()) -> Result<(), Error> {
        let what = "cannot run the step before its capture";
        self.with(work, what, kato_graph_warm_up)
    }

    /// Records what the work puts on the stream; none of it is run.
    pub(crate) fn capture(&mut self, work: impl FnMut()) -> Result<(), Error> {
        self.with(work, "cannot capture the step", kato_graph_capture)
    }

    /// Runs what was recorded.
    pub(crate) fn replay(&mut self) -> Result<(), Error> {
        // SAFETY: the pointer is of `kato_graph_new`, and nobody else uses it during the call.
        check(
            unsafe { kato_graph_replay(self.0) },
            "cannot replay the step",
        )
    }

    fn with<F: FnMut()>(
        &mut self,
        work: F,
        what: &'static str,
        function: unsafe extern "C" fn(*mut c_void, Work, *mut c_void) -> Status,
    ) -> Result<(), Error> {
        let mut call = Call { work, panic: None };
        // SAFETY: the graph is ours alone, and `call` outlives the function, which calls `run` with it
        // on this thread and keeps nothing of it.
        let status = unsafe { function(self.0, run::<F>, (&raw mut call).cast()) };
        if let Some(panic) = call.panic {
            // The status is freed first, and says less than the panic.
            drop(check(status, what));
            resume_unwind(panic);
        }
        check(status, what)
    }
}

impl Drop for Captured {
    fn drop(&mut self) {
        // SAFETY: the pointer is of `kato_graph_new`, and is not used afterwards.
        unsafe { kato_graph_free(self.0) }
    }
}

struct Call<F> {
    work: F,
    panic: Option<Box<dyn std::any::Any + Send>>,
}

unsafe extern "C" fn run<F: FnMut()>(call: *mut c_void) -> bool {
    // SAFETY: `Captured::with` passes a `Call<F>` that nobody else uses during the call.
    let call = unsafe { &mut *call.cast::<Call<F>>() };
    // Carried around C++, through which it must not pass.
    call.panic = catch_unwind(AssertUnwindSafe(&mut call.work)).err();
    call.panic.is_none()
}

/// Frees what is cached, and begins to count the peak anew.
pub(crate) fn reset_peak_memory(device: usize) -> Result<(), Error> {
    // SAFETY: it takes a value and no memory.
    let status = unsafe { kato_reset_peak(device as c_int) };
    check(status, "cannot reset the device's peak of memory")
}

/// Bytes of tensors at most since the last reset.
pub(crate) fn peak_memory(device: usize) -> Result<u64, Error> {
    let mut bytes = 0;
    // SAFETY: `bytes` outlives the call.
    let status = unsafe { kato_peak(device as c_int, &raw mut bytes) };
    check(status, "cannot read the device's peak of memory")?;
    Ok(bytes.unsigned_abs())
}
