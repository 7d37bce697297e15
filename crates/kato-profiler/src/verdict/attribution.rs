//! The default judge: finds the stage that has work in hand all the time, and what it does with
//! that time.

use super::advice::{advice, percent};
use super::finding::{Finding, share};
use super::{Cause, Evidence, Gain, Verdict};
use crate::summary::{ProfilingSummary, StageSummary};

/// A judge that finds the stage that is used most fully, and what takes its time. The rules and
/// thresholds are in `docs/profiling.md`; these thresholds can be set.
///
/// It reads the summary alone, so a profile that was exported can be judged again.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Attribution {
    /// Least utilisation with which a stage can bound a run.
    pub min_utilisation: f64,
    /// Share of a stage's active time from which on lock waits are the cause.
    pub lock_share: f64,
    /// Share of its time from which on a first stage that waits for input has too slow a source. A
    /// stage that waits for room for as long, while none after it works, waits for something
    /// unmarked.
    pub wait_share: f64,
    /// Share of the time from which on being held back by a quota is the cause.
    pub throttled_share: f64,
    /// Share of computing and waiting from which on waiting for a processor is the cause, unless
    /// the process itself has the processors.
    pub contention_share: f64,
    /// Share of its cores from which on a process has the processors itself.
    pub own_cpu_share: f64,
    /// Share of the time from which on memory stalls are the cause.
    pub memory_stall_share: f64,
    /// Bytes for each item of a stage that waits for a disk, below which flushing takes the time.
    pub flush_bytes: f64,
    /// Seconds below which round trips that come one at a time are latency.
    pub short_round_trip: f64,
    /// Least utilisation of the busiest thread with which uneven work can be the cause.
    pub skew_utilisation: f64,
    /// Greatest share of that utilisation that the other threads of its stage may have then.
    pub skew_ratio: f64,
}

impl Default for Attribution {
    fn default() -> Self {
        Self {
            min_utilisation: 0.1,
            lock_share: 0.3,
            wait_share: 0.5,
            throttled_share: 0.2,
            contention_share: 0.5,
            own_cpu_share: 0.8,
            memory_stall_share: 0.2,
            flush_bytes: 256.0 * 1024.0,
            short_round_trip: 0.02,
            skew_utilisation: 0.6,
            skew_ratio: 0.5,
        }
    }
}

/// A stage as a candidate for the bottleneck.
struct Candidate<'a> {
    stage: &'a StageSummary,
    /// Its utilisation; that of its busiest thread if the work is uneven.
    used: f64,
    /// Its busiest thread, and how much the others are used.
    skew: Option<(String, f64)>,
}

impl Attribution {
    /// Judges a run.
    #[must_use]
    pub fn judge(&self, summary: &ProfilingSummary) -> Verdict {
        let mut candidates: Vec<_> = summary
            .stages
            .iter()
            .filter(|stage| stage.times.present() > 0.0)
            .map(|stage| self.candidate(stage))
            .collect();
        if candidates.is_empty() {
            return self.judge_resources(summary);
        }
        // Before sorting: this rule needs the first stage of the pipeline, not the busiest.
        if let Some(verdict) = self.source(summary, &candidates) {
            return verdict;
        }
        // A stable sort: of equally used stages the one upstream comes first.
        candidates.sort_by(|a, b| b.used.total_cmp(&a.used));
        let Some((bound, others)) = candidates.split_first() else {
            return Verdict::default();
        };
        // Stages that hardly work cannot bound the run, whichever of them works most.
        if bound.used < self.min_utilisation {
            return self.judge_unmarked(summary, bound);
        }
        let finding = match &bound.skew {
            Some((_, others)) => Finding::from_skew(bound.used, *others),
            None => self.finding(summary, bound.stage),
        };
        let next = others.first();
        let mut evidence = vec![utilisation(bound)];
        evidence.extend(finding.evidence);
        evidence.extend(next.map(next_utilisation));
        evidence.extend(neighbours(summary, bound.stage));
        // The distance to the next stage, relative to the utilisation; 1 without a next stage.
        let margin = next.map_or(1.0, |next| {
            ((bound.used - next.used) / bound.used).clamp(0.0, 1.0)
        });
        Verdict {
            stage: Some(bound.stage.name.clone()),
            cause: finding.cause,
            // The formula of docs/profiling.md, "The verdict". It orders verdicts and is no
            // probability.
            confidence: bound.used.min(1.0) * (0.5 + 0.5 * finding.share) * (0.7 + 0.3 * margin),
            advice: advice(finding.cause, summary, bound.stage),
            gain: gain(bound, next, finding.share),
            evidence,
        }
    }

