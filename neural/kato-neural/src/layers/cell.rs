//! The arithmetic of one recurrent step: vanilla, GRU, LSTM.

use burn::tensor::Tensor;
use burn::tensor::activation::sigmoid;

/// Which recurrent cell, with PyTorch's gate order and formulas.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Cell {
    /// `h = tanh(a)`, Elman's net.
    Vanilla,
    /// Gates r, z, n: `n = tanh(a_n + r ⊙ (U_n·h + b))`, `h' = (1 − z) ⊙ n + z ⊙ h`.
    ///
    /// Source: Cho et al., "Learning phrase representations using RNN encoder-decoder", 2014, with
    /// the reset gate behind the product, as in cuDNN.
    Gru,
    /// Gates i, f, g, o: `c' = f ⊙ c + i ⊙ g`, `h' = o ⊙ tanh(c')`.
    ///
    /// Source: Hochreiter and Schmidhuber, "Long short-term memory", 1997; forget gate of Gers,
    /// Schmidhuber and Cummins, 2000.
    Lstm,
}

impl Cell {
    /// How many blocks of `hidden_size` rows the weights have.
    #[must_use]
    pub const fn n_gates(self) -> usize {
        match self {
            Self::Vanilla => 1,
            Self::Gru => 3,
            Self::Lstm => 4,
        }
    }

    /// Whether the cell has a second state, which the next layer does not see.
    #[must_use]
    pub const fn has_memory(self) -> bool {
        matches!(self, Self::Lstm)
    }

    /// Computes the next state from `input`, the product of the input with its weights and biases,
    /// `recurrent`, the same of the state, and the state.
    pub(crate) fn advance(
        self,
        input: Tensor<2>,
        recurrent: Tensor<2>,
        hidden: Tensor<2>,
        memory: Option<Tensor<2>>,
    ) -> (Tensor<2>, Option<Tensor<2>>) {
        let width = hidden.dims()[1];
        let gate = |sums: &Tensor<2>, index: usize| sums.clone().narrow(1, index * width, width);
        match self {
            Self::Vanilla => ((input + recurrent).tanh(), None),
            Self::Gru => {
                let reset = sigmoid(gate(&input, 0) + gate(&recurrent, 0));
                let update = sigmoid(gate(&input, 1) + gate(&recurrent, 1));
                let fresh = (gate(&input, 2) + reset * gate(&recurrent, 2)).tanh();
                // (1 − z)·n + z·h, with one product less.
                (fresh.clone() + update * (hidden - fresh), None)
            }
            Self::Lstm => {
                // Added before the gates are cut, which is one operation instead of four.
                let sums = input + recurrent;
                let write = sigmoid(gate(&sums, 0)) * gate(&sums, 2).tanh();
                let memory = match memory {
                    // A forget gate has nothing to forget at the first step.
                    Some(memory) => sigmoid(gate(&sums, 1)) * memory + write,
                    None => write,
                };
                (
                    sigmoid(gate(&sums, 3)) * memory.clone().tanh(),
                    Some(memory),
                )
            }
        }
    }
}
