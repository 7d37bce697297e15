//! Maps whose faults do not end the process: the one module of the crate with `unsafe`.
#![expect(unsafe_code, reason = "mapping a file is, and so is handling a signal")]

use std::fs::File;
use std::io;
use std::ops::Deref;

use memmap2::{Advice, Mmap, MmapOptions};

/// Bytes that are fetched by one call: of more, Linux fetches as much as it reads ahead of a file, and passes over
/// the rest. By default it reads so much ahead.
#[cfg(unix)]
const FETCHED_AT_ONCE: usize = 128 << 10;

/// A mapped file. A page of it that cannot be read makes all of it read as zeros.
#[derive(Debug)]
pub(crate) struct GuardedMap {
    // Ahead of the map, so that the handler forgets the addresses before they are given back.
    #[cfg(target_os = "linux")]
    guard: Option<handler::Guard>,
    map: Mmap,
}

impl GuardedMap {
    /// Maps a whole file that is not empty, read only.
    pub(crate) fn of(file: &File) -> io::Result<Self> {
        // SAFETY: nobody may rely on a byte being what it was when looked at before, as others can write
        // to the file. The callers of `Map` are told so; they compare checksums, check indices at every
        // read, and check text again where they make a `str` of it.
        let map = unsafe { MmapOptions::new().map(file)? };
        Ok(Self {
            #[cfg(target_os = "linux")]
            guard: handler::Guard::of(&map),
            map,
        })
    }

    /// Returns whether a page could not be read.
    pub(crate) fn has_faulted(&self) -> bool {
        #[cfg(target_os = "linux")]
        return self.guard.as_ref().is_some_and(handler::Guard::has_faulted);
        #[cfg(not(target_os = "linux"))]
        false
    }

    /// Advises the system how the map will be read.
    pub(crate) fn advise(&self, advice: Advice) {
        #[cfg(unix)]
        // Advice changes speed only, so that a refusal has no consequence.
        let _ = self.map.advise(advice);
        #[cfg(not(unix))]
        let _ = advice;
    }

    /// Begins to fetch a range from the disk, and does not wait for it.
    pub(crate) fn fetch(&self, start: usize, len: usize) {
        #[cfg(unix)]
        for at in (start..start.saturating_add(len)).step_by(FETCHED_AT_ONCE) {
            let len = FETCHED_AT_ONCE.min(start + len - at);
            // As above.
            let _ = self.map.advise_range(Advice::WillNeed, at, len);
        }
        #[cfg(not(unix))]
        let _ = (start, len);
    }
}

impl Deref for GuardedMap {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.map
    }
}

/// Returns how many faults in maps there were so far.
pub(crate) fn n_faults() -> u64 {
    #[cfg(target_os = "linux")]
    return handler::n_faults();
    #[cfg(not(target_os = "linux"))]
    0
}

