//! What the crate promises, one subject a module.

mod checkpoints;
mod fused;
mod model;
mod optimizer;
mod oracle;
mod recurrent;
mod resume;
mod support;
mod training;
