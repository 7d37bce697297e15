//! Evaluations from outside: answers known by hand, a naive reimplementation, laws, refusals, real
//! text; and what a hierarchy holds, in numbers.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests may fail by panic, as tests do"
)]

mod analysis;
mod by_hand;
mod heads;
mod laws;
mod real_text;
mod refusals;
mod support;
