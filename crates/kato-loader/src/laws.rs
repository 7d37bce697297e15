//! The promises of the loader as laws, over corpora that are cut into blocks of some hundred bytes.

mod bad_records;
mod corpus;
mod mixing;
mod order;
mod resume;
mod sampling;
mod sharding;
