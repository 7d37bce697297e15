//! The target `journal` without a fuzzer, in a process of its own.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "helpers of tests may fail by panic and say where, as tests do"
)]

#[path = "support/check.rs"]
mod check;

#[test]
fn journal() {
    check::check("journal", kato_fuzz::journal, 60);
}
