//! Tests of what a user sees, by subject.

mod cache;
mod course;
mod data;
mod fusion;
mod learning;
mod prediction;
mod processes;
mod program;
mod support;
mod synth;
