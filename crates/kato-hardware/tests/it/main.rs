//! What holds for an analysis as a whole, on machines where things are missing, slow or broken.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests may fail by panic, as tests do"
)]

mod budget;
mod directories;
#[cfg(feature = "kato")]
mod kato;
#[cfg(feature = "mongodb")]
mod mongodb;
mod support;
mod tools;
