//! Recommendations, times from recorded runs, and successive halving.

mod halving;
mod recommending;
mod recorded;
