//! Searches for a batch size and a learning rate by trials that the caller makes.
//!
//! A trial is a closure: it may train in this process, in another one, or on a device. Nothing
//! here measures memory or time.

mod batch_size;
mod rate;

pub use batch_size::{BatchSizeFound, BatchSizeSettings, MemoryUse, SizeTrial, find_batch_size};
pub use rate::{RangeEnd, RangePoint, RangeTest, RangeTestSettings, test_rates};
