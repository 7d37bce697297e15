//! The segments that a run leaves in an embedded store: a simulation of its commits, and of the merges
//! that the store's own rule makes of them.

use kato_store::embedded::EmbeddedOptions;

/// Parts that are simulated at most: of more, several are taken as one, which changes the sizes of the
/// small segments alone.
const MOST_PARTS: f64 = 4_000.0;
/// What rounding leaves of a share.
const NOTHING: f64 = 1e-9;

/// What a run writes, as shares of all its learn calls.
#[derive(Debug, Clone, Copy)]
pub(super) struct Written {
    /// What is written until a commit.
    pub(super) commit: f64,
    /// What a worker writes at once.
    pub(super) part: f64,
    /// Merges that go on at once.
    pub(super) merges: usize,
}

/// The segments of a store: the share of all learn calls of each, and the patterns of its largest
/// node.
struct Store<F> {
    options: EmbeddedOptions,
    segments: Vec<(f64, u64)>,
    behind: Vec<f64>,
    merged: f64,
    patterns: F,
}

/// What a run leaves, and what it took to keep that small.
#[derive(Debug, Clone, Default)]
pub(super) struct Left {
    /// The share of all learn calls that each segment holds after the last commit.
    pub(super) segments: Vec<f64>,
    /// The same of segments that the last commit has merged: their files stay until the next one.
    pub(super) behind: Vec<f64>,
    /// How often what is learned is written again by merges, as a share of all learn calls.
    pub(super) merged: f64,
}

/// Returns what is left after the last commit; `patterns` gives those of the largest node after a share
/// of all learn calls.
///
/// As in training, segments are merged beside commits, and each merge is done by the next commit.
/// Those that the last commit begins are given up.
pub(super) fn left_by(written: Written, patterns: impl Fn(f64) -> u64) -> Left {
    let mut store = Store {
        options: EmbeddedOptions::default(),
        segments: Vec::new(),
        behind: Vec::new(),
        merged: 0.0,
        patterns,
    };
    let most = store.options.max_segments;
    let part = written.part.max(1.0 / MOST_PARTS);
    let whole_part = (part, (store.patterns)(part));
    let mut left = 1.0;
    let mut begun: Vec<Vec<usize>> = Vec::new();
    while left > NOTHING {
        store.behind.clear();
        store.merge(&begun);
        begun.clear();
        let mut of_commit = written.commit.max(part).min(left);
        left -= of_commit;
        let mut added = Vec::new();
        while of_commit > NOTHING {
            added.push(match of_commit + NOTHING < part {
                true => (of_commit, (store.patterns)(of_commit)),
                false => whole_part,
            });
            of_commit -= part;
        }
        // A commit waits for merges from twice as many on, or twice as many as it brings.
        let waits = store.due(2 * most.max(added.len()), added.len(), &[]);
        store.merge(&[waits]);
        store.segments.append(&mut added);
        while begun.len() < written.merges {
            let inputs = store.due(most, begun.len(), &begun);
            if inputs.len() < 2 {
                break;
            }
            begun.push(inputs);
        }
    }
    let segments = store.segments.into_iter().map(|(share, _)| share);
    Left {
        segments: segments.collect(),
        behind: store.behind,
        merged: store.merged,
    }
}

impl<F: Fn(f64) -> u64> Store<F> {
    /// Returns the segments that are to be merged where they and those that come are more than a limit;
    /// those that are being merged are out of it.
    fn due(&self, limit: usize, coming: usize, begun: &[Vec<usize>]) -> Vec<usize> {
        let all = self.segments.iter().enumerate();
        let free = all.filter(|(at, _)| !begun.iter().any(|inputs| inputs.contains(at)));
        let mergeable = free.filter(|(_, (_, patterns))| self.options.is_mergeable(*patterns));
        let (at, sizes): (Vec<usize>, Vec<u64>) =
            mergeable.map(|(at, (_, patterns))| (at, *patterns)).unzip();
        let count = at.len() + coming;
        if count <= limit {
            return Vec::new();
        }
        let excess = count - (self.options.max_segments + 1);
        let chosen = self.options.to_merge(&sizes, excess);
        chosen.into_iter().map(|chosen| at[chosen]).collect()
    }

    /// Puts one segment in the place of several, each time.
    fn merge(&mut self, merges: &[Vec<usize>]) {
        let merges = merges.iter().filter(|inputs| inputs.len() > 1);
        let mut is_left = vec![true; self.segments.len()];
        for inputs in merges {
            let share = inputs.iter().map(|&at| self.segments[at].0).sum();
            self.merged += share;
            for &at in inputs {
                is_left[at] = false;
                self.behind.push(self.segments[at].0);
            }
            self.segments.push((share, (self.patterns)(share)));
        }
        // What was merged comes behind all that is marked.
        let mut marks = is_left.into_iter();
        self.segments.retain(|_| marks.next().unwrap_or(true));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Segments, smallest first, in parts, of so many commits of so many parts; each part has a
    /// thousand patterns of its own.
    fn segments(commits: u32, parts: u32) -> Vec<u64> {
        let n = f64::from(commits * parts);
        let written = Written {
            commit: f64::from(parts) / n,
            part: 1.0 / n,
            merges: 1,
        };
        let left = left_by(written, |share| (share * n * 1000.0) as u64);
        let mut sizes: Vec<u64> = left
            .segments
            .iter()
            .map(|share| (share * n).round() as u64)
            .collect();
        sizes.sort_unstable();
        assert_eq!(sizes.iter().sum::<u64>(), u64::from(commits * parts));
        sizes
    }

    #[test]
    fn nothing_is_merged_before_the_first_commit_and_up_to_64_segments() {
        assert_eq!(segments(1, 1), [1]);
        assert_eq!(segments(1, 100), [1; 100]);
        assert_eq!(segments(64, 1), [1; 64]);
        // The last commit has begun to merge, and the run was over.
        assert_eq!(segments(65, 1), [1; 65]);
    }

    #[test]
    fn the_first_merge_takes_all_that_are_alike() {
        assert_eq!(segments(66, 1), [1, 65]);
    }

    #[test]
    fn segments_stay_few_however_long_a_run_is() {
        for commits in [100, 1000, 2000] {
            let sizes = segments(commits, 2);
            assert!(sizes.len() <= 66, "{}", sizes.len());
            assert!(
                sizes[sizes.len() - 1] >= u64::from(commits) / 4,
                "{sizes:?}"
            );
        }
    }
}
