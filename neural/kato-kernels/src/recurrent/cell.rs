//! Computes cells from their gates, one row at a time, forward and backward.

use super::options::Cell;
use crate::math::{sigmoid, tanh};
use crate::simd::Kernel;

/// Step of a layer for some rows: gates become activated ones, states become the next ones.
pub(super) struct Forward<'a> {
    pub(super) cell: Cell,
    pub(super) n_hidden: usize,
    /// Gates before their activation, `rows × blocks × hidden`.
    pub(super) gates: &'a mut [f32],
    /// Hidden states before and after the step, `rows × hidden`.
    pub(super) before: &'a [f32],
    pub(super) after: &'a mut [f32],
    /// Cell states before and after; empty for cells that have none.
    pub(super) cell_before: &'a [f32],
    pub(super) cell_after: &'a mut [f32],
}

impl Kernel for Forward<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let n = self.n_hidden;
        // Gates of a row lie side by side, in the order in which the weights have them.
        let gates = self.gates.chunks_exact_mut(n * self.cell.n_blocks());
        let states = self
            .before
            .chunks_exact(n)
            .zip(self.after.chunks_exact_mut(n));
        match self.cell {
            Cell::Tanh => {
                for (gates, (_, after)) in gates.zip(states) {
                    tanh_forward(gates, after);
                }
            }
            Cell::Gru => {
                for (gates, (before, after)) in gates.zip(states) {
                    let (candidate, gates) = gates.split_at_mut(n);
                    let (r, gates) = gates.split_at_mut(n);
                    let (z, recurrent) = gates.split_at_mut(n);
                    gru_forward(candidate, r, z, recurrent, before, after);
                }
            }
            Cell::Lstm => {
                let cells = self
                    .cell_before
                    .chunks_exact(n)
                    .zip(self.cell_after.chunks_exact_mut(n));
                for ((gates, (_, after)), (c_before, c_after)) in gates.zip(states).zip(cells) {
                    let (i, gates) = gates.split_at_mut(n);
                    let (f, gates) = gates.split_at_mut(n);
                    let (g, o) = gates.split_at_mut(n);
                    lstm_forward(i, f, g, o, c_before, c_after, after);
                }
            }
        }
    }
}

// Slices are arguments of their own below, since arguments are known not to overlap: without that
// the loops do not become vectors.

#[inline(always)]
fn tanh_forward(gate: &mut [f32], after: &mut [f32]) {
    for (gate, after) in gate.iter_mut().zip(after) {
        // The activation stays for the way back, whose slope is a function of it.
        *gate = tanh(*gate);
        *after = *gate;
    }
}

#[inline(always)]
fn gru_forward(
    candidate: &mut [f32],
    r: &mut [f32],
    z: &mut [f32],
    recurrent: &[f32],
    before: &[f32],
    after: &mut [f32],
) {
    let n = after.len();
    let (candidate, r, z) = (&mut candidate[..n], &mut r[..n], &mut z[..n]);
    let (recurrent, before) = (&recurrent[..n], &before[..n]);
    for j in 0..n {
        r[j] = sigmoid(r[j]);
        z[j] = sigmoid(z[j]);
        // The reset works on the product by the state, after its bias, as PyTorch does it.
        candidate[j] = tanh(r[j].mul_add(recurrent[j], candidate[j]));
        // One product instead of two: z · h + (1 − z) · n, rearranged.
        after[j] = z[j].mul_add(before[j] - candidate[j], candidate[j]);
    }
}

#[inline(always)]
fn lstm_forward(
    i: &mut [f32],
    f: &mut [f32],
    g: &mut [f32],
    o: &mut [f32],
    c_before: &[f32],
    c_after: &mut [f32],
    after: &mut [f32],
) {
    let n = after.len();
    let (i, f, g, o) = (&mut i[..n], &mut f[..n], &mut g[..n], &mut o[..n]);
    let (c_before, c_after) = (&c_before[..n], &mut c_after[..n]);
    for j in 0..n {
        i[j] = sigmoid(i[j]);
        f[j] = sigmoid(f[j]);
        g[j] = tanh(g[j]);
        o[j] = sigmoid(o[j]);
        c_after[j] = f[j].mul_add(c_before[j], i[j] * g[j]);
        after[j] = o[j] * tanh(c_after[j]);
    }
}

