//! Textbook implementations, slow and plain, that the crate's are compared with.

/// Matching blocks `(pattern start, state start, length)` by recursion over a full table of run
/// lengths.
pub(crate) fn blocks<T: PartialEq>(a: &[T], b: &[T]) -> Vec<(usize, usize, usize)> {
    let mut found = Vec::new();
    search(a, b, (0, 0), &mut found);
    found.sort_unstable();
    let mut merged: Vec<(usize, usize, usize)> = Vec::new();
    for (i, j, k) in found {
        match merged.last_mut() {
            Some(last) if (last.0 + last.2, last.1 + last.2) == (i, j) => last.2 += k,
            _ => merged.push((i, j, k)),
        }
    }
    merged
}

fn search<T: PartialEq>(
    a: &[T],
    b: &[T],
    origin: (usize, usize),
    found: &mut Vec<(usize, usize, usize)>,
) {
    let mut best = (0, 0, 0);
    for i in 0..a.len() {
        for j in 0..b.len() {
            let run = a[i..].iter().zip(&b[j..]).take_while(|(x, y)| x == y);
            let k = run.count();
            if k > best.2 {
                best = (i, j, k);
            }
        }
    }
    let (i, j, k) = best;
    if k > 0 {
        search(&a[..i], &b[..j], origin, found);
        found.push((origin.0 + i, origin.1 + j, k));
        search(
            &a[i + k..],
            &b[j + k..],
            (origin.0 + i + k, origin.1 + j + k),
            found,
        );
    }
}

/// Length of the longest common subsequence by the full table.
pub(crate) fn lcs<T: PartialEq>(a: &[T], b: &[T]) -> usize {
    let mut table = vec![vec![0; b.len() + 1]; a.len() + 1];
    for i in 0..a.len() {
        for j in 0..b.len() {
            table[i + 1][j + 1] = if a[i] == b[j] {
                table[i][j] + 1
            } else {
                usize::max(table[i][j + 1], table[i + 1][j])
            };
        }
    }
    table[a.len()][b.len()]
}

/// Character similarity of two texts.
pub(crate) fn character_similarity(x: &str, y: &str) -> f64 {
    let (x, y): (Vec<char>, Vec<char>) = (x.chars().collect(), y.chars().collect());
    let total = x.len() + y.len();
    if total == 0 {
        return 1.0;
    }
    let distance = (total - 2 * lcs(&x, &y)) as f64;
    ((1.0 - distance / total as f64) * 100.0) / 100.0
}

/// Number of symbols that two multisets have in common.
pub(crate) fn overlap<T: PartialEq>(a: &[T], b: &[T]) -> usize {
    let mut rest: Vec<&T> = b.iter().collect();
    a.iter()
        .filter(|x| {
            let at = rest.iter().position(|y| y == x);
            at.map(|at| rest.swap_remove(at)).is_some()
        })
        .count()
}
