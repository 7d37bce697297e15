//! The command `kato serve`: runs a server that speaks KATO's HTTP API over the engine.
//!
//! ```text
//! kato serve --data ./knowledge
//! kato serve --in-memory --addr 127.0.0.1:0
//! ```

mod environment;

use std::cell::Cell;
use std::fs::{self, File};
use std::io::{Write, stdout};
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::ValueEnum;
use kato_model::KatoGeneration;
use kato_prediction::config::DEFAULT_GENERATION;
use kato_server::{Server, ServerBuilder};
use kato_service::{Service, ServiceOptions};
use kato_store::EmbeddedStore;
use tokio::sync::Notify;

use crate::byte_size::ByteSize;
use crate::exit::{bail_as, failed};
use crate::interrupt::{Told, on_interrupt};
use crate::knowledge_base::directory;
use crate::machine;
use crate::memory_limit::memory_limit;
use crate::parents::MissingParents;
use crate::prediction::generation;
use crate::tokens::read_tokens;
use crate::writable::refuse_file;

/// Bytes of memory that writing an index takes for sorting, at least and at most.
const LEAST_SORT_MEMORY: usize = 1 << 20;
const MOST_SORT_MEMORY: usize = 256 << 20;

/// Time for which requests are answered when the server stops.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(2);

