//! Finds what takes the time of the stage that bounds a run.

use super::advice::percent;
use super::attribution::Attribution;
use super::{Cause, Evidence};
use crate::summary::{CallSummary, ProfilingSummary, StageSummary};

/// The cause that takes a stage's time.
pub(super) struct Finding {
    pub(super) cause: Cause,
    /// The share of the active time that the cause takes.
    pub(super) share: f64,
    pub(super) evidence: Vec<Evidence>,
}

impl Finding {
    /// Creates the finding that one thread works while the others are used this much.
    pub(super) fn from_skew(used: f64, others: f64) -> Self {
        Self {
            cause: Cause::Skew,
            share: 1.0 - others / used,
            evidence: vec![Evidence::new(
                "others_utilisation",
                others,
                format!(
                    "the other threads of the stage had work in hand {} of the time",
                    percent(others)
                ),
            )],
        }
    }
}

impl Attribution {
    /// Returns what takes the time of the stage that bounds the run.
    pub(super) fn finding(&self, summary: &ProfilingSummary, stage: &StageSummary) -> Finding {
        // Not zero, so that the shares of a stage without active time are zero.
        let active = stage.times.active().max(f64::MIN_POSITIVE);
        let server = stage.times.blocked_server / active;
        let lock = stage.times.blocked_lock / active;
        let disk = stage.times.blocked_disk / active;
        let busy = stage.times.busy / active;
        // The steps and their order are those of docs/profiling.md, "The verdict". A lock needs a
        // smaller share than the causes below, which have to dominate.
        if lock >= self.lock_share && lock >= server && lock >= disk {
            return Finding {
                cause: Cause::Lock,
                share: lock,
                evidence: vec![share("lock", lock, "waited for a lock")],
            };
        }
        // Memory that is short makes computing and disks slow, so it comes before both. It does not
        // explain a wait for a server.
        if busy + disk >= server
            && let Some(found) = self.memory(summary, busy + disk)
        {
            return found;
        }
        if server >= busy && server >= disk {
            return self.server(summary, stage, server);
        }
        if disk >= busy {
            return self.disk(summary, stage, disk);
        }
        self.busy(summary, stage, busy)
    }

    /// Returns whether a busy stage computes, waits for a processor, or does neither.
    fn busy(&self, summary: &ProfilingSummary, stage: &StageSummary, busy: f64) -> Finding {
        let mut evidence = vec![share("busy", busy, "was busy")];
        // Without figures of its threads, only the quota of the whole process can be examined.
        let (Some(cpu), Some(delay)) = (stage.cpu_seconds, stage.run_delay_seconds) else {
            if let Some(found) = self.contention(summary, busy) {
                return found;
            }
            return Finding {
                cause: Cause::Cpu,
                share: busy,
                evidence,
            };
        };
        let watched = stage.watched_busy_seconds.max(f64::MIN_POSITIVE);
        // Threads and processor time are read at slightly different moments, so a share may exceed
        // 1.
        let (cpu_share, delay_share) = ((cpu / watched).min(1.0), (delay / watched).min(1.0));
        let rest = (1.0 - cpu_share - delay_share).max(0.0);
        let of_busy = |name, what, share| {
            let text = format!("it {what} {} of its busy time", percent(share));
            Evidence::new(name, share, text)
        };
        evidence.push(of_busy("cpu", "was on a processor", cpu_share));
        evidence.push(of_busy("run_delay", "waited for a processor", delay_share));
        // A quota is certain, where the delay of threads can have several reasons.
        if let Some(found) = self.contention(summary, busy) {
            evidence.extend(found.evidence);
            return Finding { evidence, ..found };
        }
        // A process that fills its cores delays its own threads, which is computing and not
        // contention.
        let own = summary.cpu.mean_share.unwrap_or(0.0);
        if delay >= self.contention_share * (cpu + delay)
            && delay_share >= rest
            && own < self.own_cpu_share
        {
            return Finding {
                cause: Cause::CpuContention,
                share: busy * delay_share,
                evidence,
            };
        }
        // Neither on a processor nor waiting for one: the threads slept while they were marked as
        // busy.
        if rest > cpu_share + delay_share {
            evidence.push(Evidence::new(
                "unmarked",
                rest,
                format!("it slept without a mark {} of its busy time", percent(rest)),
            ));
            // The kernel's state of the threads distinguishes a disk from other reasons to sleep.
            if stage.disk_sleep_share.unwrap_or(0.0) >= 0.3 {
                let found = self.disk(summary, stage, busy * rest);
                evidence.extend(found.evidence);
                return Finding { evidence, ..found };
            }
            return Finding {
                cause: Cause::Unmarked,
                share: busy * rest,
                evidence,
            };
        }
        Finding {
            cause: Cause::Cpu,
            share: busy,
            evidence,
        }
    }

