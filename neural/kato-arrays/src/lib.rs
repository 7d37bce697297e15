#![doc = include_str!("../README.md")]

mod npy;
mod number;
mod whole;

pub use npy::{parse_array, parse_floats, write_array};
pub use number::ArrayNumber;
pub use whole::{temporary, write_whole};
