//! Measures a server over loopback: calls a second one by one and in batches, latency of an
//! observation, predictions, what comes next, many sessions at once.
//!
//! ```sh
//! cargo build --profile dist -p kato-cli
//! cargo run --profile dist -p kato-benches --features programs --bin wire_load -- --program target/dist/kato
//! ```
//!
//! Starts a server of its own on a temporary directory, with the default durability, and loads it
//! with the client from this process, so server and load share the machine. The other side's
//! figures are the server's: every answer is waited for.

#![expect(clippy::print_stdout, reason = "a program that prints a table")]

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use clap::Parser;
use futures_util::future::try_join_all;
use kato_client::{KatoClient, SessionOptions};
use kato_protocol::extension::{BatchItem, NextQuery};
use kato_protocol::{Observation, Sequence};
use kato_random::SplitMix64;
use tokio::runtime::Runtime;

/// Symbols of a pattern, as on the lowest level of the usual hierarchy.
const CHUNK: u64 = 5;

/// Load a server over loopback.
#[derive(Debug, Parser)]
struct Arguments {
    /// The program `kato`.
    #[arg(long)]
    program: PathBuf,
    /// Further arguments of the server.
    #[arg(long, num_args = 0.., allow_hyphen_values = true)]
    serve_args: Vec<String>,
    /// Seconds of each measurement.
    #[arg(long, default_value_t = 10.0)]
    seconds: f64,
    /// Only these loads: calls, batches, observations, predictions, next, mixed.
    #[arg(long, value_delimiter = ',', default_values_t = ["calls", "batches", "observations", "predictions", "next", "mixed"].map(str::to_owned))]
    only: Vec<String>,
    /// Patterns that are taught before predictions and what comes next are asked for.
    #[arg(long, default_value_t = 1_000_000)]
    patterns: u64,
    /// Seconds between teaching and killing the server that predictions are asked of.
    #[arg(long, default_value_t = 10.0)]
    settle_seconds: f64,
    /// Sessions of the mixed load.
    #[arg(long, default_value_t = 1_000)]
    sessions: usize,
    /// Seconds of the mixed load.
    #[arg(long, default_value_t = 60.0)]
    mixed_seconds: f64,
}

/// Server in a process of its own, on a temporary directory.
struct Server {
    child: Child,
    url: String,
    data: tempfile::TempDir,
}

impl Server {
    /// Starts the server and waits until it listens.
    fn start(arguments: &Arguments) -> Result<Self> {
        Self::start_on(arguments, tempfile::tempdir()?)
    }

    /// Kills the server and starts it on what it left.
    fn restart(mut self, arguments: &Arguments) -> Result<Self> {
        self.child.kill()?;
        self.child.wait()?;
        let data = std::mem::replace(&mut self.data, tempfile::tempdir()?);
        Self::start_on(arguments, data)
    }

    /// Starts the server on a directory and waits until it listens.
    fn start_on(arguments: &Arguments, data: tempfile::TempDir) -> Result<Self> {
        let mut child = Command::new(&arguments.program)
            .arg("serve")
            .args(["--addr", "127.0.0.1:0", "--data"])
            .arg(data.path().join("data"))
            .args(&arguments.serve_args)
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("failed to start {}", arguments.program.display()))?;
        let mut line = String::new();
        let stdout = child.stdout.take().context("the server has no output")?;
        BufReader::new(stdout).read_line(&mut line)?;
        let url = line.trim().strip_prefix("listening on ");
        let url = url
            .context("the server did not say where it listens")?
            .to_owned();
        Ok(Self { child, url, data })
    }

    /// Returns its resident memory in MB.
    fn resident(&self) -> Result<f64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kilobytes = line.and_then(|line| line.split_whitespace().next());
        Ok(kilobytes.context("no VmRSS")?.parse::<f64>()? / 1024.0)
    }

    /// Creates a client whose sessions are at this node.
    fn client(&self, node: &str) -> Result<KatoClient> {
        let session = SessionOptions::new(node).with_process_predictions(false);
        Ok(KatoClient::builder(&self.url, session)
            // As many idle connections as there can be sessions: otherwise making them anew would
            // be measured.
            .with_pool_size(2_000)
            .build()?)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // By its pid; nothing of it is needed any more.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let runtime = Runtime::new()?;
    println!("| load | sessions | a second | p50 | p99 | p99.9 |");
    println!("|---|--:|--:|--:|--:|--:|");
    runtime.block_on(async {
        let is_wanted = |load: &str| arguments.only.iter().any(|only| only == load);
        if is_wanted("calls") {
            for sessions in [1, 8] {
                one_by_one(&arguments, sessions).await?;
            }
        }
        if is_wanted("batches") {
            for (sessions, size) in [(1, 100), (2, 100), (2, 1_000)] {
                batches(&arguments, sessions, size).await?;
            }
        }
        if is_wanted("observations") {
            for (sessions, pause) in [(1, 0), (8, 0), (8, 2)] {
                observations(&arguments, sessions, Duration::from_millis(pause)).await?;
            }
        }
        if is_wanted("predictions") {
            predictions(&arguments).await?;
        }
        if is_wanted("next") {
            next(&arguments).await?;
        }
        if is_wanted("mixed") {
            mixed(&arguments).await?;
        }
        Ok(())
    })
}