/// The handler of `SIGBUS`, and the list of maps that it looks up addresses in.
#[cfg(target_os = "linux")]
mod handler {
    use std::ptr;
    use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, AtomicUsize, Ordering};
    use std::sync::{Mutex, OnceLock, PoisonError};

    use libc::{c_int, c_void, siginfo_t};
    use memmap2::Mmap;

    /// Number of slots that are made at once.
    const SLOTS: usize = 256;

    /// The addresses of a map. Slots are never freed, so that the handler may read any of them at any
    /// time; `Guard`s take turns in using one.
    #[derive(Debug)]
    struct Slot {
        /// Odd while the addresses are written.
        version: AtomicUsize,
        /// 0 while no map uses the slot.
        start: AtomicUsize,
        len: AtomicUsize,
        has_faulted: AtomicBool,
    }

    /// Some slots, and those that were made after them.
    struct Slots {
        slots: [Slot; SLOTS],
        next: AtomicPtr<Self>,
    }

    impl Slots {
        const fn new() -> Self {
            Self {
                slots: [const { Slot::new() }; SLOTS],
                next: AtomicPtr::new(ptr::null_mut()),
            }
        }
    }

    static FIRST: Slots = Slots::new();
    static N_FAULTS: AtomicU64 = AtomicU64::new(0);
    /// What handled the signal before; never freed. Null until it is known.
    static PREVIOUS: AtomicPtr<libc::sigaction> = AtomicPtr::new(ptr::null_mut());
    /// Slots that no map uses. The handler does not touch it.
    static FREE: Mutex<Vec<&'static Slot>> = Mutex::new(Vec::new());

    pub(super) fn n_faults() -> u64 {
        N_FAULTS.load(Ordering::SeqCst)
    }

    /// A map's place in the list.
    #[derive(Debug)]
    pub(super) struct Guard(&'static Slot);

    impl Guard {
        /// Enters a map; `None` if the handler cannot be installed, so that faults end the process.
        pub(super) fn of(map: &Mmap) -> Option<Self> {
            static IS_INSTALLED: OnceLock<bool> = OnceLock::new();
            if !IS_INSTALLED.get_or_init(install) {
                return None;
            }
            let slot = take_slot();
            slot.has_faulted.store(false, Ordering::SeqCst);
            slot.set(map.as_ptr() as usize, map.len());
            Some(Self(slot))
        }

        pub(super) fn has_faulted(&self) -> bool {
            self.0.has_faulted.load(Ordering::SeqCst)
        }
    }

    impl Drop for Guard {
        fn drop(&mut self) {
            self.0.set(0, 0);
            let mut free = FREE.lock().unwrap_or_else(PoisonError::into_inner);
            free.push(self.0);
        }
    }

    impl Slot {
        const fn new() -> Self {
            Self {
                version: AtomicUsize::new(0),
                start: AtomicUsize::new(0),
                len: AtomicUsize::new(0),
                has_faulted: AtomicBool::new(false),
            }
        }

        fn set(&self, start: usize, len: usize) {
            self.version.fetch_add(1, Ordering::SeqCst);
            self.start.store(start, Ordering::SeqCst);
            self.len.store(len, Ordering::SeqCst);
            self.version.fetch_add(1, Ordering::SeqCst);
        }

        /// Returns the addresses, unless they are just written: then they are not those of a map that
        /// anybody reads.
        fn get(&self) -> Option<(usize, usize)> {
            let version = self.version.load(Ordering::SeqCst);
            let found = (
                self.start.load(Ordering::SeqCst),
                self.len.load(Ordering::SeqCst),
            );
            let is_whole =
                version.is_multiple_of(2) && self.version.load(Ordering::SeqCst) == version;
            (is_whole && found.0 != 0).then_some(found)
        }
    }

    /// Returns a slot that no map uses.
    fn take_slot() -> &'static Slot {
        static IS_FIRST_LISTED: AtomicBool = AtomicBool::new(false);
        let mut free = FREE.lock().unwrap_or_else(PoisonError::into_inner);
        if !IS_FIRST_LISTED.swap(true, Ordering::SeqCst) {
            free.extend(&FIRST.slots);
        }
        if let Some(slot) = free.pop() {
            return slot;
        }
        let more: &'static Slots = Box::leak(Box::new(Slots::new()));
        // Under the lock, so that nobody else puts slots before the first ones. The pointer is only ever
        // read as a shared reference.
        let next = FIRST.next.load(Ordering::SeqCst);
        more.next.store(next, Ordering::SeqCst);
        FIRST
            .next
            .store(ptr::from_ref(more).cast_mut(), Ordering::SeqCst);
        let (first, others) = more.slots.split_first().expect("there are slots");
        free.extend(others);
        first
    }

    /// Finds the map of an address.
    fn find(address: usize) -> Option<(&'static Slot, usize, usize)> {
        let mut slots = &FIRST;
        loop {
            for slot in &slots.slots {
                if let Some((start, len)) = slot.get()
                    && (start..start.saturating_add(len)).contains(&address)
                {
                    return Some((slot, start, len));
                }
            }
            // SAFETY: null, or leaked slots that nobody changes but through atomics.
            slots = unsafe { slots.next.load(Ordering::SeqCst).as_ref()? };
        }
    }

    /// Installs the handler; returns whether it is.
    fn install() -> bool {
        // SAFETY: all-zero bytes are a valid `sigaction`, and the pointers are to live values or null.
        // The old action is known before ours can run. What another thread installs between the two
        // calls is lost; a program that does so at the same moment has the same problem without us.
        unsafe {
            let mut previous: libc::sigaction = std::mem::zeroed();
            if libc::sigaction(libc::SIGBUS, ptr::null(), &raw mut previous) != 0 {
                return false;
            }
            PREVIOUS.store(Box::leak(Box::new(previous)), Ordering::SeqCst);
            let mut ours: libc::sigaction = std::mem::zeroed();
            ours.sa_sigaction = on_fault as *const () as usize;
            // On the alternative stack where the thread has one, as a full stack is a fault too.
            ours.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_RESTART;
            libc::sigemptyset(&raw mut ours.sa_mask);
            libc::sigaction(libc::SIGBUS, &raw const ours, ptr::null_mut()) == 0
        }
    }

    /// Handles `SIGBUS`. Calls nothing but system calls and reads nothing but atomics, as it may interrupt
    /// anything.
    extern "C" fn on_fault(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
        // SAFETY: the system calls this with a valid `info`, whose address is set where the code says that
        // the kernel sent the signal for a fault. `errno` of the thread that was interrupted is kept.
        unsafe {
            let errno = *libc::__errno_location();
            let is_fault = (*info).si_code > 0;
            if !(is_fault && replace((*info).si_addr() as usize)) {
                call_previous(signal, info, context);
            }
            *libc::__errno_location() = errno;
        }
    }

    /// Replaces the map that an address is of by zeros, and marks it; returns whether there is one.
    fn replace(address: usize) -> bool {
        let Some((slot, start, len)) = find(address) else {
            return false;
        };
        // Marked first: whoever reads zeros finds the mark.
        slot.has_faulted.store(true, Ordering::SeqCst);
        N_FAULTS.fetch_add(1, Ordering::SeqCst);
        // All of it and not one page: the map is worth nothing any more, and millions of single pages
        // would be more than a process may map.
        //
        // SAFETY: the addresses are those of a map of ours that is read at this moment, by the thread that
        // is interrupted, so that it is not given back meanwhile. It begins at a page, as it is that of a
        // whole file. Readers see other bytes than before, which they have to expect of a mapped file.
        let mapped = unsafe {
            libc::mmap(
                start as *mut c_void,
                len,
                libc::PROT_READ,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED | libc::MAP_NORESERVE,
                -1,
                0,
            )
        };
        mapped != libc::MAP_FAILED
    }

    /// Does what would have been done without this handler.
    ///
    /// # Safety
    ///
    /// To be called by the handler, with what it was given.
    unsafe fn call_previous(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
        // SAFETY: a leaked value, or null.
        let previous = unsafe { PREVIOUS.load(Ordering::SeqCst).as_ref() };
        match previous {
            Some(previous) if ![libc::SIG_DFL, libc::SIG_IGN].contains(&previous.sa_sigaction) => {
                // SAFETY: the action was in force, so its flags say which of the two kinds of functions
                // the address is.
                unsafe {
                    if previous.sa_flags & libc::SA_SIGINFO != 0 {
                        let handler: extern "C" fn(c_int, *mut siginfo_t, *mut c_void) =
                            std::mem::transmute(previous.sa_sigaction);
                        handler(signal, info, context);
                    } else {
                        let handler: extern "C" fn(c_int) =
                            std::mem::transmute(previous.sa_sigaction);
                        handler(signal);
                    }
                }
            }
            // SAFETY: `info` is valid, as above, and `signal` and `raise` may be called in a handler. The
            // signal is delivered again when this returns, and ends the process.
            _ => unsafe {
                let was_ignored =
                    previous.is_some_and(|previous| previous.sa_sigaction == libc::SIG_IGN);
                // A fault cannot be ignored: the instruction would fault for ever.
                if (*info).si_code > 0 || !was_ignored {
                    libc::signal(signal, libc::SIG_DFL);
                    libc::raise(signal);
                }
            },
        }
    }
}