/// Runs a server that speaks KATO's HTTP API over the engine.
///
/// Any KATO client can be pointed at it. It says `listening on` and its address on standard output once it answers;
/// logs go to standard error. Look at /docs with a browser, at /metrics/prometheus with Prometheus, and into
/// DIR/nodes/… with `kato inspect`.
///
/// Ctrl-C, SIGTERM or SIGHUP stops it within 5 seconds, a second signal at once. The exit code is then
/// 0, or 130 where the server was stopped before it listened or could not end in order. What was
/// acknowledged with --data is there at the next start, also after a kill, but that training was
/// finalized.
///
/// Some of KATO's own variables of the environment set what sessions begin with, such as
/// RECALL_THRESHOLD (docs/server.md).
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Directory of sessions and knowledge; made if it is not there. One server at a time.
    #[arg(long, value_name = "DIR", required_unless_present = "in_memory", value_parser = directory())]
    data: Option<PathBuf>,
    /// Keep everything in memory; it is gone when the server stops.
    #[arg(long, conflicts_with = "data")]
    in_memory: bool,
    /// Generation of KATO to be: 3.10, 5.2 or 6.3. It decides endpoints, answers, settings and names of
    /// knowledge bases; what was learned stays.
    #[arg(long, value_name = "VERSION", default_value_t = DEFAULT_GENERATION, value_parser = generation)]
    kato: KatoGeneration,
    /// Where to listen. Port 0 takes any that is free. Other machines reach the server only if
    /// this is not loopback.
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:8000")]
    addr: SocketAddr,
    /// File with one bearer token a line; requests must carry one of them, except those to / and
    /// /health and the preflights of pages of --allow-origin or --allow-all-origins.
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// Speak HTTPS with this certificate, PEM with those that lead to its root.
    #[cfg(feature = "tls")]
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_certificate: Option<PathBuf>,
    /// Key of the certificate, PEM.
    #[cfg(feature = "tls")]
    #[arg(long, value_name = "FILE", requires = "tls_certificate")]
    tls_key: Option<PathBuf>,
    /// When a write is acknowledged.
    #[arg(
        long,
        value_name = "LEVEL",
        value_enum,
        default_value_t = Durability::Disk,
        conflicts_with = "in_memory"
    )]
    durability: Durability,
    /// Seconds that a session lives without a write, where its maker says nothing.
    #[arg(
        long,
        value_name = "SECONDS",
        env = "SESSION_TTL",
        hide_env_values = true,
        default_value_t = 3600
    )]
    session_ttl: u64,
    /// Seconds that any session lives at most without a write, whatever its maker asks for.
    #[arg(long, value_name = "SECONDS", default_value_t = 30 * 24 * 60 * 60)]
    max_session_ttl: u64,
    /// Sessions at most. One more ends the session that was not used for longest, if that is longer
    /// than --session-ttl; otherwise it is refused.
    #[arg(long, value_name = "N", default_value = "100000")]
    max_sessions: NonZeroUsize,
    /// Nodes at most; beyond it no new one is made, and those that there are go on.
    #[arg(long, value_name = "N", default_value_t = 1_000_000)]
    max_nodes: usize,
    /// Records of training runs at most.
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    max_runs: usize,
    /// Go on without what is lost, for good: what missing or damaged files of the journal held of
    /// sessions, keys, runs, genes and lessons, from the start on; the knowledge of a node whose
    /// knowledge base is gone or too old, once the node is used. Move a damaged knowledge base
    /// away first. DIR/LOSSES lists what was lost.
    #[arg(long, conflicts_with = "in_memory")]
    accept_losses: bool,
    /// Let POST /admin/backups copy the running server into a new directory below this one, named
    /// by the time. Whoever may use the server may do so.
    #[arg(long, value_name = "DIR", conflicts_with = "in_memory", value_parser = directory())]
    backups: Option<PathBuf>,
    /// Refuse another backup where there are as many. Those that were broken off count, and those
    /// that a server was started on do not.
    #[arg(long, value_name = "N", default_value_t = 7, requires = "backups", conflicts_with_all = ["in_memory", "no_extensions"])]
    max_backups: usize,
    /// Remove the oldest backups instead, once a new one is whole, and those that were broken off.
    #[arg(long, requires = "backups", conflicts_with_all = ["in_memory", "no_extensions"])]
    prune_backups: bool,
    /// Leave so much of the disk free when a backup is made, so that learning can go on. Default:
    /// as much as the backup takes, 64 MiB at least and 4 GiB at most.
    #[arg(long, value_name = "SIZE", requires = "backups", conflicts_with_all = ["in_memory", "no_extensions"])]
    backup_reserve: Option<ByteSize>,
    /// Refuse requests larger than this.
    #[arg(long, value_name = "SIZE", default_value = "100MiB")]
    max_body: ByteSize,
    /// Memory for the bodies of all requests and what is read out of them; one that takes more
    /// than seven eighths of it is refused, others wait for room, 5 s at most.
    #[arg(long, value_name = "SIZE", default_value = "512MiB")]
    max_request_memory: ByteSize,
    /// Memory for all answers that clients have not read yet, and for what they are being made of;
    /// reads that would need more are refused.
    #[arg(long, value_name = "SIZE", default_value = "256MiB")]
    max_answer_memory: ByteSize,
    /// Memory for all that sessions remember; beyond it nothing more is observed. One session may
    /// take a sixteenth of it.
    #[arg(long, value_name = "SIZE", default_value = "512MiB")]
    max_session_memory: ByteSize,
    /// Memory for the names and genes of all nodes; beyond it no node is made and no genes grow.
    #[arg(long, value_name = "SIZE", default_value = "1GiB")]
    max_node_memory: ByteSize,
    /// Memory for what the nodes in memory have learned; those that are in use at the same moment may take more.
    /// With --data, the nodes that were not used for longest leave memory where there is more, and are read again
    /// when they are used; a node that takes half of it usually gets an index, and one that takes three quarters
    /// learns no more until it has one. With --in-memory, nothing is learned beyond it. What lies in an index on
    /// the disk is not counted. Default: half of the memory that the process may use.
    #[arg(long, visible_alias = "memory", value_name = "SIZE")]
    max_knowledge_memory: Option<ByteSize>,
    /// Write the index of a node on the disk when it has this many new patterns, or more where its
    /// last index is large; a node with emotives gets none. A server that starts again loads only
    /// what no index holds.
    #[arg(
        long,
        value_name = "N",
        default_value_t = 500_000,
        conflicts_with = "in_memory"
    )]
    index_after: u64,
    /// Neither write indexes nor use those that there are: what a node learned is loaded into memory.
    #[arg(long, conflicts_with_all = ["in_memory", "index_after"])]
    no_indexes: bool,
    /// Memory for the counts that /sessions/{id}/next answers from, and up to twice as much beside
    /// them while one is made; those that were not asked for longest make room.
    #[arg(long, value_name = "SIZE", default_value = "1GiB")]
    max_head_memory: ByteSize,
    /// Requests in flight at most; others are told to come back later.
    #[arg(long, value_name = "N", default_value_t = 4096)]
    max_requests: usize,
    /// Answer requests whose Host is this name, too. Without a token only those are answered otherwise
    /// whose Host is localhost or an address, on a loopback --addr one of loopback. Can be given several
    /// times.
    #[arg(long, value_name = "NAME", conflicts_with = "token_file")]
    allow_host: Vec<String>,
    /// Let web pages of this origin (such as http://localhost:3000) use the server. Can be given several times.
    #[arg(long, value_name = "ORIGIN")]
    allow_origin: Vec<String>,
    /// Let every web page use the server, as KATO does. Without a token, any page in a browser that
    /// reaches the server may read all that was learned, teach, and clear nodes.
    #[arg(long, conflicts_with_all = ["allow_origin", "allow_host"])]
    allow_all_origins: bool,
    /// Threads for the short requests of one node, 2 at least; auto is one per core. Default: twice
    /// the cores, 4 at least.
    #[arg(long, value_name = "N|auto", value_parser = machine::parse_threads)]
    workers: Option<NonZeroUsize>,
    /// Seconds that a thread works for one prediction; then it is ended and answered with status
    /// 504.
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    prediction_timeout: u64,
    /// Be as a stock KATO of --kato to all clients: no batches of learns or questions, no /sessions/{id}/next, no
    /// idempotency keys, no records of runs, no figures for Prometheus, nothing below /admin.
    #[arg(long, conflicts_with_all = ["backups", "max_runs", "max_head_memory"])]
    no_extensions: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Durability {
    /// What was learned is on the disk: it survives a power cut.
    Disk,
    /// It was handed to the operating system: it survives a kill.
    Os,
}

