//! Tests of both models and of the program, on the processor.

use std::sync::{Mutex, MutexGuard, PoisonError};

mod autoencoder;
mod microbes;
mod program;

/// Keeps tests that draw from LibTorch's one generator from each other.
fn alone() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    // A test that failed leaves nothing behind that another one needs.
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}
