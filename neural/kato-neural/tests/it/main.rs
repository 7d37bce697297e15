//! What the crate promises, one subject a module.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests fail as tests do"
)]

mod checkpoints;
mod collective;
mod cut;
mod fused;
mod layers;
mod model;
mod optimizer;
mod oracle;
mod recurrent;
mod replicas;
mod resume;
mod shards;
mod support;
mod torch;
mod training;
mod transformer;
