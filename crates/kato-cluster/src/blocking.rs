//! Work that computes or reads and writes files: on the threads that the runtime has for it, so that
//! no thread that drives futures waits for it.

use std::path::Path;
use std::sync::Arc;

use kato_store::scratch::ScratchDir;
use tokio::runtime::Handle;

use crate::ClusterError;

/// Does work away from the threads that drive futures. Where no runtime of tokio is, there is no
/// such thread: it is done by the one that polls.
///
/// When the future is dropped, the work still runs to its end, and its result is dropped. So it must
/// own what it needs, and be nothing that counts.
pub(crate) async fn run<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ClusterError> + Send + 'static,
) -> Result<T, ClusterError> {
    let Ok(runtime) = Handle::try_current() else {
        return work();
    };
    match runtime.spawn_blocking(work).await {
        Ok(result) => result,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(_) => Err(ClusterError::Stopped),
        },
    }
}

/// A directory for working files, which goes when the last of its clones is dropped: a future that
/// is dropped leaves it to the work that it has begun. That of a worker that was killed goes when
/// the next is made.
#[derive(Debug, Clone)]
pub(crate) struct Scratch(Arc<ScratchDir>);

impl Scratch {
    /// Makes a directory of its own in `parent`.
    pub(crate) async fn create_in(parent: &Path) -> Result<Self, ClusterError> {
        let parent = parent.to_owned();
        run(move || {
            let made = ScratchDir::create_in(&parent);
            let made = made.map_err(ClusterError::io("create a directory in", parent))?;
            Ok(Self(Arc::new(made)))
        })
        .await
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }
}
