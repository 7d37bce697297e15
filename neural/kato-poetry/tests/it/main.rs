//! What the crate promises, through its public items.

mod corpus;
mod items;
mod program;
mod reading;
mod support;
mod training;
mod vectors;
