//! The embedded store's settings.

use kato_model::AttributeLimits;

/// The embedded store's settings.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct EmbeddedOptions {
    /// Segments above which a commit merges the smaller ones. More make commits cheaper and look-ups dearer: a
    /// look-up asks every segment. Default 64, at least 2.
    pub max_segments: usize,
    /// Patterns of one node above which a segment is left alone. Merging takes four bytes of memory for each.
    /// Default 24 million.
    pub max_segment_patterns: u64,
    /// How much of a pattern's attributes is kept; counts when a knowledge base is created, ignored afterwards.
    pub attribute_limits: AttributeLimits,
}

impl Default for EmbeddedOptions {
    fn default() -> Self {
        Self {
            max_segments: 64,
            max_segment_patterns: 24_000_000,
            attribute_limits: AttributeLimits::default(),
        }
    }
}
