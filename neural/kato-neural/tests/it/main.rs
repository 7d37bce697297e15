//! What the crate promises, one subject a module.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests fail as tests do"
)]

mod checkpoints;
mod fused;
mod layers;
mod model;
mod optimizer;
mod oracle;
mod recurrent;
mod resume;
mod support;
mod training;
mod transformer;
