//! Notices that files of a directory were written to.

use std::path::Path;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use super::fault::n_faults;

/// Time after which the maps are looked at without a reason, where the system tells of writes.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// The same where it does not.
const LOOK_OFTEN: Duration = Duration::from_millis(5);

/// A watch on the files of a directory.
#[derive(Debug)]
pub struct DirectoryWatch {
    #[cfg(target_os = "linux")]
    watch: Option<notify::Watch>,
}

impl DirectoryWatch {
    /// Watches a directory. Where the system has no room for one more watch, or none at all,
    /// [`look_version`](Self::look_version) changes the more often.
    #[must_use]
    pub fn new(dir: impl AsRef<Path>) -> Self {
        let dir = dir.as_ref();
        #[cfg(not(target_os = "linux"))]
        let _ = dir;
        Self {
            #[cfg(target_os = "linux")]
            watch: notify::Watch::new(dir),
        }
    }

    /// Returns a number that is greater as soon as somebody wrote to a file of the directory, or a map of
    /// the process could not be read. Takes less than a microsecond.
    #[must_use]
    pub fn version(&self) -> u64 {
        n_faults().wrapping_add(self.n_writes())
    }

    /// Returns a number that is greater when it is time to look at the maps even if
    /// [`version`](Self::version) is as before: not every write is told.
    #[must_use]
    pub fn look_version(&self) -> u64 {
        static START: OnceLock<Instant> = OnceLock::new();
        let elapsed = START.get_or_init(Instant::now).elapsed();
        let interval = match self.is_told() {
            true => LOOK_EVERY,
            false => LOOK_OFTEN,
        };
        elapsed.as_micros() as u64 / interval.as_micros() as u64
    }

    #[cfg(target_os = "linux")]
    fn is_told(&self) -> bool {
        self.watch.is_some()
    }

    #[cfg(not(target_os = "linux"))]
    #[expect(clippy::unused_self, reason = "it is used on Linux")]
    const fn is_told(&self) -> bool {
        false
    }

    #[cfg(target_os = "linux")]
    fn n_writes(&self) -> u64 {
        self.watch.as_ref().map_or(0, notify::Watch::n_writes)
    }

    #[cfg(not(target_os = "linux"))]
    #[expect(clippy::unused_self, reason = "it is used on Linux")]
    const fn n_writes(&self) -> u64 {
        0
    }
}

/// One inotify instance for the process, as there may be few of them.
#[cfg(target_os = "linux")]
mod notify {
    use std::collections::HashMap;
    use std::mem::MaybeUninit;
    use std::path::Path;
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::sync::{Arc, OnceLock, PoisonError, RwLock};

    use rustix::fd::OwnedFd;
    use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
    use rustix::io::ioctl_fionread;

    struct Notifier {
        inotify: OwnedFd,
        /// Locked for writing while events are read, so that nobody misses one that another has read and
        /// not yet counted.
        watched: RwLock<HashMap<i32, Watched>>,
    }

    /// A directory: watching it twice is one watch of the system.
    struct Watched {
        n_writes: Arc<AtomicU64>,
        n_watches: usize,
    }

    /// A watch on one directory.
    #[derive(Debug)]
    pub(super) struct Watch {
        descriptor: i32,
        n_writes: Arc<AtomicU64>,
    }

    impl Notifier {
        fn of_process() -> Option<&'static Self> {
            static OF_PROCESS: OnceLock<Option<Notifier>> = OnceLock::new();
            let new = || {
                let flags = CreateFlags::NONBLOCK | CreateFlags::CLOEXEC;
                Some(Self {
                    inotify: inotify::init(flags).ok()?,
                    watched: RwLock::default(),
                })
            };
            OF_PROCESS.get_or_init(new).as_ref()
        }

        /// Counts the writes that were told.
        fn drain(&self) {
            {
                let _reading = self.watched.read().unwrap_or_else(PoisonError::into_inner);
                if ioctl_fionread(&self.inotify).is_ok_and(|bytes| bytes == 0) {
                    return;
                }
            }
            let watched = self.watched.write().unwrap_or_else(PoisonError::into_inner);
            let mut buffer = [MaybeUninit::uninit(); 4096];
            let mut events = inotify::Reader::new(&self.inotify, &mut buffer);
            // Ends with the error that says that there are no more.
            while let Ok(event) = events.next() {
                let is_lost = event.events().contains(ReadFlags::QUEUE_OVERFLOW);
                for (descriptor, watched) in &*watched {
                    if is_lost || *descriptor == event.wd() {
                        watched.n_writes.fetch_add(1, Ordering::SeqCst);
                    }
                }
            }
        }
    }

    impl Watch {
        pub(super) fn new(dir: &Path) -> Option<Self> {
            let notifier = Notifier::of_process()?;
            let mut all = notifier
                .watched
                .write()
                .unwrap_or_else(PoisonError::into_inner);
            let descriptor = inotify::add_watch(&notifier.inotify, dir, WatchFlags::MODIFY).ok()?;
            let watched = all.entry(descriptor).or_insert_with(|| Watched {
                n_writes: Arc::default(),
                n_watches: 0,
            });
            watched.n_watches += 1;
            Some(Self {
                descriptor,
                n_writes: Arc::clone(&watched.n_writes),
            })
        }

        /// Returns how many writes were told so far.
        pub(super) fn n_writes(&self) -> u64 {
            if let Some(notifier) = Notifier::of_process() {
                notifier.drain();
            }
            self.n_writes.load(Ordering::SeqCst)
        }
    }

    impl Drop for Watch {
        fn drop(&mut self) {
            let Some(notifier) = Notifier::of_process() else {
                return;
            };
            let mut all = notifier
                .watched
                .write()
                .unwrap_or_else(PoisonError::into_inner);
            if let Some(watched) = all.get_mut(&self.descriptor) {
                watched.n_watches -= 1;
                if watched.n_watches == 0 {
                    all.remove(&self.descriptor);
                    // Fails for a directory that was removed, with which the watch went.
                    let _ = inotify::remove_watch(&notifier.inotify, self.descriptor);
                }
            }
        }
    }
}
