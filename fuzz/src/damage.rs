//! Damage to files, as by bad disks and bad hands: bytes turned, overwritten, lost, doubled, cut
//! off.

use crate::input::Input;

/// Edits of a file at most.
const EDITS: usize = 4;

/// Damages a file, and returns whether it differs now.
pub(crate) fn damage(input: &mut Input<'_>, file: &mut Vec<u8>) -> bool {
    let before = file.clone();
    for _ in 0..=input.below(EDITS) {
        edit(input, file);
    }
    // Edits may undo one another, or change nothing.
    *file != before
}

/// Makes one edit.
fn edit(input: &mut Input<'_>, file: &mut Vec<u8>) {
    let at = place(input, file.len());
    let rest = file.len() - at;
    let n = match input.below(4) {
        0 => input.below(rest + 1),
        _ => input.below(40).min(rest),
    };
    match input.below(7) {
        0 => file[at..]
            .iter_mut()
            .take(1)
            .for_each(|byte| *byte ^= 1 << input.below(8)),
        1 => {
            let bytes = input.bytes();
            let n = bytes.len().min(rest);
            file[at..at + n].copy_from_slice(&bytes[..n]);
        }
        2 => file.truncate(at),
        3 => drop(file.drain(at..at + n)),
        4 => {
            let bytes = input.bytes();
            drop(file.splice(at..at, bytes));
        }
        5 => {
            // A part is repeated somewhere else.
            let part = file[at..at + n].to_vec();
            let to = place(input, file.len());
            drop(file.splice(to..to, part));
        }
        _ => file[at..at + n].fill(input.choose(&[0, 0xff])),
    }
}

/// Chooses a place in this many bytes, their end included; often near an end, where lengths and
/// checksums are.
fn place(input: &mut Input<'_>, n: usize) -> usize {
    let near = input.below(64).min(n);
    match input.below(4) {
        0 => near,
        1 => n - near,
        _ => input.below(n + 1),
    }
}
