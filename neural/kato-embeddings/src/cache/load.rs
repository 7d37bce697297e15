//! Opens a cache: everything in it is checked, and the vectors stay in the mapped file.

use std::fs::File;
use std::io;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use kato_columns::map::Map;

use super::CHECKED_BYTES;
use super::header::{HEADER_BYTES, Header, Origins, Sections};
use crate::bad_line::BadLine;
use crate::element::Number;
use crate::report::CacheRefusal;
use crate::vectors::MappedVectors;
use crate::words::Words;

/// Content of a cache.
#[derive(Debug)]
pub(crate) struct Loaded {
    pub(crate) dims: usize,
    pub(crate) words: Words,
    pub(crate) vectors: MappedVectors,
    pub(crate) lines: u64,
    pub(crate) duplicates: u64,
    pub(crate) bad_lines: Vec<BadLine>,
}

/// Opens the cache at `path`; returns `Ok(None)` if there is none.
pub(crate) fn load<E: Number>(
    path: &Path,
    origins: &Origins,
    workers: NonZeroUsize,
) -> Result<Option<Loaded>, CacheRefusal> {
    let map = match File::open(path).and_then(|file| Map::from_file(path, &file)) {
        Ok(map) => map,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => {
            return Err(CacheRefusal::Unreadable {
                message: error.to_string(),
            });
        }
    };
    let damaged = |part| CacheRefusal::Damaged { part };
    let header = Header::read(&map, origins)?;
    let sections = header
        .sections::<E>(map.len())
        .ok_or(damaged("its length"))?;
    let sums: Vec<u32> = bytemuck::pod_collect_to_vec(&map[sections.sums.clone()]);
    // The header is known to be right by its own CRC, so this proves the sums, and they the
    // content.
    if crc32fast::hash(bytemuck::cast_slice(&sums)) != header.sums_crc {
        return Err(damaged("its checksums"));
    }
    let body = &map[HEADER_BYTES..sections.sums.start];
    // Words are indexed while the vectors are checked, which takes longer. Damage makes no words,
    // or is found by the check, which is why its result is looked at first.
    let (is_whole, words) = thread::scope(|scope| {
        let words = scope.spawn(|| words(&map, &sections));
        (is_whole(body, &sums, workers), words.join())
    });
    if !is_whole {
        return Err(damaged("its content"));
    }
    let words = words.ok().flatten().ok_or(damaged("its words"))?;
    let bad_lines = serde_json::from_slice(&map[sections.bad_lines.clone()])
        .map_err(|_| damaged("its list of bad lines"))?;
    // It has fitted memory multiplied by the number of words, but there may be no words.
    let dims = usize::try_from(header.dims).map_err(|_| damaged("its dimensions"))?;
    let vectors = MappedVectors::new::<E>(map, sections.elements, sections.norms)
        .ok_or(damaged("its vectors"))?;
    Ok(Some(Loaded {
        dims,
        words,
        vectors,
        lines: header.lines,
        duplicates: header.duplicates,
        bad_lines,
    }))
}

/// Reads the words; `None` if they are damaged.
fn words(map: &Map, sections: &Sections) -> Option<Words> {
    let text = str::from_utf8(&map[sections.words.clone()]).ok()?;
    let ends = bytemuck::pod_collect_to_vec(&map[sections.word_ends.clone()]);
    Words::from_parts(text.to_owned(), ends)
}

/// Returns whether every block has the sum that it had when it was written.
fn is_whole(body: &[u8], sums: &[u32], workers: NonZeroUsize) -> bool {
    let (next, is_whole) = (AtomicUsize::new(0), AtomicBool::new(true));
    let check = || {
        // Blocks are taken one by one, not in shares, so that a slow thread does not keep the
        // others waiting. `Relaxed` will do: the scope's end orders the result.
        while is_whole.load(Ordering::Relaxed) {
            let idx = next.fetch_add(1, Ordering::Relaxed);
            let Some(&sum) = sums.get(idx) else { return };
            let block = &body[idx * CHECKED_BYTES..];
            if crc32fast::hash(&block[..block.len().min(CHECKED_BYTES)]) != sum {
                is_whole.store(false, Ordering::Relaxed);
            }
        }
    };
    thread::scope(|scope| {
        for _ in 1..workers.get().min(sums.len().max(1)) {
            scope.spawn(check);
        }
        check();
    });
    is_whole.into_inner()
}
