//! Fuzz target for damaged and forged knowledge bases: they are read as they were written, or
//! refused.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

use kato_engine::{Engine, Observation, SessionConfig};
use kato_store::{EmbeddedStore, KnowledgeBase, StoreError};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::allocated::within;
use crate::damage::damage;
use crate::input::Input;

const NODES: [&str; 2] = ["node0", "node1"];

/// Memory that reading may take, beside what is in proportion to the files.
const MEMORY: usize = 4 << 20;

/// Memory that a byte of the files may cost. A file with right checksums is as good as any, however
/// far apart its numbers are.
const MEMORY_PER_BYTE: usize = 256;

/// Length and checksum of the footer, and the magic.
const TAIL: usize = 16;

/// Bytes of an entry of a block index, and where its checksum is.
const ENTRY: usize = 20;
const ENTRY_CRC: usize = 16;

/// Knowledge base as it was written.
struct Written {
    manifest: Value,
    segment_name: String,
    segment: Vec<u8>,
    exported: [Vec<u8>; 2],
}

static WRITTEN: LazyLock<Written> = LazyLock::new(|| write().expect("a knowledge base is made"));

/// Writes the knowledge base that all inputs damage.
fn write() -> Result<Written, Box<dyn std::error::Error>> {
    let dir = tempfile::tempdir()?;
    let store = EmbeddedStore::create(dir.path(), &NODES, json!({}))?;
    let engine = Engine::open(Arc::new(store))?;
    let mut below = Vec::new();
    for round in 0..300_usize {
        let [lower, upper] = NODES;
        let mut session = engine.node(lower)?.session(SessionConfig::default());
        for place in 0..2 + round % 4 {
            // Words and lengths repeat after 100 rounds, so that patterns have frequencies above 1.
            let word = format!("word{}", (round * 7 + place * place) % 50);
            session.observe(Observation::strings([word]).with_emotive("joy", round as f64))?;
        }
        if round % 50 == 0 {
            session.observe(Observation::vector(&[0.5, round as f64]))?;
        }
        below.push(session.learn()?.to_string());
        if let [.., first, second] = &below[..] {
            let mut session = engine.node(upper)?.session(SessionConfig::default());
            for name in [first, second, "text"] {
                session.observe(Observation::strings([name.to_owned()]))?;
            }
            session.learn()?;
        }
    }
    engine.commit_with(json!({"journal": 600}))?;
    drop(engine);
    let manifest = fs::read_to_string(dir.path().join("MANIFEST"))?;
    let (manifest, _) = manifest
        .rsplit_once("\ncrc32 ")
        .ok_or("it has a checksum")?;
    let manifest: Value = serde_json::from_str(manifest)?;
    let segment_name = manifest["segments"][0]["file"]
        .as_str()
        .ok_or("it has a segment")?
        .to_owned();
    let segment = fs::read(dir.path().join("segments").join(&segment_name))?;
    let exported = export(dir.path())?;
    Ok(Written {
        manifest,
        segment_name,
        segment,
        exported,
    })
}

/// Reads everything that export reads, and returns what it says.
fn export(dir: &Path) -> Result<[Vec<u8>; 2], Box<dyn std::error::Error>> {
    let store = EmbeddedStore::open_read_only(dir)?;
    let mut exported = [const { Vec::new() }; 2];
    for (name, out) in NODES.iter().zip(&mut exported) {
        let base = KnowledgeBase::new(&store, name)?;
        base.export(&mut *out)?;
    }
    Ok(exported)
}

/// Reads a knowledge base by all other ways than export.
fn read(dir: &Path) -> Result<(), StoreError> {
    let store = EmbeddedStore::open_read_only(dir)?;
    for base in KnowledgeBase::all(&store) {
        base.totals()?;
        base.count_patterns()?;
        let mut names = Vec::new();
        for entry in base.scan_frequencies()? {
            names.push(entry?.0);
        }
        // Some of them, from all parts of the segment: all would make a run slow.
        for name in names.iter().step_by(37) {
            base.pattern(name)?;
            base.trace(name)?;
        }
        base.statistics()?;
        base.top(5)?;
        base.symbol_counts()?
            .try_for_each(|counts| counts.map(drop))?;
    }
    Ok(())
}

