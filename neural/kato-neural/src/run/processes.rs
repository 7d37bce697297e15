//! Replicas that are processes: this program once more, beside the one that starts them.

mod place;
#[cfg(all(test, target_os = "linux"))]
mod tests;

use std::ffi::OsStr;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use kato_advice::ErrorClass;

use crate::collective::{CollectiveError, TcpGroup, TcpOptions};
use place::Place;

pub use place::replica_group;

/// Why replicas could not be run as processes.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReplicaError {
    /// The program could not be started once more, or not be told its place.
    #[error("the program cannot be started once more; take replicas that are threads")]
    Start {
        /// Why.
        #[from]
        source: io::Error,
    },
    /// The processes did not come together.
    #[error("the processes did not come together")]
    Together {
        /// Why.
        #[from]
        source: CollectiveError,
    },
    /// One of them was waited for too long, and is ended.
    #[error(
        "replica {rank}, process {process}, had said nothing for {} s and was ended: it was stopped, or its share takes \
         longer; `resume` goes on from the last checkpoint, with a larger `training.silence_s` in the run's settings if \
         its share does",
        waited.as_secs()
    )]
    Silent {
        /// Its number.
        rank: usize,
        /// What the system calls it.
        process: u32,
        /// How long it was waited for.
        waited: Duration,
    },
    /// One of them failed.
    #[error("replica {rank} failed: {said}")]
    Failed {
        /// Its number.
        rank: usize,
        /// What it said, or how it ended.
        said: String,
    },
}

impl ReplicaError {
    /// Returns what a caller can do about the error.
    #[must_use]
    pub fn class(&self) -> ErrorClass {
        match self {
            Self::Start { source } => ErrorClass::of_io(source.kind()),
            _ => ErrorClass::Other,
        }
    }
}

/// What the first replica knows of the others when it ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum OtherReplicas {
    /// They are through as well.
    Through,
    /// One of them is gone, and says why.
    OneGone,
    /// This one was waited for too long.
    Silent(usize),
    /// They are not needed any more: the first one has failed.
    Needless,
}

/// The processes that train beside this one.
#[derive(Debug)]
pub struct ReplicaProcesses {
    /// By rank, from 1.
    children: Vec<Child>,
    /// What each has said, when it has ended.
    words: Receiver<(usize, String)>,
    limit: Duration,
}

impl ReplicaProcesses {
    /// Starts this program `n - 1` times with the arguments, each with its place on standard input, and
    /// waits until all have called [`replica_group`]. This process is the first replica, and waits up to `limit` for a
    /// word of another one, then and in each exchange.
    ///
    /// # Errors
    ///
    /// [`ReplicaError::Start`] and [`ReplicaError::Together`].
    pub fn start<S: AsRef<OsStr>>(
        n: usize,
        arguments: &[S],
        limit: Duration,
    ) -> Result<(Self, TcpGroup), ReplicaError> {
        // The loopback alone: what travels there is not encrypted.
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        // Drawn by the system and told over pipes alone: other programs of this machine reach the port, and must not
        // be taken for replicas. It decides nothing of the result.
        let key = RandomState::new().build_hasher().finish();
        let place = |rank| Place {
            address,
            rank,
            n,
            key,
        };
        let (sender, words) = channel();
        let mut processes = Self {
            children: Vec::new(),
            words,
            limit,
        };
        for rank in 1..n {
            match start(arguments, &place(rank), sender.clone()) {
                Ok(child) => processes.children.push(child),
                Err(error) => {
                    // Those that run would look for the others on and on.
                    drop(processes.finish(OtherReplicas::Needless));
                    return Err(error.into());
                }
            }
        }
        drop(sender);
        let mut all_run = || {
            let mut children = processes.children.iter_mut();
            children.all(|child| matches!(child.try_wait(), Ok(None)))
        };
        let options = TcpOptions::new(address, 0, n, key);
        let options = options.with_timeout(limit).with_exchange_timeout(limit);
        match TcpGroup::lead(&listener, options, &mut all_run) {
            Ok(group) => Ok((processes, group)),
            Err(error) => {
                // One that could not begin says why; the others would look for this one on and on.
                let others = match error {
                    CollectiveError::Missing { first, waited, .. } if waited > limit => {
                        OtherReplicas::Silent(processes.silent_of(first..n).unwrap_or(first))
                    }
                    _ => OtherReplicas::OneGone,
                };
                Err(processes.finish(others).err().unwrap_or(error.into()))
            }
        }
    }

