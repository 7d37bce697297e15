#![doc = include_str!("../README.md")]

pub mod checkpoint;
pub mod collective;
pub mod layers;
#[cfg(feature = "program")]
pub mod program;
pub mod run;
pub mod train;

mod divided;
mod draws;
mod error;
mod fused;
mod initialize;
mod names;
mod optimizer;
mod parameters;
mod pass;

pub use burn;
pub use draws::Draws;
pub use error::{BoxError, Error};
pub use initialize::{Initializer, parameter};
pub use kato_kernels::AttentionForm;
pub use optimizer::{
    Adam, AdamOptions, AdamStep, AdamUpdate, Decay, GlobalNorm, Group, global_norm,
};
pub use pass::{Pass, Precision};
