//! Checks that nothing is allocated once buffers have grown to their size. It runs without the runner of tests: that one
//! waits on a thread of its own, which allocates when it begins to wait, however late the system lets it.

use kato_kernels::{
    Cell, DecoderGradients, DecoderInput, Draw, EncoderGradients, EncoderInput, EncoderUpstream,
    Error, LayerGradients, LayerWeights, PassKind, Precision, Projection, RecurrentDecoder,
    RecurrentEncoder, RecurrentStackOptions, State, StateGradients,
};
use peak_alloc::PeakAlloc;

#[global_allocator]
static ALLOCATOR: PeakAlloc = PeakAlloc;

const BATCH: usize = 20;
const STEPS: usize = 6;
const INPUTS: usize = 5;
const HIDDEN: usize = 40;
const STATES: usize = 2 * BATCH * HIDDEN;
const ROWS: usize = 4 * HIDDEN;

/// One step of training of an encoder and a decoder, on buffers that were made before.
fn step(
    (encoder, decoder): (&mut RecurrentEncoder, &mut RecurrentDecoder),
    weights: &[LayerWeights<'_>; 2],
    gradients: &mut [LayerGradients<'_>],
    buffers: &mut [Vec<f32>; 9],
    draw: Draw,
) -> Result<(), Error> {
    let [
        x,
        hidden,
        cell,
        y,
        d_hidden,
        d_cell,
        projection,
        d_projection,
        small,
    ] = buffers;
    let lengths: [usize; BATCH] =
        std::array::from_fn(|row| (row + draw.step as usize) % (STEPS + 1));
    encoder.pack(weights, PassKind::Training)?;
    let (bias, start) = small.split_at_mut(INPUTS);
    decoder.pack(
        weights,
        Projection {
            weights: projection,
            bias,
        },
        PassKind::Training,
    )?;
    encoder.forward(
        EncoderInput::new(x, BATCH, STEPS)
            .with_lengths(&lengths)
            .with_draw(draw),
    )?;
    encoder.hidden(hidden)?;
    encoder.cell(cell)?;
    let initial = State { hidden, cell };
    let input = DecoderInput::new(start, initial, BATCH, STEPS).with_truth(x, &[false; STEPS]);
    decoder.forward(input.with_lengths(&lengths).with_draw(draw), y)?;
    let mut all = DecoderGradients {
        layers: gradients,
        projection: d_projection,
        projection_bias: bias,
        start,
        initial: StateGradients {
            hidden: d_hidden,
            cell: d_cell,
        },
    };
    decoder.backward(y, &mut all)?;
    let upstream = EncoderUpstream {
        hidden: Some(d_hidden),
        cell: Some(d_cell),
        outputs: None,
    };
    let mut all = EncoderGradients {
        layers: gradients,
        inputs: Some(x),
        initial: None,
    };
    encoder.backward(upstream, &mut all)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    nothing_is_allocated_after_the_first_steps()
}

fn nothing_is_allocated_after_the_first_steps() -> Result<(), Box<dyn std::error::Error>> {
    let input = vec![0.1; ROWS * INPUTS];
    let recurrent = vec![0.1; ROWS * HIDDEN];
    let bias = vec![0.1; ROWS];
    let layer = |input| LayerWeights {
        input,
        recurrent: &recurrent,
        input_bias: &bias,
        recurrent_bias: &bias,
    };
    let weights = [layer(&input), layer(&recurrent)];
    let mut sums = [
        vec![0.0; ROWS * INPUTS],
        vec![0.0; ROWS * HIDDEN],
        vec![0.0; ROWS],
        vec![0.0; ROWS],
        vec![0.0; ROWS * HIDDEN],
        vec![0.0; ROWS * HIDDEN],
        vec![0.0; ROWS],
        vec![0.0; ROWS],
    ];
    let mut gradients: Vec<_> = sums
        .chunks_exact_mut(4)
        .map(|sums| {
            let [input, recurrent, input_bias, recurrent_bias] = sums else {
                unreachable!("chunks of four")
            };
            LayerGradients {
                input,
                recurrent,
                input_bias,
                recurrent_bias,
            }
        })
        .collect();
    let wide = BATCH * STEPS * INPUTS;
    let sizes = [wide, STATES, STATES, wide, STATES, STATES];
    let more = [INPUTS * HIDDEN, INPUTS * HIDDEN, 2 * INPUTS];
    let mut sizes = sizes.into_iter().chain(more);
    let mut buffers = [0; 9].map(|_| vec![0.1; sizes.next().unwrap_or_default()]);
    for precision in [Precision::F32, Precision::Bf16] {
        for n_threads in [1, 2] {
            let options = RecurrentStackOptions::new(Cell::Lstm, INPUTS, HIDDEN)
                .with_layers(2)
                .with_dropout(0.2)
                .with_output_dropout(0.2)
                .with_precision(precision);
            let mut encoder = RecurrentEncoder::new(options)?;
            let mut decoder = RecurrentDecoder::new(options)?;
            let pool = rayon::ThreadPoolBuilder::new()
                .num_threads(n_threads)
                .build()?;
            // A thread allocates when it begins and first looks for work; on a busy machine that may be steps later.
            pool.broadcast(|_| ());
            let grown = pool.install(|| {
                let mut grown = Vec::with_capacity(30);
                for number in 0..30 {
                    let before = ALLOCATOR.current_usage();
                    ALLOCATOR.reset_peak_usage();
                    let draw = Draw::new(1, number);
                    let nets = (&mut encoder, &mut decoder);
                    step(nets, &weights, &mut gradients, &mut buffers, draw)?;
                    grown.push(ALLOCATOR.peak_usage() - before);
                }
                Ok::<_, Error>(grown)
            })?;
            assert!(grown[0] > 0, "the count works");
            assert_eq!(
                grown[10..],
                [0; 20],
                "{n_threads} threads, {precision:?}: {grown:?}"
            );
        }
    }
    Ok(())
}
