//! Measurements of what the machine can do.

pub(crate) mod block_file;
pub(crate) mod blocks;
pub(crate) mod cores;
pub(crate) mod decoding;
pub(crate) mod disk;
#[cfg(test)]
mod fio;
pub(crate) mod kato;
pub(crate) mod loopback;
pub(crate) mod memory;
pub(crate) mod mongodb;
pub(crate) mod naming;
pub(crate) mod random;
pub(crate) mod room;
pub(crate) mod store;
pub(crate) mod text;
pub(crate) mod tokenizing;