    /// Returns a stage with its utilisation, which is that of one thread if the work is uneven.
    fn candidate<'a>(&self, stage: &'a StageSummary) -> Candidate<'a> {
        let mut used: Vec<(&str, f64)> = stage
            .threads
            .iter()
            .filter(|thread| thread.times.present() > 0.0)
            .map(|thread| {
                // Shares of the thread's own presence: threads that came late are not taken for
                // idle ones.
                let share = thread.times.active() / thread.times.present();
                (thread.label.as_str(), share)
            })
            .collect();
        used.sort_by(|a, b| b.1.total_cmp(&a.1));
        let even = Candidate {
            stage,
            used: stage.utilisation,
            skew: None,
        };
        let Some(((label, most), others)) = used.split_first() else {
            return even;
        };
        if others.is_empty() || *most < self.skew_utilisation {
            return even;
        }
        // One thread with everything to do looks like a half-used stage, and yet bounds the run.
        let mean = others.iter().map(|(_, share)| share).sum::<f64>() / others.len() as f64;
        if mean > self.skew_ratio * most {
            return even;
        }
        Candidate {
            stage,
            used: *most,
            skew: Some(((*label).to_owned(), mean)),
        }
    }

    /// Returns the verdict that all stages wait, the first one for input; `None` if that is not so.
    fn source(&self, summary: &ProfilingSummary, candidates: &[Candidate<'_>]) -> Option<Verdict> {
        let first = candidates.first()?;
        let times = &first.stage.times;
        let starved = times.starved / times.present();
        let most = candidates.iter().map(|c| c.used).fold(0.0, f64::max);
        // A first stage with uneven work starves some threads while another bounds the run.
        if starved < self.wait_share || most > starved || first.skew.is_some() {
            return None;
        }
        Some(Verdict {
            stage: Some(first.stage.name.clone()),
            cause: Cause::Source,
            confidence: starved * (1.0 - 0.5 * most),
            evidence: vec![
                Evidence::new(
                    "starved",
                    starved,
                    format!(
                        "the first stage waited for input {} of the time",
                        percent(starved)
                    ),
                ),
                Evidence::new(
                    "utilisation",
                    most,
                    format!(
                        "no stage had work in hand more than {} of the time",
                        percent(most)
                    ),
                ),
            ],
            advice: advice(Cause::Source, summary, first.stage),
            // With an endless source the busiest stage would be the next bound.
            gain: gain_up_to(
                most,
                candidates.iter().max_by(|a, b| a.used.total_cmp(&b.used)),
            ),
        })
    }

    /// Returns the verdict for stages of which none has work: the wait is somewhere else.
    fn judge_unmarked(&self, summary: &ProfilingSummary, bound: &Candidate<'_>) -> Verdict {
        let waits = summary.stages.iter().max_by(|a, b| {
            a.times
                .blocked_downstream
                .total_cmp(&b.times.blocked_downstream)
        });
        let waits = waits.unwrap_or(bound.stage);
        // Not divided by zero: a stage without time has a share of 0 and not NaN.
        let share = waits.times.blocked_downstream / waits.times.present().max(f64::MIN_POSITIVE);
        if share < self.wait_share {
            return Verdict {
                confidence: 1.0 - bound.used,
                advice: advice(Cause::Idle, summary, waits),
                ..Verdict::default()
            };
        }
        Verdict {
            stage: Some(waits.name.clone()),
            cause: Cause::Unmarked,
            confidence: 0.5 * share,
            evidence: vec![Evidence::new(
                "blocked_downstream",
                share,
                format!(
                    "it waited for room downstream {} of the time, but no stage there had work in hand",
                    percent(share)
                ),
            )],
            advice: advice(Cause::Unmarked, summary, waits),
            gain: None,
        }
    }

    /// Returns the verdict without marks, from resources alone.
    fn judge_resources(&self, summary: &ProfilingSummary) -> Verdict {
        let nothing = StageSummary::default();
        let own = summary.cpu.mean_share.unwrap_or(0.0);
        let found = self
            .contention(summary, 1.0)
            .or_else(|| self.memory(summary, 1.0))
            .or_else(|| {
                (own >= self.own_cpu_share).then(|| Finding {
                    cause: Cause::Cpu,
                    share: own,
                    evidence: vec![share("cpu", own, "used its cores")],
                })
            });
        let finding = found.unwrap_or(Finding {
            cause: Cause::Idle,
            // Marked stages that have nothing to do are certain; without marks it may be anything.
            share: if summary.stages.is_empty() {
                0.0
            } else {
                1.0 - own
            },
            evidence: Vec::new(),
        });
        Verdict {
            stage: None,
            cause: finding.cause,
            confidence: match summary.stages.is_empty() {
                // What resources alone suggest is never more than half certain.
                true => 0.5 * finding.share.min(1.0),
                false => finding.share.min(1.0),
            },
            advice: advice(finding.cause, summary, &nothing),
            evidence: finding.evidence,
            gain: None,
        }
    }
}

