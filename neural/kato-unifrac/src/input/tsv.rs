//! Text with tabs or commas: a line of names, then a line for each sample.

use super::Square;

pub(super) fn parse(bytes: &[u8]) -> Result<Square, String> {
    let text = str::from_utf8(bytes).map_err(|_| "it is no UTF-8")?;
    let mut lines = text
        .lines()
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty());
    let (_, header) = lines.next().ok_or("it is empty")?;
    let separator = if header.contains('\t') { '\t' } else { ',' };
    // The first cell stands over the names, and is empty or any word.
    let ids: Vec<_> = header
        .split(separator)
        .skip(1)
        .map(|id| id.trim().to_owned())
        .collect();
    let mut square = Vec::with_capacity(ids.len() * ids.len());
    for (row, (at, line)) in lines.enumerate() {
        let mut cells = line.split(separator).map(str::trim);
        let name = cells.next().unwrap_or_default();
        // Rows in another order than columns would be read as wrong distances.
        if ids.get(row).is_none_or(|id| id != name) {
            return Err(format!(
                "line {}: `{name}` is not the sample of column {}",
                at + 1,
                row + 1
            ));
        }
        for cell in cells {
            let number = fast_float2::parse::<f64, _>(cell);
            square.push(number.map_err(|_| format!("line {}: `{cell}` is no number", at + 1))?);
        }
        if square.len() != (row + 1) * ids.len() {
            return Err(format!(
                "line {} has not as many distances as there are samples",
                at + 1
            ));
        }
    }
    Ok((ids, square))
}
