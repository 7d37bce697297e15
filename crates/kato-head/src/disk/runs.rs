//! Sorted n-grams in working files, and many of them merged into one stream.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use super::CountsError;
use crate::trie::Trie;

/// Runs that are merged at once; each has a file for every length.
pub(super) const FAN_IN: usize = 48;

/// Bytes that are read or written at once.
const BUFFER: usize = 1 << 16;

/// A receiver of n-grams, those of one length in their order and each after all that continue it.
pub(super) trait Nodes {
    /// Receives the n-gram of `depth` + 1 symbols that ends in `symbol`, and how many of the next
    /// length continue it.
    fn node(
        &mut self,
        depth: usize,
        symbol: u32,
        count: u32,
        n_children: u32,
    ) -> Result<(), CountsError>;
}

/// Sorted n-grams in files, by length: symbol, count and, but for the longest, the number of those that
/// continue it, each with 7 bits a byte.
#[derive(Debug)]
pub(super) struct Run {
    paths: Vec<PathBuf>,
}

/// What writes a run.
#[derive(Debug)]
pub(super) struct RunWriter {
    run: Run,
    files: Vec<BufWriter<File>>,
}

impl RunWriter {
    /// Creates the files of a run.
    pub(super) fn create(dir: &Path, number: usize, order: usize) -> Result<Self, CountsError> {
        let path = |depth: usize| dir.join(format!("run-{number}.{}", depth + 1));
        let paths: Vec<PathBuf> = (0..order).map(path).collect();
        let create = |path: &PathBuf| {
            let file = File::create_new(path).map_err(CountsError::io("create", path))?;
            Ok(BufWriter::with_capacity(BUFFER, file))
        };
        let files = paths
            .iter()
            .map(create)
            .collect::<Result<_, CountsError>>()?;
        Ok(Self {
            run: Run { paths },
            files,
        })
    }

    /// Writes what is left.
    pub(super) fn finish(mut self) -> Result<Run, CountsError> {
        for (file, path) in self.files.iter_mut().zip(&self.run.paths) {
            file.flush().map_err(CountsError::io("write", path))?;
        }
        Ok(self.run)
    }
}

impl Nodes for RunWriter {
    fn node(
        &mut self,
        depth: usize,
        symbol: u32,
        count: u32,
        n_children: u32,
    ) -> Result<(), CountsError> {
        let is_longest = depth + 1 == self.files.len();
        let numbers = [symbol, count, n_children];
        let numbers = &numbers[..if is_longest { 2 } else { 3 }];
        let file = &mut self.files[depth];
        let path = &self.run.paths[depth];
        write_numbers(file, numbers).map_err(CountsError::io("write", path))
    }
}

/// Hands over the n-grams of a tree in sorted columns.
pub(super) fn each_node(trie: &Trie, nodes: &mut dyn Nodes) -> Result<(), CountsError> {
    let levels = trie.levels();
    for (depth, level) in levels.iter().enumerate() {
        for place in 0..level.n_sealed() {
            // Places have 32 bits. By length, which keeps the order within each.
            let n_children = match depth + 1 < levels.len() {
                true => level.sealed_children(place as u32).len() as u32,
                false => 0,
            };
            nodes.node(
                depth,
                level.symbol(place),
                level.sealed_count(place),
                n_children,
            )?;
        }
    }
    Ok(())
}

/// Merges runs, which are removed, until there are no more than can be merged at once.
pub(super) fn reduce(
    mut runs: Vec<Run>,
    dir: &Path,
    order: usize,
    check: &dyn Fn() -> Result<(), CountsError>,
) -> Result<Vec<Run>, CountsError> {
    let mut number = runs.len();
    while runs.len() > FAN_IN {
        // The oldest first, so that each is written about as often as the others.
        let rest = runs.split_off(FAN_IN);
        let mut writer = RunWriter::create(dir, number, order)?;
        number += 1;
        merge(&runs, &mut writer, check)?;
        runs = rest;
        runs.push(writer.finish()?);
    }
    Ok(runs)
}

/// Hands over what all runs counted together, and removes them.
pub(super) fn merge(
    runs: &[Run],
    nodes: &mut dyn Nodes,
    check: &dyn Fn() -> Result<(), CountsError>,
) -> Result<(), CountsError> {
    let readers = runs.iter().map(RunReader::open);
    let mut merger = Merger {
        readers: readers.collect::<Result<_, _>>()?,
        spare: Vec::new(),
        nodes,
        check,
    };
    let all = (0..runs.len()).map(|run| (run, u32::MAX)).collect();
    merger.merge(0, all)?;
    drop(merger);
    for path in runs.iter().flat_map(|run| &run.paths) {
        std::fs::remove_file(path).map_err(CountsError::io("remove", path))?;
    }
    Ok(())
}

struct RunReader {
    levels: Vec<LevelReader>,
}

