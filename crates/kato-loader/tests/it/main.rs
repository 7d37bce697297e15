//! The loader through its public face.

mod bad_records;
mod corpus;
mod formats;
mod hostile;
mod identity;
mod inputs;
mod resume;
mod support;
