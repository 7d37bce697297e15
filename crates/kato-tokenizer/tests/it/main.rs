//! The crate through its public API.

#[cfg(feature = "huggingface")]
mod agreement;
#[cfg(feature = "huggingface")]
mod definition;
#[cfg(feature = "huggingface")]
mod files;
mod gpt2;
#[cfg(not(feature = "huggingface"))]
mod no_files;
mod oracle;
#[cfg(feature = "huggingface")]
mod recorded;
mod text;
