//! What the crate promises, through its public items.

mod corpus;
mod reading;
mod support;
mod vectors;
