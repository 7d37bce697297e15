//! The cache: hits, damage, limits.

use std::error::Error;
use std::path::Path;

use kato_microbes::cache::{Cache, Key};
use kato_microbes::tokens::{Sequences, TokenOptions};
use kato_microbes::{CommunityOptions, Microbes, MicrobesError};
use kato_unifrac::{DistanceMatrix, Table};

type Done = Result<(), Box<dyn Error>>;

fn matrix(n: usize) -> Result<DistanceMatrix, MicrobesError> {
    let ids = (0..n).map(|i| format!("s{i}")).collect();
    let condensed = (0..n * (n - 1) / 2).map(|i| 0.1 * i as f64).collect();
    Ok(DistanceMatrix::from_condensed(ids, condensed)?)
}

fn never<T>() -> Result<T, MicrobesError> {
    // The test fails with it: what is in the cache is not computed.
    Err(MicrobesError::Forest {
        reason: "it was computed again".to_owned(),
    })
}

fn files(folder: &Path) -> Result<Vec<std::path::PathBuf>, std::io::Error> {
    std::fs::read_dir(folder)?
        .map(|file| Ok(file?.path()))
        .collect()
}

#[test]
fn what_was_kept_comes_back_bit_for_bit() -> Done {
    let folder = tempfile::tempdir()?;
    let cache = Cache::new(folder.path().join("made"), 1 << 20);
    let key = Key::new("distances").with("depth", 3);
    let (first, saved) = cache.distances(&key, || matrix(5))?;
    assert!(!saved.is_hit && saved.n_bytes > 80);
    let (second, saved) = cache.distances(&key, never)?;
    assert!(saved.is_hit && first == second);
    // Another setting is another result.
    let other = Key::new("distances").with("depth", 4);
    assert_eq!(cache.distances(&other, || matrix(3))?.0.n_samples(), 3);

    let ids = ["ACGT".to_owned(), "GN".to_owned()];
    let compute = || Sequences::from_ids(&ids, &TokenOptions::default());
    let key = Key::new("tokens");
    let (first, _) = cache.tokens(&key, compute)?;
    assert!(first == cache.tokens(&key, never)?.0);
    Ok(())
}

#[test]
fn damage_anywhere_is_found_and_computed_again() -> Done {
    let folder = tempfile::tempdir()?;
    let cache = Cache::new(folder.path(), 1 << 20);
    let key = Key::new("distances");
    let (whole, _) = cache.distances(&key, || matrix(4))?;
    let path = files(folder.path())?.remove(0);
    let bytes = std::fs::read(&path)?;
    for at in (0..bytes.len()).step_by(7) {
        let mut damaged = bytes.clone();
        damaged[at] ^= 1;
        std::fs::write(&path, &damaged)?;
        let (again, saved) = cache.distances(&key, || matrix(4))?;
        assert!(!saved.is_hit && again == whole, "byte {at}");
        std::fs::write(&path, &bytes[..at])?;
        assert!(
            !cache.distances(&key, || matrix(4))?.1.is_hit,
            "cut off at {at}"
        );
    }
    Ok(())
}

#[test]
fn what_was_longest_not_used_makes_room() -> Done {
    let folder = tempfile::tempdir()?;
    let probe = Cache::new(folder.path().join("probe"), 1 << 20);
    let key = |n: u64| Key::new("distances").with("n", n);
    let one = probe.distances(&key(0), || matrix(6))?.1.n_bytes;
    let at = folder.path().join("small");
    // Room for two; times in files count in ticks of the system's clock.
    let cache = Cache::new(&at, 2 * one + one / 2);
    let pause = || std::thread::park_timeout(std::time::Duration::from_millis(20));
    for n in [1, 2] {
        cache.distances(&key(n), || matrix(6))?;
        pause();
    }
    assert!(cache.distances(&key(1), never)?.1.is_hit);
    pause();
    assert_eq!(cache.distances(&key(3), || matrix(6))?.1.n_evicted, 1);
    assert!(
        cache.distances(&key(1), never)?.1.is_hit,
        "it was used after the other"
    );
    assert!(!cache.distances(&key(2), || matrix(6))?.1.is_hit);
    // What never fits is not kept, and nothing goes for it.
    let tiny = Cache::new(&at, 10);
    assert_eq!(tiny.distances(&key(9), || matrix(6))?.1.n_bytes, 0);
    assert_eq!(files(&at)?.len(), 2);
    Ok(())
}

#[test]
fn what_a_killed_program_left_behind_goes_and_what_is_being_written_counts() -> Done {
    let folder = tempfile::tempdir()?;
    let probe = Cache::new(folder.path().join("probe"), 1 << 20);
    let key = |n: u64| Key::new("distances").with("n", n);
    let one = probe.distances(&key(0), || matrix(6))?.1.n_bytes;
    let at = folder.path().join("small");
    std::fs::create_dir(&at)?;
    let filled = |name: &str| -> Result<std::fs::File, std::io::Error> {
        std::fs::write(at.join(name), vec![0; one as usize])?;
        std::fs::File::open(at.join(name))
    };
    // Whoever has ended holds no lock; files of others are left alone, whatever they are called.
    drop(filled("left.kato-cache-part")?);
    drop(filled(".tmpAbCdEf")?);
    let written = filled("written.kato-cache-part")?;
    written.try_lock()?;

    // Room for two, of which one is being written.
    let cache = Cache::new(&at, 2 * one + one / 2);
    assert_eq!(cache.distances(&key(1), || matrix(6))?.1.n_evicted, 0);
    assert!(!at.join("left.kato-cache-part").exists());
    assert_eq!(cache.distances(&key(2), || matrix(6))?.1.n_evicted, 1);
    assert!(at.join(".tmpAbCdEf").exists() && at.join("written.kato-cache-part").exists());
    // Nothing of the cache's own writing stays.
    assert_eq!(files(&at)?.len(), 3);
    drop(written);
    assert_eq!(cache.distances(&key(3), || matrix(6))?.1.n_evicted, 0);
    assert!(!at.join("written.kato-cache-part").exists());
    Ok(())
}

#[test]
fn tokens_of_a_file_come_from_the_cache_until_something_changes() -> Done {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("t.tsv");
    Table::from_classic("#OTU ID\ts1\nACGT\t9\n")?.write(&path)?;
    let cache = Cache::new(folder.path().join("cache"), 1 << 20);
    let options = CommunityOptions::default().with_depth(5);
    let hit = |options: &CommunityOptions| -> Result<bool, Box<dyn Error>> {
        let (microbes, saved) = Microbes::read(&path, options, Some(&cache))?;
        assert_eq!(microbes, Microbes::read(&path, options, None)?.0);
        Ok(saved.ok_or("there is a cache")?.is_hit)
    };
    assert!(!hit(&options)?);
    assert!(hit(&options)?);
    assert!(!hit(&options.clone().with_seed(7))?);
    Table::from_classic("#OTU ID\ts1\nACGA\t9\n")?.write(&path)?;
    assert!(!hit(&options)?);
    Ok(())
}
