//! The learner through its public API.

mod golden_training;
mod laws;