/// Runs `kato serve` and returns its exit code.
pub(crate) fn main(args: &Args) -> ExitCode {
    match run(args) {
        // Being stopped is how a server ends well.
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => failed(&error),
    }
}

/// Opens the service and serves it until a signal comes.
fn run(args: &Args) -> Result<()> {
    check_directories(args)?;
    let tokens = args.token_file.as_deref().map(read_tokens).transpose()?;
    let made = args.data.as_deref().filter(|dir| !dir.exists());
    let above = made.map(MissingParents::of);
    // Until the service is open, Ctrl-C ends the process at once.
    let service = open(args)?;
    let server = configure(Server::builder(service), args, tokens.unwrap_or_default())?;
    let stop = Arc::new(Notify::new());
    let stopping = Arc::clone(&stop);
    // A permit is kept, so a signal before the server waits for it is not lost.
    on_interrupt(
        Told::Logged("stopping: requests have 2 seconds to be answered"),
        Told::Logged(
            "stopped before everything was in the stores: the journal has it, and the next start reads it",
        ),
        move || stop.notify_one(),
    );
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("failed to start the threads of the server")?;
    let listens = Cell::new(false);
    let served = runtime.block_on(async {
        // The line on standard output is a promise: clients that wait for it can connect, and with
        // port 0 it is how they learn the port.
        let server = server.bind().await?;
        listens.set(true);
        // A closed standard output must not end a server.
        drop(writeln!(
            stdout(),
            "listening on {}://{}",
            scheme(args),
            server.local_addr()
        ));
        server
            .serve(async move { stopping.notified().await })
            .await?;
        Ok(())
    });
    // Threads that only read are not waited for.
    runtime.shutdown_background();
    if let Some(dir) = made.filter(|_| !listens.get()) {
        remove_unused(dir);
        above.iter().for_each(MissingParents::remove);
    }
    served
}

/// Removes the directory that a server has made which then could not listen: nobody taught it anything.
fn remove_unused(dir: &Path) {
    // Locked as a server does, so that it is not taken from one that began there since. The error of the
    // server is the one to tell.
    if let Ok(directory) = File::open(dir)
        && directory.try_lock().is_ok()
    {
        drop(fs::remove_dir_all(dir));
    }
}

