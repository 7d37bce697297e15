//! Indexes on disk through the public interface: answers equal those of memory, and damage is never
//! believed.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests may fail by panic, as tests do"
)]

mod beside;
mod cancelling;
mod damage;
mod forgetting;
mod format;
mod large;
mod living_damage;
mod over_disk;
mod policy;
mod real_text;
mod support;
mod taken;
mod units;
mod work;
