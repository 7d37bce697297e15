#![doc = include_str!("../../README.md")]

mod error;
mod memory;
mod native;
mod optimizer;
mod parameters;

pub mod autoencoder;
pub mod graph;
pub mod microbes;
pub mod program;

pub use error::Error;
pub use memory::{peak, reset_peak};
pub use optimizer::{Adam, AdamOptions, Decay};
pub use parameters::{Arrays, assign, gradients, read_arrays, under, weights, write_arrays};
pub use tch;