    /// Returns the finding that the quota of the cgroup held the process back, if it did.
    pub(super) fn contention(&self, summary: &ProfilingSummary, busy: f64) -> Option<Finding> {
        let throttled = summary.cpu.throttled_seconds? / summary.duration_seconds.max(1e-9);
        (throttled >= self.throttled_share).then(|| Finding {
            cause: Cause::CpuContention,
            share: busy * throttled.min(1.0),
            evidence: vec![Evidence::new(
                "throttled",
                throttled,
                format!(
                    "its quota held the cgroup back {} of the time",
                    percent(throttled)
                ),
            )],
        })
    }

    /// Returns the finding that memory is short, if it is.
    pub(super) fn memory(&self, summary: &ProfilingSummary, active: f64) -> Option<Finding> {
        // The cgroup's figure is preferred: other processes may stall the machine.
        let own = summary.cgroup_pressure.and_then(|p| p.memory_some);
        let stall = own.or(summary.pressure.and_then(|p| p.memory_some));
        let faults =
            summary.process.major_faults.unwrap_or(0) as f64 / summary.duration_seconds.max(1e-9);
        let used = summary.memory.share_used.map_or(0.0, |share| share.peak);
        let mut evidence = Vec::new();
        if let Some(stall) = stall.filter(|stall| *stall >= self.memory_stall_share) {
            evidence.push(Evidence::new(
                "memory_stall",
                stall,
                format!("tasks stalled for memory {} of the time", percent(stall)),
            ));
        }
        // A full memory alone is no harm; pages that come back from disk are.
        if used >= 0.9 && faults >= 50.0 {
            evidence.push(Evidence::new(
                "memory_used",
                used,
                format!("memory was used up to {}", percent(used)),
            ));
        }
        if evidence.is_empty() {
            return None;
        }
        if faults > 0.0 {
            evidence.push(Evidence::new(
                "major_faults_per_second",
                faults,
                format!("{faults:.0} page faults a second needed a disk"),
            ));
        }
        Some(Finding {
            cause: Cause::MemoryPressure,
            // Where stalls are unknown or short, half of the time stands for them: faults show the
            // cause and not its share.
            share: active * stall.unwrap_or(0.5).max(0.5),
            evidence,
        })
    }

    /// Returns whether a stage waits for a slow server or for many short round trips.
    fn server(&self, summary: &ProfilingSummary, stage: &StageSummary, waits: f64) -> Finding {
        let mut evidence = vec![share("server", waits, "waited for a server")];
        // Calls to several peers: the one with the most calls under way takes the most time.
        let slowest =
            |a: &&CallSummary, b: &&CallSummary| a.mean_in_flight.total_cmp(&b.mean_in_flight);
        let calls = summary.calls.iter().max_by(slowest);
        let measured = calls.and_then(|calls| Some((calls, calls.latency?)));
        let seconds = stage.times.blocked_server;
        // Without timed calls, an item counts as a call.
        let (trip, in_flight) = match measured {
            Some((calls, latency)) => {
                evidence.push(Evidence::new(
                    "round_trip",
                    latency.p50,
                    format!(
                        "half of {} round trips to {} took {:.2} ms or more, 1 % {:.2} ms or more",
                        latency.count,
                        calls.peer,
                        1e3 * latency.p50,
                        1e3 * latency.p99
                    ),
                ));
                (latency.p50, calls.mean_in_flight)
            }
            None => (
                seconds / stage.items.max(1) as f64,
                seconds / summary.duration_seconds.max(1e-9),
            ),
        };
        evidence.push(Evidence::new(
            "in_flight",
            in_flight,
            format!("{in_flight:.1} calls were on their way at a time"),
        ));
        // Short trips one at a time: the server has time to spare, and more calls at a time would
        // help. With many under way it has none.
        let is_latency = trip < self.short_round_trip && in_flight <= 1.5;
        Finding {
            cause: match is_latency {
                true => Cause::Latency,
                false => Cause::Server,
            },
            share: waits,
            evidence,
        }
    }

    /// Returns whether a stage waits for the throughput of a disk or for flushes.
    fn disk(&self, summary: &ProfilingSummary, stage: &StageSummary, waits: f64) -> Finding {
        let mut evidence = vec![share("disk", waits, "waited for a disk")];
        let read = summary.disk.read_bytes;
        let written = summary.disk.written_bytes;
        // Figures of the process: what other stages read and wrote is in them too.
        let bytes = read.unwrap_or(0) + written.unwrap_or(0);
        let is_known = read.is_some() || written.is_some();
        let each = bytes as f64 / stage.items.max(1) as f64;
        if is_known {
            evidence.push(Evidence::new(
                "bytes_per_item",
                each,
                format!(
                    "{:.2} MB went to or from disks for each of its {} items",
                    each * 1e-6,
                    stage.items
                ),
            ));
        }
        // Reading does not wait for flushes, so most of the bytes have to be written ones.
        let is_flush = is_known && each < self.flush_bytes && read <= written;
        Finding {
            cause: match is_flush {
                true => Cause::DiskFlush,
                false => Cause::DiskThroughput,
            },
            share: waits,
            evidence,
        }
    }
}

/// Returns the evidence for a share of a stage's active time.
pub(super) fn share(name: &str, value: f64, did: &str) -> Evidence {
    Evidence::new(
        name,
        value,
        format!("it {did} {} of its active time", percent(value)),
    )
}
