//! What holds for an analysis as a whole, on machines where things are missing, slow or broken.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "helpers of tests may fail by panic and say what they skip, as tests do"
)]

mod budget;
mod directories;
#[cfg(feature = "kato")]
mod kato;
#[cfg(feature = "mongodb")]
mod mongodb;
mod support;
mod tools;
