//! The service through its public interface.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests may fail by panic, as tests do"
)]

mod backups;
mod batches;
mod bounds;
mod crashes;
mod damage;
mod descriptors;
mod durability;
mod faults;
mod genes;
mod indexes;
mod keys;
mod kills;
mod losses;
mod next;
mod nodes;
mod patterns;
mod releases;
mod runs;
mod scripts;
mod sessions;
mod support;
