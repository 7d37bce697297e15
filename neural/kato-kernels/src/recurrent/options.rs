//! Says what a recurrent net is made of, and what state it begins with.

use crate::error::{Error, check};
use crate::instructions::Instructions;
use crate::precision::Precision;

/// Kind of a recurrent cell, with the formulas and the order of gates of PyTorch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Cell {
    /// `h' = tanh(W x + b + U h + c)`.
    Tanh,
    /// Gated recurrent unit; rows of the weights in the order r, z, n.
    Gru,
    /// Long short-term memory; rows of the weights in the order i, f, g, o.
    Lstm,
}

impl Cell {
    /// Returns how many gates the weights have: rows of a weight by the number of hidden units.
    #[must_use]
    pub const fn n_gates(self) -> usize {
        match self {
            Self::Tanh => 1,
            Self::Gru => 3,
            Self::Lstm => 4,
        }
    }

    /// Returns whether the cell has a state of its own beside the hidden one.
    #[must_use]
    pub const fn has_cell_state(self) -> bool {
        matches!(self, Self::Lstm)
    }

    /// Blocks of `n_hidden` values a row of gates on the tape has. A GRU's are n of the input, r,
    /// z, n of the state: inputs write the first three, states the last three.
    pub(super) const fn n_blocks(self) -> usize {
        match self {
            Self::Tanh => 1,
            Self::Gru | Self::Lstm => 4,
        }
    }

    /// Block at which those begin that states write; those of inputs begin at 0. Each are as many
    /// as gates.
    pub(super) const fn first_state_block(self) -> usize {
        self.n_blocks() - self.n_gates()
    }

    /// Blocks of inputs as runs of gates of the weights: first block, first gate, how many.
    pub(super) const fn input_runs(self) -> &'static [(usize, usize, usize)] {
        match self {
            Self::Tanh => &[(0, 0, 1)],
            Self::Gru => &[(0, 2, 1), (1, 0, 2)],
            Self::Lstm => &[(0, 0, 4)],
        }
    }

    /// Gate of the weights of inputs that the block `block` belongs to.
    pub(super) const fn input_gate(self, block: usize) -> usize {
        match self {
            // On the tape the new gate comes first, in PyTorch's weights last.
            Self::Gru => (block + 2) % 3,
            Self::Tanh | Self::Lstm => block,
        }
    }
}

/// What a pass is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PassKind {
    /// Forward and backward: weights are packed in both directions.
    Training,
    /// Forward only.
    Inference,
}

/// What a recurrent net is made of.
///
/// ```
/// use kato_kernels::{Cell, Precision, RecurrentStackOptions};
///
/// let options = RecurrentStackOptions::new(Cell::Lstm, 300, 512)
///     .with_layers(2)
///     .with_dropout(0.2)
///     .with_precision(Precision::Bf16);
/// assert_eq!(options.n_layers, 2);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct RecurrentStackOptions {
    /// Kind of the cells.
    pub cell: Cell,
    /// Values of an input.
    pub n_inputs: usize,
    /// Hidden units of a layer.
    pub n_hidden: usize,
    /// Layers, 1 or more.
    pub n_layers: usize,
    /// Share of a layer's outputs that is dropped before the next layer, 0 ≤ rate < 1.
    pub dropout: f32,
    /// Share of the last layer's outputs that a decoder drops before its projection.
    pub output_dropout: f32,
    /// Precision of the factors of products.
    pub precision: Precision,
    /// Instructions to use.
    pub instructions: Instructions,
}

impl RecurrentStackOptions {
    /// Begins with one layer, no dropout, f32 and the best instructions of the processor.
    #[must_use]
    pub fn new(cell: Cell, n_inputs: usize, n_hidden: usize) -> Self {
        Self {
            cell,
            n_inputs,
            n_hidden,
            n_layers: 1,
            dropout: 0.0,
            output_dropout: 0.0,
            precision: Precision::F32,
            instructions: Instructions::detect(),
        }
    }

    /// Sets the number of layers.
    #[must_use]
    pub const fn with_layers(mut self, n_layers: usize) -> Self {
        self.n_layers = n_layers;
        self
    }

    /// Sets the share that is dropped between layers.
    #[must_use]
    pub const fn with_dropout(mut self, rate: f32) -> Self {
        self.dropout = rate;
        self
    }

    /// Sets the share that a decoder drops before its projection.
    #[must_use]
    pub const fn with_output_dropout(mut self, rate: f32) -> Self {
        self.output_dropout = rate;
        self
    }

    /// Sets the precision of products.
    #[must_use]
    pub const fn with_precision(mut self, precision: Precision) -> Self {
        self.precision = precision;
        self
    }

    /// Sets the instructions.
    #[must_use]
    pub const fn with_instructions(mut self, instructions: Instructions) -> Self {
        self.instructions = instructions;
        self
    }

    /// Values of an input of layer `layer`.
    pub(super) const fn layer_inputs(&self, layer: usize) -> usize {
        if layer == 0 {
            self.n_inputs
        } else {
            self.n_hidden
        }
    }

    /// Checks what the types allow and the kernels do not.
    pub(super) fn validate(&self) -> Result<(), Error> {
        let positive = [
            ("n_inputs", self.n_inputs),
            ("n_hidden", self.n_hidden),
            ("n_layers", self.n_layers),
        ];
        for (option, value) in positive {
            if value == 0 {
                return Err(Error::Option {
                    option,
                    reason: "at least 1",
                });
            }
        }
        for (option, rate) in [
            ("dropout", self.dropout),
            ("output_dropout", self.output_dropout),
        ] {
            if !(0.0..1.0).contains(&rate) {
                return Err(Error::Option {
                    option,
                    reason: "from 0 to less than 1",
                });
            }
        }
        Ok(())
    }
}

/// State of every layer, for every sequence of a batch.
#[derive(Clone, Copy, Debug)]
pub struct State<'a> {
    /// Hidden states, `[layers, batch, hidden]`.
    pub hidden: &'a [f32],
    /// Cell states of an LSTM, `[layers, batch, hidden]`; empty for other cells.
    pub cell: &'a [f32],
}

impl State<'_> {
    /// Checks the lengths for `batch` sequences.
    pub(super) fn check(&self, options: &RecurrentStackOptions, batch: usize) -> Result<(), Error> {
        let n = options.n_layers * batch * options.n_hidden;
        check("hidden", "layers × batch × hidden", self.hidden.len(), n)?;
        // A state that is not there has no values.
        let n = if options.cell.has_cell_state() { n } else { 0 };
        check(
            "cell",
            "layers × batch × hidden for an LSTM, else 0",
            self.cell.len(),
            n,
        )
    }
}

/// Where gradients of a [`State`] go; the shapes are the same.
#[derive(Debug)]
pub struct StateGradients<'a> {
    /// Gradients of hidden states.
    pub hidden: &'a mut [f32],
    /// Gradients of cell states; empty where there are none.
    pub cell: &'a mut [f32],
}

impl StateGradients<'_> {
    /// Returns the shapes as a state, to check them.
    pub(super) const fn as_state(&self) -> State<'_> {
        State {
            hidden: self.hidden,
            cell: self.cell,
        }
    }
}
