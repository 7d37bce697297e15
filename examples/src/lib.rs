//! The workspace's examples.

pub mod corpus;
