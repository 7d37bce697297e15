//! What is held while a file that cannot be cut is shuffled.

use std::fmt::Write as _;
use std::sync::Arc;

use super::{HELD_WINDOWS, Shuffled};
use crate::cursor::Position;
use crate::dataset::{Corpus, Draw, ReadOptions};
use crate::inputs::{self, Input};
use crate::interrupt::Interrupt;
use crate::options::CorpusOptions;
use crate::records::Sink;

const WINDOW_BYTES: u64 = 2000;
const ROWS: usize = 1000;
/// Bytes of the largest text.
const LARGEST: usize = 60_000;

/// One compressed file of lines of JSON, one of which is larger than all that may be held.
fn corpus() -> (tempfile::TempDir, Corpus) {
    let folder = tempfile::tempdir().unwrap();
    let mut lines = String::new();
    for n in 0..ROWS {
        let text = match n {
            500 => "x".repeat(LARGEST),
            _ => format!("line {n}"),
        };
        writeln!(lines, "{{\"text\": \"{text}\"}}").unwrap();
    }
    let path = folder.path().join("lines.jsonl.zst");
    std::fs::write(&path, zstd::encode_all(lines.as_bytes(), 1).unwrap()).unwrap();
    let selection = CorpusOptions {
        extent_bytes: 1000,
        ..CorpusOptions::default()
    };
    let listing = inputs::resolve(
        vec![Input::Path(path)],
        &selection,
        &Interrupt::default(),
        #[cfg(feature = "remote")]
        &crate::remote::Access::default(),
    );
    let files = listing.unwrap().files.into_iter().map(Arc::new).collect();
    let selection = Arc::new(selection);
    (folder, Corpus { files, selection })
}

#[test]
fn no_more_is_held_of_a_file_that_cannot_be_cut_than_some_windows_and_a_record() {
    let (_folder, corpus) = corpus();
    let mut shuffled = Shuffled::plan(&corpus, 7, 0, WINDOW_BYTES).unwrap();
    let mut position = Position::InWindow {
        window: 0,
        after: None,
    };
    let options = ReadOptions {
        skips_files: false,
        prefetch: 1,
    };
    let (mut n_records, mut largest, mut before) = (0, 0, 0);
    loop {
        let (mut text, mut id) = (String::new(), String::new());
        let mut sink = Sink {
            text: &mut text,
            id: &mut id,
        };
        match shuffled.draw(&corpus, &mut position, None, options, &mut sink) {
            Draw::Record(_) => n_records += 1,
            Draw::Bad { fault, .. } => panic!("{fault:?}"),
            Draw::End => break,
        }
        largest = largest.max(shuffled.current.as_ref().unwrap().record_bytes);
        shuffled.accept(&mut position);
        let read = shuffled.bytes_read(position, 1 << 30);
        assert!(read >= before, "{read} after {before}");
        before = read;
    }
    assert_eq!(n_records, ROWS);
    let most = (HELD_WINDOWS * WINDOW_BYTES) as usize + LARGEST;
    assert!((LARGEST..=most).contains(&largest), "{largest}");
}
