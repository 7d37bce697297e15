//! Maps files into memory, and tells a reader when such a file was cut off, overwritten or cannot be read.
//!
//! A plain map ends the process with `SIGBUS` when a page of its file cannot be read: the file was truncated,
//! or the disk failed. Here, on Linux, the reader gets zeros, and the map says that it was lost. Changes in
//! place are noticed as well.
//!
//! Start with [`Map`], which maps one file. [`DirectoryWatch`] says when it is time to [look](Map::look) at
//! the maps of a directory.
//!
//! ```
//! use std::fs::{self, File};
//!
//! use kato_columns::map::{DirectoryWatch, Map, MapState};
//!
//! let dir = tempfile::tempdir()?;
//! let path = dir.path().join("column");
//! fs::write(&path, [7; 10_000])?;
//!
//! let watch = DirectoryWatch::new(dir.path());
//! let map = Map::from_file(&path, &File::open(&path)?)?;
//! let before = watch.version();
//! assert_eq!(map[9_999], 7);
//!
//! File::options().write(true).open(&path)?.set_len(0)?;
//! // A page that was never read, or was dropped since: zeros, and the process lives.
//! assert_eq!(map[9_999], 0);
//! # #[cfg(target_os = "linux")]
//! assert_ne!(watch.version(), before);
//! assert!(matches!(map.look(), MapState::Lost(_)));
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! A reader asks [`DirectoryWatch::version`] at the end of each piece of work, which takes less than a
//! microsecond. If it is another number, it looks at its maps, drops what it read, and compares checksums
//! again.
//!
//! # How
//!
//! - **Faults.** On Linux the first map installs a handler of `SIGBUS`. A fault inside one of our maps
//!   replaces that map by zeros and marks it; every other fault goes to the handler that was there before, or
//!   ends the process as it would have. A program that installs a handler of its own later has to call the
//!   one that it replaces.
//! - **Changes.** On Linux inotify tells of writes to a watched directory's files. What it does not tell of
//!   (writes through other maps, other machines' writes on a network file system) is found by comparing size,
//!   times and identity of the files, by readers that ask, once in 100 ms at most. Without inotify that is
//!   once in 5 ms.
//! - **Removals.** A file that was removed or replaced under its name stays as it was mapped, and is not lost.
//!
//! # Limits
//!
//! - Other systems than Linux end the process when a mapped page cannot be read. Windows refuses to cut off a
//!   mapped file.
//! - A write that is in progress while a reader finishes may be noticed by the next read only. Keep checksums
//!   of what matters.

mod fault;
mod mapped;
mod watch;

pub use mapped::{Map, MapState};
pub use watch::DirectoryWatch;