/// Says how much work in hand the stage had that bounds the run.
fn utilisation(bound: &Candidate<'_>) -> Evidence {
    let text = match &bound.skew {
        Some((label, _)) => {
            format!(
                "its thread \"{label}\" had work in hand {} of the time",
                percent(bound.used)
            )
        }
        None => format!(
            "it had work in hand {} of the time on {} thread{}",
            percent(bound.used),
            bound.stage.capacity,
            if bound.stage.capacity == 1 { "" } else { "s" }
        ),
    };
    Evidence::new("utilisation", bound.used, text)
}

/// Says how much work in hand the next stage had.
fn next_utilisation(next: &Candidate<'_>) -> Evidence {
    let text = format!(
        "the next stage, \"{}\", had work in hand {} of the time",
        next.stage.name,
        percent(next.used)
    );
    Evidence::new("next_utilisation", next.used, text)
}

/// Returns the stages before a stage that wait for room, and those after it that wait for input.
fn neighbours(summary: &ProfilingSummary, bound: &StageSummary) -> Vec<Evidence> {
    let at = summary.stages.iter().position(|s| s.name == bound.name);
    let at = at.unwrap_or(0);
    let mut evidence = Vec::new();
    for (other, stage) in summary.stages.iter().enumerate() {
        let present = stage.times.present();
        if other == at || present <= 0.0 {
            continue;
        }
        let (name, waits, what) = if other < at {
            let waits = stage.times.blocked_downstream / present;
            ("upstream_blocked", waits, "room downstream")
        } else {
            ("downstream_starved", stage.times.starved / present, "input")
        };
        // Short waits occur in every pipeline and are no evidence.
        if waits >= 0.3 {
            evidence.push(Evidence::new(
                name,
                waits,
                format!(
                    "stage \"{}\" waited for {what} {} of the time",
                    stage.name,
                    percent(waits)
                ),
            ));
        }
    }
    evidence
}

/// Returns what removing the cause can gain at most. Throughput X leaves stage j used by u_j, so no
/// change to other stages can bring more than X / u_j. The stage itself keeps what the cause does
/// not take.
fn gain(bound: &Candidate<'_>, next: Option<&Candidate<'_>>, share: f64) -> Option<Gain> {
    let rest = bound.used * (1.0 - share);
    let other = next.map_or(0.0, |next| next.used);
    gain_up_to(rest.max(other), next.filter(|_| other >= rest))
}

/// Returns the gain up to where what is used of a stage by now becomes all of it.
fn gain_up_to(used: f64, next: Option<&Candidate<'_>>) -> Option<Gain> {
    // More than a hundredfold only means that the gain is not known.
    (used >= 0.01).then(|| Gain {
        at_most: (1.0 / used).max(1.0),
        next_stage: next.map(|next| next.stage.name.clone()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the gain of a run whose only stage has work in hand for a share of the time, and waits
    /// for input otherwise.
    fn gain_of_source(used: f64) -> Option<Gain> {
        let mut stage = StageSummary {
            name: "load".to_owned(),
            utilisation: used,
            ..StageSummary::default()
        };
        (stage.times.busy, stage.times.starved) = (used, 1.0 - used);
        let summary = ProfilingSummary {
            stages: vec![stage],
            ..crate::test_fixtures::summary()
        };
        let verdict = Attribution::default().judge(&summary);
        assert_eq!(verdict.cause, Cause::Source);
        verdict.gain
    }

    #[test]
    fn no_gain_of_a_source_is_told_that_is_not_known() {
        for used in [0.0, 1e-9, 0.009] {
            assert_eq!(gain_of_source(used), None, "{used}");
        }
        let gain = gain_of_source(0.25).unwrap();
        assert_eq!(
            (gain.at_most, gain.next_stage.as_deref()),
            (4.0, Some("load"))
        );
    }
}
