//! Rectangles of rows: nothing is lost, nothing is taken for padding.

use kato_gradient::collate::{PadOptions, PadSide, pad_tokens, pad_vectors};
use proptest::prelude::*;

proptest! {
    #[test]
    fn the_mask_gives_every_row_back(
        rows in prop::collection::vec(prop::collection::vec(any::<u32>(), 0..12), 0..9),
        left in any::<bool>(), multiple_of in 1..9_usize, max_length in prop::option::of(0..12_usize),
    ) {
        let side = if left { PadSide::Left } else { PadSide::Right };
        let mut options = PadOptions::default().with_side(side).with_multiple_of(multiple_of);
        options.max_length = max_length;
        let padded = pad_tokens(&rows, 77, options).unwrap();
        let max = max_length.unwrap_or(usize::MAX);
        let wanted: Vec<&[u32]> = rows.iter().map(|row| &row[..row.len().min(max)]).collect();
        prop_assert_eq!(padded.n_rows, rows.len());
        prop_assert_eq!(padded.values.len(), padded.n_rows * padded.n_columns);
        prop_assert_eq!(padded.n_columns % multiple_of, 0);
        let longest = wanted.iter().map(|row| row.len()).max().unwrap_or(0);
        prop_assert!(padded.n_columns < longest + multiple_of);
        for (index, row) in wanted.iter().enumerate() {
            let columns = index * padded.n_columns..(index + 1) * padded.n_columns;
            let cells: Vec<(u32, f32)> =
                columns.map(|cell| (padded.values[cell], padded.mask[cell])).collect();
            let found: Vec<u32> = cells.iter().filter(|cell| cell.1 == 1.0).map(|cell| cell.0).collect();
            prop_assert_eq!(&found, row);
            let fill = cells.iter().filter(|cell| cell.1 == 0.0);
            prop_assert!(fill.clone().all(|cell| cell.0 == 77));
            prop_assert_eq!(fill.count(), padded.n_columns - row.len());
            // The row is whole, at its side, and its last element is where it is said to be.
            let place = if left { padded.n_columns - row.len() } else { 0 };
            prop_assert!(cells[place..place + row.len()].iter().all(|cell| cell.1 == 1.0));
            let last = padded.last_column(index).map(|column| cells[column].0);
            prop_assert_eq!(last, row.last().copied());
        }
        let n_all: usize = rows.iter().map(Vec::len).sum();
        prop_assert_eq!(padded.n_elements() + padded.n_cut, n_all);
    }
}

#[test]
fn vectors_are_filled_up_as_a_whole() {
    let rows = [vec![1.0, 2.0], vec![], vec![3.0, 4.0, 5.0, 6.0]];
    let options = PadOptions::default().with_side(PadSide::Left);
    let padded = pad_vectors(&rows, 2, options).unwrap();
    assert_eq!(
        padded.values,
        [0.0, 0.0, 1.0, 2.0, 0.0, 0.0, 0.0, 0.0, 3.0, 4.0, 5.0, 6.0]
    );
    assert_eq!(padded.mask, [0.0, 1.0, 0.0, 0.0, 1.0, 1.0]);
    assert_eq!(
        [0, 1, 2, 3].map(|row| padded.last_column(row)),
        [Some(1), None, Some(1), None]
    );
}

#[test]
fn a_row_of_half_a_vector_is_refused() {
    let refused = pad_vectors(&[vec![1.0; 5]], 2, PadOptions::default()).unwrap_err();
    let told = "a row of vectors has 5 elements where 4 were expected; give one for each";
    assert_eq!(refused.to_string(), told);
    assert!(pad_vectors(&[vec![1.0; 5]], 0, PadOptions::default()).is_err());
    assert!(pad_tokens(&[[1]], 0, PadOptions::default().with_multiple_of(0)).is_err());
}
