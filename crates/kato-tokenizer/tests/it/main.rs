//! The crate through its public API.

mod files;
mod gpt2;
mod oracle;
mod text;