/// Opens and reads a knowledge base whose segment or manifest was damaged, or forged with right
/// checksums.
///
/// # Panics
///
/// When damage passes as something that was written, or reading takes more memory than the files
/// account for.
pub fn segment(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let written = &*WRITTEN;
    let mut segment = written.segment.clone();
    let is_forged = input.is_one_in(2);
    let is_damaged = match is_forged {
        true => forge(&mut input, &mut segment),
        false => damage(&mut input, &mut segment),
    };
    let mut manifest = written.manifest.clone();
    // Otherwise most damage would show at once by the size.
    if input.below(4) > 0 {
        manifest["segments"][0]["bytes"] = json!(segment.len());
    }
    let is_manifest_forged = input.is_one_in(8) && forge_number(&mut input, &mut manifest);
    let dir = lay_out(&manifest, &written.segment_name, &segment).expect("the disk is well");
    let most = MEMORY + MEMORY_PER_BYTE * segment.len();
    let exported = within(most, || export(dir.path()));
    let all = within(most, || read(dir.path()));
    // A forgery may say something else than what was written. It must only be read, or refused, in
    // bounded memory.
    if let Ok(exported) = exported
        && !is_forged
        && !is_manifest_forged
    {
        assert!(exported == written.exported, "damage passed as knowledge");
        if !is_damaged {
            all.expect("what was written is read");
        }
    }
}

/// Writes a knowledge base into a directory of its own.
fn lay_out(manifest: &Value, name: &str, segment: &[u8]) -> io::Result<TempDir> {
    let dir = tempfile::tempdir()?;
    let segments: PathBuf = dir.path().join("segments");
    fs::create_dir(&segments)?;
    fs::write(segments.join(name), segment)?;
    let manifest = manifest.to_string();
    let crc = crc32fast::hash(manifest.as_bytes());
    fs::write(
        dir.path().join("MANIFEST"),
        format!("{manifest}\ncrc32 {crc:08x}\n"),
    )?;
    Ok(dir)
}

/// Damages the parts or the footer of a segment, makes all checksums right again, and returns
/// whether it differs.
fn forge(input: &mut Input<'_>, segment: &mut Vec<u8>) -> bool {
    let Some((parts, mut footer)) = split(segment) else {
        return false;
    };
    let mut parts = parts.to_vec();
    let mut is_forged = false;
    if input.is_one_in(2) {
        for _ in 0..=input.below(3) {
            is_forged |= forge_number(input, &mut footer);
        }
    }
    if input.below(3) > 0 {
        let n = parts.len();
        is_forged |= damage(input, &mut parts);
        // The offsets in the footer still hold for the parts that were not changed.
        parts.resize(n, 0);
    }
    // Behind the right checksums are the checks that plain damage never reaches.
    mend(&mut parts, &mut footer);
    let footer = footer.to_string();
    parts.extend_from_slice(footer.as_bytes());
    parts.extend_from_slice(&(footer.len() as u32).to_le_bytes());
    parts.extend_from_slice(&crc32fast::hash(footer.as_bytes()).to_le_bytes());
    parts.extend_from_slice(b"KATOSEG1");
    *segment = parts;
    is_forged
}

/// Splits a segment into its parts and its footer.
fn split(segment: &[u8]) -> Option<(&[u8], Value)> {
    let tail = segment.len().checked_sub(TAIL)?;
    let n = u32::from_le_bytes(segment[tail..].first_chunk().copied()?) as usize;
    let start = tail.checked_sub(n)?;
    let footer = serde_json::from_slice(&segment[start..tail]).ok()?;
    Some((&segment[..start], footer))
}

