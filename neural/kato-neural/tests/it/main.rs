//! What the crate promises, one subject a module.

mod optimizer;
mod oracle;
mod recurrent;
