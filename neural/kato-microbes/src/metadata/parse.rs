//! Lines of a table of metadata into columns.

use std::collections::HashSet;

use super::{ColumnKind, MetadataColumn};

/// Names of the first column, in any case.
const ID_NAMES: [&str; 9] = [
    "sample_id",
    "sample-id",
    "sampleid",
    "sample id",
    "id",
    "#sampleid",
    "#sample id",
    "sample_name",
    "sample",
];

/// What stands for no value, in any case.
const MISSING: [&str; 10] = [
    "",
    "na",
    "n/a",
    "nan",
    "null",
    "missing",
    "not applicable",
    "not collected",
    "not provided",
    "restricted access",
];

/// Characters of a cell that an error shows at most.
const MOST_SHOWN: usize = 60;

type Wrong = (usize, String);

/// Reads names of samples and columns, or says which line is wrong.
pub(super) fn parse(text: &str) -> Result<(Vec<String>, Vec<MetadataColumn>), Wrong> {
    // Spreadsheets write a mark of the byte order first.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut lines = text
        .lines()
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty());
    let mut columns = header(lines.next())?;
    let mut sample_ids: Vec<String> = Vec::new();
    let mut seen = HashSet::new();
    for (at, line) in lines {
        let cells: Vec<&str> = line.split('\t').map(unquoted).collect();
        if cells[0].eq_ignore_ascii_case("#q2:types") {
            declare(&mut columns, &cells[1..]).map_err(|reason| (at + 1, reason))?;
            continue;
        }
        if cells[0].starts_with('#') {
            continue;
        }
        // Trailing empty cells are left out by some programs; more cells than names are a mistake.
        if cells.len() > columns.len() + 1 {
            let (n, n_names) = (cells.len(), columns.len() + 1);
            return Err((
                at + 1,
                format!("it has {n} cells, and the header {n_names} names; put the tabs right"),
            ));
        }
        if cells[0].is_empty() {
            return Err((at + 1, "the sample has no name; give it one".to_owned()));
        }
        if !seen.insert(cells[0].to_owned()) {
            return Err((
                at + 1,
                format!(
                    "sample `{}` stands here a second time; keep one row",
                    cells[0]
                ),
            ));
        }
        sample_ids.push(cells[0].to_owned());
        for (at, column) in columns.iter_mut().enumerate() {
            column
                .values
                .push(value(cells.get(at + 1).copied().unwrap_or("")));
        }
    }
    for column in &mut columns {
        find_kind(column)?;
    }
    Ok((sample_ids, columns))
}

fn header(line: Option<(usize, &str)>) -> Result<Vec<MetadataColumn>, Wrong> {
    let Some((at, line)) = line else {
        return Err((
            1,
            "the file is empty; its first line has the names of the columns".to_owned(),
        ));
    };
    let mut names = line.split('\t').map(unquoted);
    let first = names.next().unwrap_or_default();
    if !ID_NAMES.contains(&&*first.to_lowercase()) {
        // Whatever file it may be: its first line need not be one of a few words.
        let first: String = first.chars().take(MOST_SHOWN).collect();
        let reason = format!(
            "the first column is `{first}`; it has to be `sample_id`, with tabs between the columns"
        );
        return Err((at + 1, reason));
    }
    let mut seen = HashSet::new();
    names
        .map(|name| {
            if name.is_empty() || !seen.insert(name.to_owned()) {
                return Err((
                    at + 1,
                    format!("the column `{name}` has no name of its own; rename it"),
                ));
            }
            Ok(MetadataColumn {
                name: name.to_owned(),
                kind: ColumnKind::Categorical,
                is_declared: false,
                values: Vec::new(),
            })
        })
        .collect()
}

fn declare(columns: &mut [MetadataColumn], kinds: &[&str]) -> Result<(), String> {
    for (column, kind) in columns.iter_mut().zip(kinds) {
        column.kind = match kind.to_lowercase().as_str() {
            "numeric" => ColumnKind::Numeric,
            "categorical" => ColumnKind::Categorical,
            // QIIME 2 lets a column be undeclared.
            "" => continue,
            other => {
                return Err(format!(
                    "column `{}` is declared `{other}`; write `numeric` or `categorical`",
                    column.name
                ));
            }
        };
        column.is_declared = true;
    }
    Ok(())
}

/// Finds out what an undeclared column holds, and checks a declared one.
fn find_kind(column: &mut MetadataColumn) -> Result<(), Wrong> {
    let mut values = column.values.iter().flatten();
    let other = values.find(|value| number(value).is_none());
    if column.is_declared {
        return match other {
            Some(value) if column.kind == ColumnKind::Numeric => Err((
                1,
                format!(
                    "column `{}` is declared numeric and has `{value}`; declare it categorical",
                    column.name
                ),
            )),
            _ => Ok(()),
        };
    }
    // A column without any value has no numbers either.
    let has_values = column.values.iter().any(Option::is_some);
    if has_values && other.is_none() {
        column.kind = ColumnKind::Numeric;
    }
    Ok(())
}

fn value(cell: &str) -> Option<String> {
    let is_missing = MISSING.contains(&&*cell.to_lowercase());
    (!is_missing).then(|| cell.to_owned())
}

/// Reads a finite number.
pub(super) fn number(value: &str) -> Option<f64> {
    value.parse().ok().filter(|number: &f64| number.is_finite())
}

/// Takes blanks and quotes off a cell.
fn unquoted(cell: &str) -> &str {
    let cell = cell.trim();
    let inner = cell
        .strip_prefix('"')
        .and_then(|rest| rest.strip_suffix('"'));
    inner.unwrap_or(cell).trim()
}
