#![doc = include_str!("../README.md")]

mod npy;
mod number;
mod whole;

pub use npy::{parse_array, parse_floats, write_array};
pub use number::Number;
pub use whole::write_whole;
