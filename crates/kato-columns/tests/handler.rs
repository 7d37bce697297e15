//! What others do with `SIGBUS` stays as it was. In a program of its own, as handlers are the process's.

#![cfg_attr(
    target_os = "linux",
    expect(
        clippy::unwrap_used,
        reason = "helpers of tests may fail by panic, as tests do"
    )
)]

#[cfg(all(test, target_os = "linux"))]
#[expect(unsafe_code, reason = "signal handlers are")]
mod handler {
    use std::fs::{self, File};
    use std::os::unix::process::ExitStatusExt;
    use std::process::Command;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use kato_columns::map::{Map, MapState};

    static N_HANDLED: AtomicUsize = AtomicUsize::new(0);

    extern "C" fn count(_: libc::c_int) {
        N_HANDLED.fetch_add(1, Ordering::SeqCst);
    }

    /// Cuts a mapped file off and reads behind its end.
    fn fault() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        fs::write(&path, [7; 10_000]).unwrap();
        let map = Map::from_file(&path, &File::open(&path).unwrap()).unwrap();
        File::create(&path).unwrap();
        assert_eq!(map[9_999], 0);
        assert!(matches!(map.look(), MapState::Lost(_)));
    }

    #[test]
    fn signals_that_are_not_ours_go_to_the_handler_of_before_or_end_the_process() {
        // SAFETY: the handler adds to an atomic number.
        unsafe { libc::signal(libc::SIGBUS, count as *const () as usize) };
        fault();
        assert_eq!(N_HANDLED.load(Ordering::SeqCst), 0);
        // SAFETY: sends a signal to this thread, which is handled.
        unsafe { libc::raise(libc::SIGBUS) };
        assert_eq!(N_HANDLED.load(Ordering::SeqCst), 1);
        fault();

        // The same in a process without a handler, which has to end by the signal.
        let program = std::env::current_exe().unwrap();
        let status = Command::new(program)
            .args([
                "--ignored",
                "--exact",
                "handler::a_process_without_a_handler",
            ])
            .status()
            .unwrap();
        assert_eq!(status.signal(), Some(libc::SIGBUS), "{status}");
    }

    #[test]
    #[ignore = "ends the process; the test above runs it"]
    fn a_process_without_a_handler() {
        fault();
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        fs::write(&path, [7; 10_000]).unwrap();
        // SAFETY: reading it ends the process, as is to be shown.
        let plain = unsafe { memmap2::Mmap::map(&File::open(&path).unwrap()).unwrap() };
        File::create(&path).unwrap();
        assert_ne!(plain[9_999], 7);
    }
}