/// The n-grams of one length of a run.
struct LevelReader {
    file: BufReader<File>,
    path: PathBuf,
    is_longest: bool,
    /// The next one, once it was looked at; `None` at the end.
    next: Option<Node>,
    is_read: bool,
}

#[derive(Debug, Clone, Copy)]
struct Node {
    symbol: u32,
    count: u32,
    n_children: u32,
}

impl RunReader {
    fn open(run: &Run) -> Result<Self, CountsError> {
        let last = run.paths.len().saturating_sub(1);
        let level = |(depth, path): (usize, &PathBuf)| {
            let file = File::open(path).map_err(CountsError::io("read", path))?;
            Ok(LevelReader {
                file: BufReader::with_capacity(BUFFER, file),
                path: path.clone(),
                is_longest: depth == last,
                next: None,
                is_read: false,
            })
        };
        let levels = run.paths.iter().enumerate().map(level);
        Ok(Self {
            levels: levels.collect::<Result<_, CountsError>>()?,
        })
    }
}

impl LevelReader {
    /// Returns the next n-gram without taking it.
    fn peek(&mut self) -> Result<Option<Node>, CountsError> {
        if !self.is_read {
            let node = read_node(&mut self.file, self.is_longest);
            self.next = node.map_err(CountsError::io("read", &self.path))?;
            self.is_read = true;
        }
        Ok(self.next)
    }
}

/// Runs by number, and how many n-grams each has yet to show.
type Parts = Vec<(usize, u32)>;

struct Merger<'a> {
    readers: Vec<RunReader>,
    /// Lists that are not in use.
    spare: Vec<Parts>,
    nodes: &'a mut dyn Nodes,
    check: &'a dyn Fn() -> Result<(), CountsError>,
}

impl Merger<'_> {
    /// Merges the n-grams of one length that continue one context, and returns their number.
    fn merge(&mut self, depth: usize, mut parts: Parts) -> Result<u32, CountsError> {
        let mut n_merged = 0;
        loop {
            if depth == 0 {
                (self.check)()?;
            }
            let mut least: Option<u32> = None;
            for (run, left) in &mut parts {
                if *left == 0 {
                    continue;
                }
                match self.readers[*run].levels[depth].peek()? {
                    Some(node) => least = Some(least.map_or(node.symbol, |l| l.min(node.symbol))),
                    None => *left = 0,
                }
            }
            let Some(symbol) = least else {
                break;
            };
            let (mut count, mut children) = (0u32, self.spare.pop().unwrap_or_default());
            for (run, left) in &mut parts {
                let level = &mut self.readers[*run].levels[depth];
                if *left > 0
                    && let Some(node) = level.next.filter(|node| node.symbol == symbol)
                {
                    count = count.saturating_add(node.count);
                    children.push((*run, node.n_children));
                    *left -= 1;
                    level.is_read = false;
                }
            }
            let n_children = match self.readers[0].levels.len() > depth + 1 {
                true => self.merge(depth + 1, children)?,
                false => {
                    children.clear();
                    self.spare.push(children);
                    0
                }
            };
            self.nodes.node(depth, symbol, count, n_children)?;
            n_merged += 1;
        }
        parts.clear();
        self.spare.push(parts);
        Ok(n_merged)
    }
}

/// Writes numbers with 7 bits a byte, the lowest first; all but the last byte have the eighth.
fn write_numbers(file: &mut impl Write, numbers: &[u32]) -> io::Result<()> {
    let (mut bytes, mut len) = ([0u8; 15], 0);
    for &number in numbers {
        let mut rest = number;
        while rest >= 0x80 {
            bytes[len] = (rest & 0x7F) as u8 | 0x80;
            (len, rest) = (len + 1, rest >> 7);
        }
        bytes[len] = rest as u8;
        len += 1;
    }
    file.write_all(&bytes[..len])
}

fn read_node(file: &mut BufReader<File>, is_longest: bool) -> io::Result<Option<Node>> {
    let Some(symbol) = read_number(file)? else {
        return Ok(None);
    };
    let mut number = || -> io::Result<u32> {
        read_number(file)?.ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    };
    let count = number()?;
    let n_children = if is_longest { 0 } else { number()? };
    Ok(Some(Node {
        symbol,
        count,
        n_children,
    }))
}

/// Reads a number; `None` at the end of the file.
#[inline]
fn read_number(file: &mut BufReader<File>) -> io::Result<Option<u32>> {
    let (mut number, mut shift) = (0u32, 0);
    loop {
        let byte = match file.buffer() {
            [byte, ..] => {
                let byte = *byte;
                io::BufRead::consume(file, 1);
                byte
            }
            [] => {
                let mut byte = [0];
                match file.read(&mut byte)? {
                    0 => return Ok(None),
                    _ => byte[0],
                }
            }
        };
        number |= u32::from(byte & 0x7F) << shift;
        if byte < 0x80 {
            return Ok(Some(number));
        }
        shift += 7;
        if shift > 28 {
            return Err(io::ErrorKind::InvalidData.into());
        }
    }
}
