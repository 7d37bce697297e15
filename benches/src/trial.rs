//! How much work a suite has: all of it when it measures, little when it is only tried.

/// Share of a size that a trial has.
const TRIAL_SHARE: u64 = 200;

/// Returns a size, or a two-hundredth of it where the suite runs once without measuring: by `--test`, or by
/// `cargo test`, which does not say `--bench`.
#[must_use]
pub fn sized(n: u64) -> u64 {
    let has = |flag| std::env::args().any(|argument| argument == flag);
    if has("--bench") && !has("--test") {
        n
    } else {
        n.div_ceil(TRIAL_SHARE)
    }
}
