//! Damage to a file: what disks, half copies and tidy people do.

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use crate::files::files_below;
use crate::random::Random;

/// Damages one random file below a folder that `may` allows, and says what was done.
pub(crate) fn damage_one(
    dir: &Path,
    random: &mut Random,
    may: impl Fn(&Path) -> bool,
) -> (PathBuf, String) {
    let files: Vec<PathBuf> = files_below(dir)
        .into_iter()
        .filter(|path| may(path.strip_prefix(dir).unwrap()))
        .collect();
    // Kinds of files come equally often, however many files of a kind there are.
    let mut kinds: Vec<String> = files.iter().map(|path| kind_of(path)).collect();
    kinds.sort();
    kinds.dedup();
    let kind = &kinds[random.below(kinds.len() as u64) as usize];
    let of_kind: Vec<&PathBuf> = files.iter().filter(|path| kind_of(path) == *kind).collect();
    let path = of_kind[random.below(of_kind.len() as u64) as usize];
    let told = damage(path, random);
    let name = path.strip_prefix(dir).unwrap().display();
    (path.clone(), format!("{name}: {told}"))
}

/// The kind of a file: its name without digits and digests; the columns of indexes are one.
fn kind_of(path: &Path) -> String {
    if path.iter().any(|part| part == "index") {
        return "index".to_owned();
    }
    let name = path.file_name().unwrap().to_string_lossy();
    let parts = name.split('.');
    let is_kind = |part: &&str| part.len() < 16 && !part.chars().all(|c| c.is_ascii_digit());
    parts.filter(is_kind).collect::<Vec<_>>().join(".")
}

/// Damages a file in place, and says how.
fn damage(path: &Path, random: &mut Random) -> String {
    let bytes = fs::read(path).unwrap();
    let len = bytes.len() as u64;
    loop {
        match random.pick(&[
            "flip", "flip", "flip", "flip", "cut", "cut", "zero", "zero", "empty", "remove", "dir",
        ]) {
            "flip" if len > 0 => {
                let at = random.below(len);
                let bit = random.below(8);
                write_at(path, at, &[bytes[at as usize] ^ (1 << bit)]);
                return format!("bit {bit} of byte {at} of {len} flipped");
            }
            "cut" if len > 1 => {
                let to = len - 1 - random.below(len - 1);
                let file = File::options().write(true).open(path).unwrap();
                file.set_len(to).unwrap();
                return format!("cut to {to} of {len} bytes");
            }
            "zero" if len > 0 => {
                let from = random.below(len);
                let to = (from + 1 + random.below(4096)).min(len);
                let range = from as usize..to as usize;
                if bytes[range.clone()].iter().all(|&byte| byte == 0) {
                    continue;
                }
                write_at(path, from, &vec![0; range.len()]);
                return format!("bytes {from} to {to} of {len} zeroed");
            }
            "empty" if len > 0 => {
                File::options()
                    .write(true)
                    .open(path)
                    .unwrap()
                    .set_len(0)
                    .unwrap();
                return format!("emptied of {len} bytes");
            }
            "remove" => {
                fs::remove_file(path).unwrap();
                return "removed".to_owned();
            }
            "dir" => {
                fs::remove_file(path).unwrap();
                fs::create_dir(path).unwrap();
                return "replaced by a directory".to_owned();
            }
            _ => {}
        }
    }
}

fn write_at(path: &Path, at: u64, bytes: &[u8]) {
    let file = OpenOptions::new().write(true).open(path).unwrap();
    file.write_all_at(bytes, at).unwrap();
}
