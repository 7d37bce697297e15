//! Runs attention forward and backward in both forms, by turns, on one thread, and prints a table of rows per
//! processor second, the best of so many rounds: `attention ROUNDS ROWS…`.

#![expect(clippy::print_stdout, reason = "figures are what it is for")]

use kato_kernels::{Attention, AttentionForm, AttentionGradients, AttentionInput, Instructions};

use kato_probe::process::processor_seconds;

const HEADS: usize = 4;
const WIDTH: usize = 32;

fn main() {
    let numbers = std::env::args().skip(1);
    let numbers: Vec<usize> = numbers
        .map(|word| word.parse().expect("a number"))
        .collect();
    let (rounds, lengths) = numbers.split_first().expect("rounds, then rows");
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build();
    let pool = pool.expect("a thread");
    println!("| rows | plain | tiled |\n|---|---|---|");
    for &rows in lengths {
        let [plain, tiled] = pool.install(|| rates(rows, *rounds));
        println!("| {rows} | {plain:.0} | {tiled:.0} |");
    }
}

/// Measures both forms over sequences of so many rows.
fn rates(rows: usize, rounds: usize) -> [f64; 2] {
    // About as many products whatever the length.
    let batch = ((1 << 24) / (rows * rows)).max(2);
    let n = batch * rows * HEADS * WIDTH;
    let values: Vec<f32> = (0..n)
        .map(|i| ((i * 37) % 101) as f32 / 50.0 - 1.0)
        .collect();
    let (mut out, mut d) = (
        values.clone(),
        [values.clone(), values.clone(), values.clone()],
    );
    let input = AttentionInput::new((&values, rows), (&values, rows), &values, batch);
    let mut forms = [AttentionForm::Plain, AttentionForm::Tiled].map(|form| {
        Attention::new(HEADS, WIDTH, form, Instructions::detect()).expect("a valid shape")
    });
    let mut rates = [0.0_f64; 2];
    let mut results: [Vec<f32>; 2] = [Vec::new(), Vec::new()];
    for _ in 0..rounds {
        for (i, attention) in forms.iter_mut().enumerate() {
            let before = processor_seconds().unwrap_or(f64::NAN);
            let mut steps = 0;
            while steps == 0 || processor_seconds().unwrap_or(f64::NAN) - before < 0.5 {
                attention.forward(input, &mut out).expect("shapes that fit");
                let [queries, keys, values] = &mut d;
                let mut to = AttentionGradients {
                    queries,
                    keys,
                    values,
                };
                attention
                    .backward(input, &out, &mut to)
                    .expect("shapes that fit");
                steps += 1;
            }
            let used = processor_seconds().unwrap_or(f64::NAN) - before;
            rates[i] = rates[i].max((steps * batch * rows) as f64 / used);
            results[i].clone_from(&d[1]);
        }
    }
    assert!(results[0] == results[1], "other bits");
    rates
}