/// Step of a layer backward for some rows.
pub(super) struct Backward<'a> {
    pub(super) cell: Cell,
    pub(super) n_hidden: usize,
    /// Activated gates; afterwards gradients of what was before the activation.
    pub(super) gates: &'a mut [f32],
    /// Hidden states before and after the step.
    pub(super) before: &'a [f32],
    pub(super) after: &'a [f32],
    /// Cell states before and after; empty for cells that have none.
    pub(super) cell_before: &'a [f32],
    pub(super) cell_after: &'a [f32],
    /// Gradient of the hidden state after the step; for a GRU afterwards what reaches the state
    /// before it past the gates.
    pub(super) d_state: &'a mut [f32],
    /// Gradient of the cell state after the step, afterwards of the one before it.
    pub(super) d_cell: &'a mut [f32],
}

impl Kernel for Backward<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let n = self.n_hidden;
        let gates = self.gates.chunks_exact_mut(n * self.cell.n_blocks());
        let rows = gates.zip(self.d_state.chunks_exact_mut(n));
        match self.cell {
            Cell::Tanh => {
                for ((gates, d_state), after) in rows.zip(self.after.chunks_exact(n)) {
                    tanh_backward(gates, after, d_state);
                }
            }
            Cell::Gru => {
                for ((gates, d_state), before) in rows.zip(self.before.chunks_exact(n)) {
                    let (candidate, gates) = gates.split_at_mut(n);
                    let (r, gates) = gates.split_at_mut(n);
                    let (z, recurrent) = gates.split_at_mut(n);
                    gru_backward(candidate, r, z, recurrent, before, d_state);
                }
            }
            Cell::Lstm => {
                let cells = self
                    .cell_before
                    .chunks_exact(n)
                    .zip(self.cell_after.chunks_exact(n));
                let cells = cells.zip(self.d_cell.chunks_exact_mut(n));
                for ((gates, d_state), ((before, after), d_cell)) in rows.zip(cells) {
                    let (i, gates) = gates.split_at_mut(n);
                    let (f, gates) = gates.split_at_mut(n);
                    let (g, o) = gates.split_at_mut(n);
                    lstm_backward(i, f, g, o, before, after, d_state, d_cell);
                }
            }
        }
    }
}

#[inline(always)]
fn tanh_backward(gate: &mut [f32], after: &[f32], d_state: &[f32]) {
    for ((gate, &after), &d_state) in gate.iter_mut().zip(after).zip(d_state) {
        *gate = d_state * (1.0 - after * after);
    }
}

#[inline(always)]
fn gru_backward(
    candidate: &mut [f32],
    r: &mut [f32],
    z: &mut [f32],
    recurrent: &mut [f32],
    before: &[f32],
    d_state: &mut [f32],
) {
    let n = d_state.len();
    let (candidate, r, z) = (&mut candidate[..n], &mut r[..n], &mut z[..n]);
    let (recurrent, before) = (&mut recurrent[..n], &before[..n]);
    for j in 0..n {
        let (new, reset, keep, dh) = (candidate[j], r[j], z[j], d_state[j]);
        let d_new = dh * (1.0 - keep) * (1.0 - new * new);
        candidate[j] = d_new;
        r[j] = d_new * recurrent[j] * reset * (1.0 - reset);
        z[j] = dh * (before[j] - new) * keep * (1.0 - keep);
        // The bias inside the reset's product needs a gradient of its own.
        recurrent[j] = d_new * reset;
        // What reaches the state before past the gates; the product back is added to it.
        d_state[j] = dh * keep;
    }
}

#[inline(always)]
#[expect(
    clippy::too_many_arguments,
    reason = "only arguments are known not to overlap"
)]
fn lstm_backward(
    i: &mut [f32],
    f: &mut [f32],
    g: &mut [f32],
    o: &mut [f32],
    before: &[f32],
    after: &[f32],
    d_state: &[f32],
    d_cell: &mut [f32],
) {
    let n = d_cell.len();
    let (i, f, g, o) = (&mut i[..n], &mut f[..n], &mut g[..n], &mut o[..n]);
    let (before, after, d_state) = (&before[..n], &after[..n], &d_state[..n]);
    for j in 0..n {
        let (input, forget, new, output) = (i[j], f[j], g[j], o[j]);
        // Computed again: to keep it would be one more tape as large as the states.
        let (dh, squashed) = (d_state[j], tanh(after[j]));
        let dc = (dh * output).mul_add(1.0 - squashed * squashed, d_cell[j]);
        i[j] = dc * new * input * (1.0 - input);
        f[j] = dc * before[j] * forget * (1.0 - forget);
        g[j] = dc * input * (1.0 - new * new);
        o[j] = dh * squashed * output * (1.0 - output);
        // The cell's own way back in time, which no product takes part in.
        d_cell[j] = dc * forget;
    }
}
