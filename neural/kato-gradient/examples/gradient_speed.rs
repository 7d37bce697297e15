//! Prints a table of what the parts of this crate cost, in processor time of one thread: the median of seven runs,
//! and from the least to the most. `cargo run --release -p kato-gradient --example gradient_speed`.

use std::hint::black_box;

use kato_gradient::GradientError;
use kato_gradient::metric::{CosineMean, ExactSum};
use kato_gradient::sampler::{
    Bucketed, PlannedBatches, Sampler, SamplerPosition, SamplerSettings, Shuffled, TokenBudget,
};
use kato_gradient::schedule::{CosineRestarts, Schedule};
use rustix::time::{ClockId, clock_gettime};

const N: usize = 1_000_000;

/// Returns the processor time of this thread in nanoseconds.
fn thread_ns() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}

/// Prints the median of seven runs over `n` items.
#[expect(clippy::print_stdout, reason = "an example shows its figures")]
fn measure(what: &str, n: usize, mut run: impl FnMut()) {
    let mut times: Vec<f64> = (0..7)
        .map(|_| {
            let begin = thread_ns();
            run();
            (thread_ns() - begin) / n as f64
        })
        .collect();
    times.sort_by(f64::total_cmp);
    println!(
        "| {what} | {:.1} | {:.1} to {:.1} |",
        times[3], times[0], times[6]
    );
}

#[expect(clippy::print_stdout, reason = "an example shows its figures")]
fn main() -> Result<(), GradientError> {
    println!("| what | ns | spread |\n|---|---|---|");
    let numbers: Vec<f64> = (0..N).map(|i| (i as f64 * 0.37).sin()).collect();
    measure("a number of a sum that depends on the order", N, || {
        black_box(
            black_box(&numbers)
                .iter()
                .fold(0.0, |sum, number| sum + number),
        );
    });
    measure("a number of an exact sum", N, || {
        let mut sum = ExactSum::new();
        black_box(&numbers)
            .iter()
            .for_each(|number| sum.add(*number));
        black_box(sum.value());
    });
    let vectors: Vec<f32> = numbers.iter().map(|number| *number as f32).collect();
    let targets: Vec<f32> = vectors.iter().rev().copied().collect();
    let (width, mask) = (300, vec![1.0; N / 300]);
    let length = width * mask.len();
    measure("cosine of 300 numbers", mask.len(), || {
        let mut mean = CosineMean::new();
        let added = mean.add_rows(&vectors[..length], &targets[..length], width, &mask);
        black_box((mean, added.is_ok()));
    });
    let schedule = Schedule::new(CosineRestarts::new(2.5e-4, 10.0))?;
    measure("rate with restarts", N, || {
        black_box(
            (0..N)
                .map(|step| schedule.rate(step as f64 / 100.0))
                .sum::<f64>(),
        );
    });
    let lengths: Vec<u32> = (0..N).map(|i| (i * 7919 % 50) as u32 + 1).collect();
    let kinds: [(&str, SamplerSettings); 3] = [
        ("shuffled", Shuffled::new(32).into()),
        ("in 5 buckets", Bucketed::new(32).into()),
        ("under 4,096 tokens", TokenBudget::new(4096, 64).into()),
    ];
    for (what, settings) in kinds {
        let sampler = Sampler::new(settings, lengths.clone(), 7)?;
        let mut epoch = 0;
        measure(&format!("an item of an epoch's order, {what}"), N, || {
            epoch += 1;
            black_box(sampler.plan(epoch));
        });
        let mut batches = PlannedBatches::new(sampler.clone());
        batches.nth(sampler.n_batches() / 2);
        let position: SamplerPosition = batches.position();
        measure(&format!("the same, going on inside, {what}"), N, || {
            black_box(PlannedBatches::resume(sampler.clone(), position).is_ok());
        });
    }
    Ok(())
}
