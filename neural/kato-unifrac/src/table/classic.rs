//! Tables with tabs, features in lines: the classic form of OTU tables.

use super::{Compressed, Table, TableError};

/// Names of last columns that hold no counts.
const TEXT_COLUMNS: [&str; 4] = [
    "taxonomy",
    "consensus lineage",
    "consensuslineage",
    "otu metadata",
];

impl Table {
    /// Reads a table with tabs: a line of sample names, then a line for each feature.
    ///
    /// Lines that begin with `#` before the first feature are comments, the last of them that has
    /// a tab has the names; without any, the first line has them. A last column named `taxonomy`, `Consensus
    /// Lineage` or `OTU Metadata`, in any case, is no sample.
    ///
    /// # Errors
    ///
    /// A line has another number of columns than the names, or something that is no number.
    pub fn from_classic(text: &str) -> Result<Self, TableError> {
        let (header, n_head_lines) = header(text)?;
        let mut names: Vec<_> = header.split('\t').skip(1).map(str::trim).collect();
        let has_text_column = names
            .last()
            .is_some_and(|last| TEXT_COLUMNS.contains(&&*last.to_lowercase()));
        if has_text_column {
            names.pop();
        }
        let mut feature_ids = Vec::new();
        let mut by_feature = Compressed {
            starts: vec![0],
            columns: Vec::new(),
            counts: Vec::new(),
        };
        for (i, line) in text.lines().enumerate().skip(n_head_lines) {
            if line.trim().is_empty() {
                continue;
            }
            let n_cells = names.len() + usize::from(has_text_column);
            let id = feature(line, &names, n_cells, &mut by_feature).map_err(|reason| {
                TableError::Line {
                    line: i + 1,
                    reason,
                }
            })?;
            feature_ids.push(id.to_owned());
            by_feature.starts.push(by_feature.columns.len() as u64);
        }
        let sample_ids = names.into_iter().map(str::to_owned).collect();
        Self::from_features(feature_ids, sample_ids, &by_feature)
    }
}

/// Finds the line with the names, and how many lines come before the first feature.
fn header(text: &str) -> Result<(&str, usize), TableError> {
    let n_comments = text
        .lines()
        .take_while(|line| line.starts_with('#') || line.trim().is_empty())
        .count();
    let named = text
        .lines()
        .take(n_comments)
        .filter(|line| line.contains('\t'))
        .last();
    let found = match named {
        Some(header) => Some((header, n_comments)),
        None => text
            .lines()
            .nth(n_comments)
            .map(|line| (line, n_comments + 1)),
    };
    found
        .filter(|(header, _)| header.contains('\t'))
        .ok_or_else(|| TableError::Line {
            line: n_comments.max(1),
            reason:
                "the names of the samples are missing; the first line must have them, behind tabs"
                    .to_owned(),
        })
}

/// Reads a line's counts, and returns its name.
fn feature<'a>(
    line: &'a str,
    names: &[&str],
    n_cells: usize,
    table: &mut Compressed,
) -> Result<&'a str, String> {
    let mut cells = line.split('\t');
    let id = cells.next().unwrap_or_default().trim();
    let mut n_found = 0;
    for (sample, cell) in cells.enumerate() {
        n_found += 1;
        let Some(name) = names.get(sample) else {
            continue;
        };
        let count: f64 = fast_float2::parse(cell.trim())
            .map_err(|_| format!("`{}` in column `{name}` is no number", shown(cell)))?;
        if count != 0.0 {
            table.columns.push(sample as u32);
            table.counts.push(count);
        }
    }
    if n_found != n_cells {
        return Err(format!(
            "{n_found} columns behind the name, where there are {n_cells} names"
        ));
    }
    Ok(id)
}

/// Cuts what a message shows of a cell.
fn shown(cell: &str) -> String {
    cell.trim().chars().take(40).collect()
}
