//! What takes the time of the stage that bounds a run.

use super::advice::percent;
use super::attribution::Attribution;
use super::{Cause, Evidence};
use crate::summary::{CallSummary, ProfilingSummary, StageSummary};

/// What takes a stage's time.
pub(super) struct Finding {
    pub(super) cause: Cause,
    /// The share of the active time that the cause takes.
    pub(super) share: f64,
    pub(super) evidence: Vec<Evidence>,
}

impl Finding {
    /// One thread works, the others are used so much.
    pub(super) fn of_skew(used: f64, others: f64) -> Self {
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
    /// What takes the time of the stage that bounds the run.
    pub(super) fn finding(&self, summary: &ProfilingSummary, stage: &StageSummary) -> Finding {
        let active = stage.times.active().max(f64::MIN_POSITIVE);
        let server = stage.times.blocked_server / active;
        let lock = stage.times.blocked_lock / active;
        let disk = stage.times.blocked_disk / active;
        let busy = stage.times.busy / active;
        if lock >= self.lock_share && lock >= server && lock >= disk {
            return Finding {
                cause: Cause::Lock,
                share: lock,
                evidence: vec![share("lock", lock, "waited for a lock")],
            };
        }
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

    /// A stage that is busy: does it compute, wait for a processor, or neither?
    fn busy(&self, summary: &ProfilingSummary, stage: &StageSummary, busy: f64) -> Finding {
        let mut evidence = vec![share("busy", busy, "was busy")];
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
        let (cpu_share, delay_share) = ((cpu / watched).min(1.0), (delay / watched).min(1.0));
        let rest = (1.0 - cpu_share - delay_share).max(0.0);
        evidence.push(Evidence::new(
            "cpu",
            cpu_share,
            format!(
                "it was on a processor {} of its busy time",
                percent(cpu_share)
            ),
        ));
        evidence.push(Evidence::new(
            "run_delay",
            delay_share,
            format!(
                "it waited for a processor {} of its busy time",
                percent(delay_share)
            ),
        ));
        if let Some(found) = self.contention(summary, busy) {
            evidence.extend(found.evidence);
            return Finding { evidence, ..found };
        }
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
        if rest > cpu_share + delay_share {
            evidence.push(Evidence::new(
                "unmarked",
                rest,
                format!("it slept without a mark {} of its busy time", percent(rest)),
            ));
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

    /// The quota of the cgroup held the process back.
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

    pub(super) fn memory(&self, summary: &ProfilingSummary, active: f64) -> Option<Finding> {
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
            share: active * stall.unwrap_or(0.5).max(0.5),
            evidence,
        })
    }

    fn server(&self, summary: &ProfilingSummary, stage: &StageSummary, waits: f64) -> Finding {
        let mut evidence = vec![share("server", waits, "waited for a server")];
        let slowest =
            |a: &&CallSummary, b: &&CallSummary| a.mean_in_flight.total_cmp(&b.mean_in_flight);
        let calls = summary.calls.iter().max_by(slowest);
        let measured = calls.and_then(|calls| Some((calls, calls.latency?)));
        let seconds = stage.times.blocked_server;
        // Without timed calls, an item is taken for a call.
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

    fn disk(&self, summary: &ProfilingSummary, stage: &StageSummary, waits: f64) -> Finding {
        let mut evidence = vec![share("disk", waits, "waited for a disk")];
        let read = summary.disk.read_bytes;
        let written = summary.disk.written_bytes;
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

pub(super) fn share(name: &str, value: f64, did: &str) -> Evidence {
    Evidence::new(
        name,
        value,
        format!("it {did} {} of its active time", percent(value)),
    )
}
