//! Says what attention is given, and where its gradients go.

use crate::error::{Error, check};

/// Queries, keys and values of a batch.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct AttentionInput<'a> {
    /// Queries, `[batch, n_queries, heads · width]`.
    pub queries: &'a [f32],
    /// Queries of a sequence.
    pub n_queries: usize,
    /// Keys, `[batch, n_keys, heads · width]`.
    pub keys: &'a [f32],
    /// Keys of a sequence.
    pub n_keys: usize,
    /// Values, shaped as the keys.
    pub values: &'a [f32],
    /// Number of sequences.
    pub batch: usize,
    /// Keys that count, `[batch, n_keys]`; all where there is none.
    pub mask: Option<&'a [bool]>,
}

impl<'a> AttentionInput<'a> {
    /// Begins without a mask; queries and keys with their number in a sequence.
    #[must_use]
    pub const fn new(
        (queries, n_queries): (&'a [f32], usize),
        (keys, n_keys): (&'a [f32], usize),
        values: &'a [f32],
        batch: usize,
    ) -> Self {
        Self {
            queries,
            n_queries,
            keys,
            n_keys,
            values,
            batch,
            mask: None,
        }
    }

    /// Sets the keys that count.
    #[must_use]
    pub const fn with_mask(mut self, mask: &'a [bool]) -> Self {
        self.mask = Some(mask);
        self
    }
}

/// Where gradients of an [`AttentionInput`] go; what was there is overwritten.
#[derive(Debug)]
pub struct AttentionGradients<'a> {
    /// Of the queries.
    pub queries: &'a mut [f32],
    /// Of the keys.
    pub keys: &'a mut [f32],
    /// Of the values.
    pub values: &'a mut [f32],
}

impl AttentionGradients<'_> {
    /// Checks that they have the shapes of what they are gradients of.
    pub(super) fn check(&self, input: &AttentionInput<'_>) -> Result<(), Error> {
        check(
            "d_queries",
            "as the queries",
            self.queries.len(),
            input.queries.len(),
        )?;
        check("d_keys", "as the keys", self.keys.len(), input.keys.len())?;
        check(
            "d_values",
            "as the values",
            self.values.len(),
            input.values.len(),
        )
    }
}
