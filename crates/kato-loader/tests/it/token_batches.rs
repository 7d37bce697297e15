//! Token batches: what is in them, where they can be interrupted, and what goes wrong in its place.

mod faults;
mod resume;
mod shape;
mod support;
mod threads;