/// Measures one learn a call, as the original trains: a sequence of one chunk with a learn in the
/// end.
async fn one_by_one(arguments: &Arguments, sessions: usize) -> Result<()> {
    let server = Server::start(arguments)?;
    let client = server.client("node0")?;
    let measured = repeat(
        arguments.seconds,
        forks(&client, sessions),
        async |client, n| {
            let sequence = Sequence {
                observations: chunk(n)
                    .map(|symbol| Observation::strings([symbol]).into())
                    .collect(),
                learn_at_end: true,
                ..Sequence::default()
            };
            let start = Instant::now();
            client.observe_sequence(sequence).await?;
            Ok((1, start.elapsed()))
        },
    );
    measured
        .await?
        .print("learn calls, one a request", sessions);
    Ok(())
}

/// Measures many learns a call.
async fn batches(arguments: &Arguments, sessions: usize, size: u64) -> Result<()> {
    let server = Server::start(arguments)?;
    let client = server.client("node0")?;
    let measured = repeat(
        arguments.seconds,
        forks(&client, sessions),
        async |client, n| {
            let item = |idx| BatchItem {
                events: chunk(n * size + idx).map(|symbol| vec![symbol]).collect(),
                ..BatchItem::default()
            };
            let items: Vec<_> = (0..size).map(item).collect();
            let start = Instant::now();
            client.learn_all(&items, None).await?;
            Ok((size, start.elapsed()))
        },
    );
    measured
        .await?
        .print(&format!("learn calls, {size} a learn-batch"), sessions);
    Ok(())
}

/// Measures single observations.
///
/// The short-term memory is emptied now and then, which is not timed. Without pauses between them
/// the machine is as busy as it can be.
async fn observations(arguments: &Arguments, sessions: usize, pause: Duration) -> Result<()> {
    let server = Server::start(arguments)?;
    let client = server.client("node0")?;
    let measured = repeat(
        arguments.seconds,
        forks(&client, sessions),
        async |client, n| {
            let symbol = chunk(n).next().unwrap_or_default();
            let start = Instant::now();
            let observed = client.observe(Observation::strings([symbol])).await?;
            let took = start.elapsed();
            if observed.stm_length >= 50 {
                client.clear_stm().await?;
            }
            if !pause.is_zero() {
                tokio::time::sleep(pause).await;
            }
            Ok((1, took))
        },
    );
    measured.await?.print(
        &format!("single observations, {} ms apart", pause.as_millis()),
        sessions,
    );
    Ok(())
}

/// Teaches the patterns that predictions and what comes next are asked of.
async fn teach(client: &KatoClient, arguments: &Arguments) -> Result<()> {
    for first in (0..arguments.patterns).step_by(5_000) {
        let item = |n| BatchItem {
            events: drawn_chunk(n).map(|symbol| vec![symbol]).collect(),
            ..BatchItem::default()
        };
        let chunks = first..arguments.patterns.min(first + 5_000);
        client
            .learn_all(&chunks.map(item).collect::<Vec<_>>(), None)
            .await?;
    }
    Ok(())
}

/// Makes the first three symbols of a chunk that was not taught the short-term memory.
async fn observe_start(arguments: &Arguments, client: &KatoClient, n: u64) -> Result<()> {
    client.clear_stm().await?;
    let symbols = drawn_chunk(arguments.patterns + n).take(3);
    let observations = symbols.map(|symbol| Observation::strings([symbol]).into());
    let sequence = Sequence {
        observations: observations.collect(),
        ..Sequence::default()
    };
    client.observe_sequence(sequence).await?;
    Ok(())
}

