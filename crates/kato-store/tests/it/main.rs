//! The stores through their public interface.

mod conformance;
mod durability;
mod exchange;
mod golden;
mod random;
mod support;
