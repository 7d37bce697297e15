//! The shape of the model.

use kato_neural::run::check_setting;
use serde::{Deserialize, Serialize};

use crate::error::MicrobesError;
use crate::metadata::Categorical;

/// Which sequences of a sample are read where it holds more than fit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Selection {
    /// The first in the table's order.
    First,
    /// The most abundant. The default.
    #[default]
    Abundant,
    /// Drawn anew in every epoch; each is as likely as any other.
    Random,
}

/// What makes a prediction of the row that stands for a sample.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum HeadKind {
    /// One linear layer. The default.
    #[default]
    Linear,
    /// Two, with a GELU between.
    Mlp,
    /// Two, with a GELU between, whose result is added to the row, and a third over the sum.
    Residual,
}

/// How categories of a sample are joined to the row that stands for it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Fusion {
    /// Row and categories side by side, through a linear layer. The default.
    #[default]
    Concat,
    /// Their sum.
    Add,
    /// The row, and as much of the categories' sum as a gate lets in.
    Gated,
    /// The row, and what it attends to among the categories.
    CrossAttention,
    /// The row, and the mean of four learned rows that attend to it and to the categories.
    Perceiver,
}

/// The shape of the model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct MicroformerOptions {
    /// Numbers of a row; 128 by default.
    pub width: usize,
    /// Heads of attention, among which the width is shared; 4 by default.
    pub heads: usize,
    /// Blocks of the stack over a sequence's nucleotides; 4 by default.
    pub nucleotide_layers: usize,
    /// Blocks of the stack over a sample's sequences; 4 by default.
    pub sample_layers: usize,
    /// Blocks of each stack that predicts: of the target, and of abundances where they are; 1 by default.
    pub target_layers: usize,
    /// Probability of dropout; 0.1 by default.
    pub dropout: f64,
    /// Sequences of a sample that are read at most; 1,024 by default.
    pub max_sequences: usize,
    /// Which they are where a sample holds more.
    pub selection: Selection,
    /// Whether a sequence's abundance is told to the model; it is by default. Unweighted distances do
    /// not depend on it, most targets do.
    pub abundance: bool,
    /// Sequences that go through the first stack at a time; 256 by default. It decides how much memory is taken.
    pub chunk: usize,
    /// What makes the prediction.
    pub head: HeadKind,
    /// Columns of metadata that are told beside the sequences, with the categories that are known; none by
    /// default.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub categorical: Vec<Categorical>,
    /// How they are joined to the row that stands for a sample.
    pub fusion: Fusion,
}

impl Default for MicroformerOptions {
    fn default() -> Self {
        Self {
            width: 128,
            heads: 4,
            nucleotide_layers: 4,
            sample_layers: 4,
            target_layers: 1,
            dropout: 0.1,
            max_sequences: 1024,
            selection: Selection::default(),
            abundance: true,
            chunk: 256,
            head: HeadKind::default(),
            categorical: Vec::new(),
            fusion: Fusion::default(),
        }
    }
}

impl MicroformerOptions {
    /// Checks the shape.
    ///
    /// # Errors
    ///
    /// When a size is out of its range, the heads do not share the width, or dropout is no share below
    /// 1.
    pub fn check(&self) -> Result<(), MicrobesError> {
        let layers = "from 1 to 64";
        for (name, size, most, expected) in [
            ("model.width", self.width, 8192, "from 1 to 8,192"),
            ("model.heads", self.heads, 256, "from 1 to 256"),
            (
                "model.nucleotide_layers",
                self.nucleotide_layers,
                64,
                layers,
            ),
            ("model.sample_layers", self.sample_layers, 64, layers),
            ("model.target_layers", self.target_layers, 64, layers),
            (
                "model.max_sequences",
                self.max_sequences,
                1 << 20,
                "from 1 to 1,048,576",
            ),
            ("model.chunk", self.chunk, 1 << 20, "from 1 to 1,048,576"),
        ] {
            check_setting((1..=most).contains(&size), name, &size, expected)?;
        }
        check_setting(
            self.width.is_multiple_of(self.heads),
            "model.heads",
            &self.heads,
            "a divisor of `model.width`",
        )?;
        for (at, column) in self.categorical.iter().enumerate() {
            check_setting(
                self.categorical[..at]
                    .iter()
                    .all(|other| other.name != column.name),
                "model.categorical",
                &column.name,
                "named once",
            )?;
        }
        check_setting(
            (0.0..1.0).contains(&self.dropout),
            "model.dropout",
            &self.dropout,
            "at least 0 and below 1",
        )?;
        Ok(())
    }
}