/// Replaces one number of a document by an odd one, and returns whether it differs.
fn forge_number(input: &mut Input<'_>, value: &mut Value) -> bool {
    let odd = [
        0,
        1,
        7,
        255,
        256,
        4096,
        u64::from(u32::MAX),
        1 << 32,
        1 << 40,
        u64::MAX / 2,
        u64::MAX,
    ];
    let n = count_numbers(value);
    let mut idx = input.below(n);
    let old_or = |old: u64, input: &mut Input<'_>| match input.below(4) {
        0 => old.wrapping_add(1),
        1 => old.wrapping_sub(1),
        _ => input.choose(&odd),
    };
    // Counts down to the number, in the order of the document. Where its replacement is the same
    // number, the next one is tried.
    fn visit(value: &mut Value, idx: &mut usize, replace: &mut dyn FnMut(u64) -> u64) -> bool {
        match value {
            Value::Number(number) => {
                if *idx > 0 {
                    *idx -= 1;
                    return false;
                }
                let old = number.as_u64().unwrap_or_default();
                let new = replace(old);
                *value = json!(new);
                new != old
            }
            Value::Array(items) => items.iter_mut().any(|item| visit(item, idx, replace)),
            Value::Object(map) => map.values_mut().any(|item| visit(item, idx, replace)),
            _ => false,
        }
    }
    visit(value, &mut idx, &mut |old| old_or(old, input))
}

/// Counts the numbers of a document.
fn count_numbers(value: &Value) -> usize {
    match value {
        Value::Number(_) => 1,
        Value::Array(items) => items.iter().map(count_numbers).sum(),
        Value::Object(map) => map.values().map(count_numbers).sum(),
        _ => 0,
    }
}

/// Makes the checksums of blocks, indexes, dictionaries and documents right, as far as they are
/// where they should be.
fn mend(parts: &mut [u8], footer: &mut Value) {
    let nodes = footer["nodes"].as_array().cloned().unwrap_or_default();
    // Blocks first: their checksums are in the index, whose own checksum is in the footer.
    for node in nodes {
        mend_blocks(parts, &node);
    }
    let mend_part = |part: &mut Value| {
        if let Some(range) = range_of(part, parts.len()) {
            part["crc32"] = json!(crc32fast::hash(&parts[range]));
        }
    };
    for node in footer["nodes"].as_array_mut().into_iter().flatten() {
        mend_part(&mut node["dictionary"]);
        mend_part(&mut node["index"]);
    }
    mend_part(&mut footer["documents"]);
}

/// Makes the checksums of a node's blocks right.
fn mend_blocks(parts: &mut [u8], node: &Value) {
    let Some(index) = range_of(&node["index"], parts.len()) else {
        return;
    };
    let number = |parts: &[u8], at: usize| {
        let bytes = parts.get(at..)?.first_chunk().copied()?;
        usize::try_from(u64::from_le_bytes(bytes)).ok()
    };
    let end = node["blocks_end"].as_u64().unwrap_or_default() as usize;
    let entries: Vec<usize> = index.step_by(ENTRY).collect();
    for (idx, &entry) in entries.iter().enumerate() {
        let next = entries.get(idx + 1);
        let start = number(parts, entry);
        let end = next.map_or(Some(end), |&next| number(parts, next));
        if let (Some(start), Some(end)) = (start, end)
            && let Some(block) = parts.get(start..end)
        {
            let crc = crc32fast::hash(block).to_le_bytes();
            if let Some(place) = parts.get_mut(entry + ENTRY_CRC..entry + ENTRY) {
                place.copy_from_slice(&crc);
            }
        }
    }
}

/// Returns the range of a part, if it lies in the `n` bytes of the segment.
fn range_of(part: &Value, n: usize) -> Option<std::ops::Range<usize>> {
    let start = usize::try_from(part["offset"].as_u64()?).ok()?;
    let end = start.checked_add(usize::try_from(part["bytes"].as_u64()?).ok()?)?;
    (end <= n).then_some(start..end)
}
