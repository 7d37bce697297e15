//! What training promises: the original's knowledge bases, and one result whatever the threads, sizes and interruptions.

mod edges;
mod endless;
mod faults;
mod golden;
mod interruptions;
mod laws;
mod refusals;
mod skipping;
mod support;