/// Opens the sessions and the knowledge, or begins empty in memory.
fn open(args: &Args) -> Result<Service> {
    let knowledge = knowledge_memory(args)?;
    // Beside what the nodes have learned; with less it takes longer.
    let sort_memory = (knowledge / 4).clamp(LEAST_SORT_MEMORY, MOST_SORT_MEMORY);
    let options = ServiceOptions::default()
        .with_generation(args.kato)
        .with_durability(match args.durability {
            Durability::Disk => kato_service::Durability::Disk,
            Durability::Os => kato_service::Durability::Os,
        })
        .with_session_ttl(args.session_ttl)
        .with_max_session_ttl(args.max_session_ttl)
        .with_max_sessions(args.max_sessions.get())
        .with_max_nodes(args.max_nodes)
        .with_max_node_memory(bytes("--max-node-memory", args.max_node_memory)?)
        .with_max_knowledge_memory(knowledge)
        .with_indexes(!args.no_indexes)
        .with_index_after_patterns(args.index_after)
        .with_index_sort_memory(sort_memory)
        .with_max_head_memory(bytes("--max-head-memory", args.max_head_memory)?)
        .with_max_runs(args.max_runs)
        .with_accept_losses(args.accept_losses)
        .with_backup_reserve(args.backup_reserve.map(|size| size.0))
        .with_max_session_memory(bytes("--max-session-memory", args.max_session_memory)?);
    let options = environment::configured(options, |name| {
        std::env::var_os(name).map(|value| value.to_string_lossy().into_owned())
    })?;
    Ok(match &args.data {
        Some(dir) => Service::open(dir, options)?,
        None => Service::in_memory(options),
    })
}

/// Returns the memory for what the nodes have learned.
fn knowledge_memory(args: &Args) -> Result<usize> {
    if let Some(size) = args.max_knowledge_memory {
        return bytes("--max-knowledge-memory", size);
    }
    let half = memory_limit().map(|bytes| bytes / 2);
    // Where the system tells nothing, nothing is known that could be kept to.
    Ok(half
        .and_then(|bytes| usize::try_from(bytes).ok())
        .unwrap_or(usize::MAX))
}

/// Sets what the arguments say of the server.
fn configure(server: ServerBuilder, args: &Args, tokens: Vec<String>) -> Result<ServerBuilder> {
    let mut server = server
        .with_addr(args.addr)
        .with_max_body_bytes(bytes("--max-body", args.max_body)?)
        .with_max_request_memory(bytes("--max-request-memory", args.max_request_memory)?)
        .with_max_answer_memory(bytes("--max-answer-memory", args.max_answer_memory)?)
        .with_cors(args.allow_all_origins)
        .with_max_concurrent_requests(args.max_requests)
        .with_prediction_timeout(Duration::from_secs(args.prediction_timeout))
        .with_shutdown_timeout(SHUTDOWN_TIMEOUT)
        .with_extensions(!args.no_extensions);
    if let Some(workers) = args.workers {
        server = server.with_workers(workers.get());
    }
    if args.no_extensions {
        // A stock server of another generation does not know the endpoints of that one either.
        server = server.with_generation_2025_10(false);
    }
    #[cfg(feature = "tls")]
    if let (Some(certificate), Some(key)) = (&args.tls_certificate, &args.tls_key) {
        server = server.with_tls(certificate, key);
    }
    if let Some(dir) = &args.backups {
        server = server
            .with_backups(dir)
            .with_max_backups(args.max_backups)
            .with_pruned_backups(args.prune_backups);
    }
    let hosts = args.allow_host.iter();
    server = hosts.fold(server, ServerBuilder::with_allowed_host);
    let origins = args.allow_origin.iter();
    server = origins.fold(server, ServerBuilder::with_allowed_origin);
    Ok(tokens.into_iter().fold(server, ServerBuilder::with_token))
}

/// Refuses places that are something else, before anything is made there.
fn check_directories(args: &Args) -> Result<()> {
    if args.data.is_some() && args.data == args.backups {
        bail_as!(
            Usage,
            "--backups and --data name one directory: name another for the copies"
        );
    }
    let directories = [("--data", &args.data), ("--backups", &args.backups)];
    for (flag, dir) in directories {
        let Some(dir) = dir else { continue };
        let shown = dir.display();
        refuse_file(flag, dir)?;
        if EmbeddedStore::exists(dir) {
            bail_as!(
                Conflict,
                "{flag} {shown} is a knowledge base: name a directory that is the server's own"
            );
        }
    }
    Ok(())
}

/// Returns the scheme of the server's address.
fn scheme(args: &Args) -> &'static str {
    #[cfg(feature = "tls")]
    if args.tls_certificate.is_some() {
        return "https";
    }
    // Without the feature `tls` nothing reads the arguments.
    let _ = args;
    "http"
}

/// Returns a size as a number of bytes in memory.
///
/// # Errors
///
/// When this machine cannot address as many; the error names the option.
fn bytes(option: &str, size: ByteSize) -> Result<usize> {
    usize::try_from(size.0).with_context(|| format!("{option} is too large"))
}