/// Measures predictions of a node of many patterns: the first after the server was killed and
/// started again, then those of several sessions, alone and while another learns.
async fn predictions(arguments: &Arguments) -> Result<()> {
    let server = Server::start(arguments)?;
    let start = Instant::now();
    teach(&server.client("node0")?, arguments).await?;
    let teaching = start.elapsed().as_secs_f64();
    // Until the server has done what it does beside its work.
    tokio::time::sleep(Duration::from_secs_f64(arguments.settle_seconds)).await;
    let start = Instant::now();
    let server = server.restart(arguments)?;
    let listening = start.elapsed().as_secs_f64();
    let client = server.client("node0")?;
    observe_start(arguments, &client, 0).await?;
    let predictions = client.predictions().await?.predictions.len();
    ensure!(predictions > 0, "there are no predictions");
    let first = start.elapsed().as_secs_f64();
    println!(
        "\n{} patterns taught in {teaching:.1} s; killed and started again: it listened after {listening:.2} s, \
         first answer after {first:.2} s, {:.0} MB\n",
        arguments.patterns,
        server.resident()?,
    );
    let predict = async |client: &KatoClient, n| {
        observe_start(arguments, client, n).await?;
        let start = Instant::now();
        client.predictions().await?;
        Ok((1, start.elapsed()))
    };
    let learn = async |client: &KatoClient, n| {
        let observations = drawn_chunk(2 * arguments.patterns + n)
            .map(|symbol| Observation::strings([symbol]).into());
        let sequence = Sequence {
            observations: observations.collect(),
            learn_at_end: true,
            ..Sequence::default()
        };
        let start = Instant::now();
        client.observe_sequence(sequence).await?;
        Ok((1, start.elapsed()))
    };
    for sessions in [1, 8] {
        let measured = repeat(arguments.seconds, forks(&client, sessions), predict);
        measured.await?.print("predictions", sessions);
    }
    let (predicted, learned) = tokio::join!(
        repeat(arguments.seconds, forks(&client, 8), predict),
        repeat(arguments.seconds, forks(&client, 1), learn),
    );
    predicted?.print("predictions, while one session learns", 8);
    learned?.print("learn calls beside them", 1);
    println!("\nafterwards {:.0} MB\n", server.resident()?);
    Ok(())
}

/// Measures what comes next, by the counts of many patterns.
async fn next(arguments: &Arguments) -> Result<()> {
    let server = Server::start(arguments)?;
    let client = server.client("node0")?;
    teach(&client, arguments).await?;
    let before = server.resident()?;
    let start = Instant::now();
    client.next(NextQuery::default()).await?;
    let counting = start.elapsed().as_secs_f64();
    let more = server.resident()? - before;
    let plain = NextQuery::default();
    let explained = NextQuery {
        explain: true,
        fit: true,
        ..plain.clone()
    };
    for (what, sessions, query, learns) in [
        ("what comes next", 1, &plain, false),
        ("what comes next", 8, &plain, false),
        ("what comes next, after a learn each", 1, &plain, true),
        (
            "what comes next, fitted and explained",
            1,
            &explained,
            false,
        ),
    ] {
        let measured = repeat(
            arguments.seconds,
            forks(&client, sessions),
            async |client, n| {
                observe_start(arguments, client, n).await?;
                if learns {
                    client.learn().await?;
                }
                let start = Instant::now();
                client.next(query.clone()).await?;
                Ok((1, start.elapsed()))
            },
        );
        measured.await?.print(what, sessions);
    }
    let named = NextQuery {
        explain: true,
        patterns: 5,
        ..plain
    };
    let start = Instant::now();
    client.next(named).await?;
    let naming = start.elapsed().as_secs_f64();
    println!(
        "\n{} patterns: the first question took {counting:.2} s, to count them, and {more:.0} MB; \
         naming patterns took {naming:.2} s\n",
        arguments.patterns
    );
    Ok(())
}

