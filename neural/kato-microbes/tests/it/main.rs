//! Tests of what a user sees, by subject.

mod cache;
mod data;
mod learning;
mod prediction;
mod program;
mod support;
mod synth;