    /// Waits until all have ended, or until it is known which one has failed: then the others are ended, as nobody asks
    /// for what they compute.
    ///
    /// # Errors
    ///
    /// [`ReplicaError::Failed`] with the words of one that failed; one that only found the others gone is to end with
    /// a failure and no words. [`ReplicaError::Silent`] for one that was, or that has not ended within the limit.
    pub fn finish(mut self, others: OtherReplicas) -> Result<(), ReplicaError> {
        let ended = match others {
            OtherReplicas::Silent(rank) => Err(self.silent(rank)),
            OtherReplicas::Needless => Ok(()),
            OtherReplicas::Through | OtherReplicas::OneGone => self.wait(),
        };
        for child in &mut self.children {
            // One that has ended by itself is none to be killed; one that is stopped would be waited for without end.
            drop(child.kill());
            child.wait()?;
        }
        ended
    }

    /// Waits until all have ended by themselves, or one of them with a word of its own.
    fn wait(&mut self) -> Result<(), ReplicaError> {
        let begun = Instant::now();
        let mut running: Vec<usize> = (1..=self.children.len()).collect();
        loop {
            // A limit may be longer than any clock goes.
            let left = self.limit.saturating_sub(begun.elapsed());
            let (rank, said) = match self.words.recv_timeout(left) {
                Ok(heard) => heard,
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
                Err(RecvTimeoutError::Timeout) => {
                    return match self.silent_of(running) {
                        Some(rank) => Err(self.silent(rank)),
                        None => Ok(()),
                    };
                }
            };
            running.retain(|&other| other != rank);
            let status = self.children[rank - 1].wait()?;
            // Killed, by the system where memory is short.
            let is_killed = status.code().is_none();
            if !status.success() && (is_killed || !said.is_empty()) {
                let said = if said.is_empty() {
                    status.to_string()
                } else {
                    said
                };
                return Err(ReplicaError::Failed { rank, said });
            }
        }
    }

    /// Returns which of some replicas, all of which have said nothing, is the cause of it: one that is stopped, where the
    /// system tells of it, since the others may only be slow. Else any is, and it is the first.
    fn silent_of(&self, ranks: impl IntoIterator<Item = usize>) -> Option<usize> {
        let mut ranks = ranks.into_iter().peekable();
        let first = ranks.peek().copied();
        let process = |rank: usize| self.children.get(rank.wrapping_sub(1)).map(Child::id);
        ranks
            .find(|&rank| process(rank).is_some_and(is_stopped))
            .or(first)
    }

    fn silent(&self, rank: usize) -> ReplicaError {
        ReplicaError::Silent {
            rank,
            process: self.children.get(rank.wrapping_sub(1)).map_or(0, Child::id),
            waited: self.limit,
        }
    }
}

/// Tells whether a process is stopped, by a signal or a debugger; `false` where the system does not tell.
fn is_stopped(process: u32) -> bool {
    let facts = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    // The state stands behind the program's name, which is in brackets and may hold any letter.
    let state = facts.rsplit_once(") ").map(|(_, rest)| rest);
    state.is_some_and(|state| state.starts_with(['T', 't']))
}

/// Starts one process, and listens to what it says.
fn start<S: AsRef<OsStr>>(
    arguments: &[S],
    place: &Place,
    told: Sender<(usize, String)>,
) -> io::Result<Child> {
    let mut child = Command::new(std::env::current_exe()?)
        .args(arguments)
        .stdin(Stdio::piped())
        // The first replica's output is the program's.
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()?;
    if let Some(mut input) = child.stdin.take() {
        // One that has ended already does not read it; whoever waits for it tells why.
        drop(input.write_all(place.to_line().as_bytes()));
    }
    let (words, rank) = (child.stderr.take(), place.rank);
    // Read as it comes: a full pipe would stop the process.
    thread::spawn(move || {
        let mut said = String::new();
        if let Some(mut words) = words {
            // What is no text, nobody could be told.
            let _ = words.read_to_string(&mut said);
        }
        let said = said.trim().trim_start_matches("error: ").to_owned();
        // Nobody listens any more where all are ended.
        let _ = told.send((rank, said));
    });
    Ok(child)
}
