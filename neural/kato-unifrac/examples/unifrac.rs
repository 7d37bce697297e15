//! Distances of a table over a tree, from files to a file, with what each step took.
//!
//! `cargo run --release -p kato-unifrac --example unifrac -- TABLE TREE METRIC [OUT] [THREADS]`,
//! where METRIC is `unweighted`, `weighted`, `normalized` or a number for the generalised one.

#![expect(clippy::print_stderr, reason = "a program says what it does")]

use std::error::Error;
use std::process::ExitCode;
use std::time::Instant;

use kato_unifrac::newick::NewickOptions;
use kato_unifrac::{Community, ComputeOptions, MatchOptions, Metric, Table, Tree};

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let [table, tree, metric, rest @ ..] = &arguments[..] else {
        return Err("give TABLE TREE METRIC [OUT] [THREADS]".into());
    };
    let metric = match metric.as_str() {
        "unweighted" => Metric::Unweighted,
        "weighted" => Metric::Weighted,
        "normalized" => Metric::NormalizedWeighted,
        alpha => Metric::Generalized {
            alpha: alpha.parse()?,
        },
    };
    let n_threads = rest.get(1).map_or(Ok(0), |n| n.parse())?;
    let options = ComputeOptions::default().with_n_threads(n_threads);

    let mut clock = Clock::start();
    let table = Table::read(table)?;
    clock.say(&format!(
        "table: {} samples, {} counts",
        table.n_samples(),
        table.n_entries()
    ));
    let tree = Tree::read(tree, NewickOptions::default())?;
    clock.say(&format!("tree: {} tips", tree.n_tips()));
    let choices = MatchOptions::default();
    let community = match Community::new(&table, &tree, choices) {
        Ok(community) => community,
        // Its findings have lines of their own, which the form for programmers would not show.
        Err(error) => {
            eprintln!("{error}");
            return Ok(ExitCode::FAILURE);
        }
    };
    if !community.check().findings.is_empty() {
        eprintln!("{}", community.check());
    }
    clock.say("check");
    let distances = community.distances(metric, options)?;
    clock.say("distances");
    if let Some(out) = rest.first().filter(|out| *out != "-") {
        distances.write(out)?;
        clock.say(out);
    }
    Ok(ExitCode::SUCCESS)
}

/// Time by the wall, and by the processors that this process used.
struct Clock {
    wall: Instant,
    processor_s: f64,
}

impl Clock {
    fn start() -> Self {
        Self {
            wall: Instant::now(),
            processor_s: processor_s(),
        }
    }

    fn say(&mut self, what: &str) {
        let now = Self::start();
        let wall_s = (now.wall - self.wall).as_secs_f64();
        let processor_s = now.processor_s - self.processor_s;
        eprintln!("{wall_s:8.4} s, {processor_s:8.4} processor s  {what}");
        *self = now;
    }
}

/// Processor seconds of this process, ended threads included.
fn processor_s() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}