/// Measures sessions that observe, learn, look and predict with pauses between, for long enough to
/// see memory.
async fn mixed(arguments: &Arguments) -> Result<()> {
    let server = Server::start(arguments)?;
    let client = server.client("node0")?;
    let clients = forks(&client, arguments.sessions);
    let deadline = Instant::now() + Duration::from_secs_f64(arguments.mixed_seconds);
    let done = AtomicU64::new(0);
    let began = Instant::now();
    let watch = async {
        let mut readings = Vec::new();
        while Instant::now() < deadline {
            tokio::time::sleep(Duration::from_secs_f64(arguments.mixed_seconds / 6.0)).await;
            readings.push(server.resident()?);
        }
        anyhow::Ok(readings)
    };
    let work = try_join_all(clients.into_iter().enumerate().map(|(idx, client)| {
        let done = &done;
        async move {
            let mut latencies = Vec::new();
            // A multiple of 8, so that every session begins with observations, and a prime apart,
            // so that they observe different chunks.
            let mut n = idx as u64 * 8 * 7_919;
            while Instant::now() < deadline {
                let began = Instant::now();
                match n % 8 {
                    0..=4 => {
                        // Few enough different chunks that the node's knowledge stops growing.
                        let symbol = chunk((n / 8) % 2_000).nth((n % 5) as usize);
                        let observation = Observation::strings([symbol.unwrap_or_default()]);
                        drop(client.observe(observation).await?);
                    }
                    5 => drop(client.predictions().await?),
                    6 => drop(client.learn().await?),
                    _ => drop(client.stm().await?),
                }
                latencies.push(began.elapsed());
                done.fetch_add(1, Ordering::Relaxed);
                n += 1;
                tokio::time::sleep(Duration::from_millis(500)).await;
            }
            client.close().await?;
            anyhow::Ok(latencies)
        }
    }));
    let (readings, latencies) = tokio::join!(watch, work);
    let readings = readings?;
    let measured = Measured {
        seconds: began.elapsed().as_secs_f64(),
        done: done.load(Ordering::Relaxed),
        latencies: latencies?.into_iter().flatten().collect(),
    };
    measured.print("mixed: 5 observe, predict, learn, stm", arguments.sessions);
    let readings: Vec<String> = readings.iter().map(|mb| format!("{mb:.0}")).collect();
    println!(
        "\nserver's memory during the mixed load, MB: {}; errors: 0",
        readings.join(", ")
    );
    Ok(())
}

/// Returns clients with a session each, which share their connections.
fn forks(client: &KatoClient, n: usize) -> Vec<KatoClient> {
    (0..n).map(|_| client.fork()).collect()
}

/// Returns the symbols of a chunk that no other number has.
fn chunk(n: u64) -> impl Iterator<Item = String> {
    (0..CHUNK).map(move |place| {
        let digit = n / 400_u64.pow(place as u32) % 400;
        // As GPT-2's tokens look, whose leading blank is this letter: two bytes in UTF-8, one word.
        format!("\u{120}word{}", digit * CHUNK + place)
    })
}

/// Returns a chunk of words that are as rare as those of a text are (Zipf's law), drawn by its
/// number.
fn drawn_chunk(n: u64) -> impl Iterator<Item = String> {
    let mut random = SplitMix64::from_seed(n);
    (0..CHUNK).map(move |_| {
        let rank = 20_000f64.powf(random.unit()) as u64;
        format!("\u{120}word{rank}")
    })
}

/// Result of a measurement.
struct Measured {
    seconds: f64,
    done: u64,
    latencies: Vec<Duration>,
}

impl Measured {
    /// Prints a row of the table.
    fn print(mut self, what: &str, sessions: usize) {
        self.latencies.sort_unstable();
        let at = |share: f64| {
            let last = self.latencies.len().saturating_sub(1);
            let latency = self.latencies.get((share * last as f64) as usize);
            format!("{:.2} ms", latency.map_or(0.0, Duration::as_secs_f64) * 1e3)
        };
        println!(
            "| {what} | {sessions} | {:.0} | {} | {} | {} |",
            self.done as f64 / self.seconds,
            at(0.5),
            at(0.99),
            at(0.999)
        );
    }
}

/// Calls `act` again and again by every client, each call with a number of its own.
///
/// It says how many it did and how long the request took. The first second is not counted.
async fn repeat(
    seconds: f64,
    clients: Vec<KatoClient>,
    act: impl AsyncFn(&KatoClient, u64) -> Result<(u64, Duration)>,
) -> Result<Measured> {
    let numbers = AtomicU64::new(0);
    let done = AtomicU64::new(0);
    let began = Instant::now() + Duration::from_secs(1);
    let deadline = began + Duration::from_secs_f64(seconds);
    let latencies = try_join_all(clients.iter().map(async |client| {
        let mut latencies = Vec::new();
        while Instant::now() < deadline {
            let start = Instant::now();
            let (n, took) = act(client, numbers.fetch_add(1, Ordering::Relaxed)).await?;
            // The first second warms up connections, caches and the server's files.
            if start >= began {
                latencies.push(took);
                done.fetch_add(n, Ordering::Relaxed);
            }
        }
        anyhow::Ok(latencies)
    }));
    let latencies: Vec<Duration> = latencies.await?.into_iter().flatten().collect();
    ensure!(!latencies.is_empty(), "nothing was done in {seconds} s");
    try_join_all(clients.into_iter().map(KatoClient::close)).await?;
    Ok(Measured {
        seconds: began.elapsed().as_secs_f64(),
        done: done.load(Ordering::Relaxed),
        latencies,
    })
}
