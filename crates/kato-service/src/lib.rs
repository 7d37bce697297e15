//! Everything a KATO server is except HTTP: sessions, nodes, durability, idempotency keys.
//!
//! * [`Service`] serves sessions by id over the knowledge bases of their nodes, in memory or in a directory.
//! * A [`Receipt`] stands for a write that is done and not yet durable; its value comes out once it is as durable as
//!   [`Durability`] asks.
//! * [`ServiceOptions`] sets limits, defaults and intervals; a [`Clock`] tells the time that sessions live by.
//!
//! ```
//! use kato_engine::Observation;
//! use kato_service::{NewSession, Service, ServiceOptions};
//!
//! let dir = tempfile::tempdir()?;
//! let service = Service::open(dir.path(), ServiceOptions::default())?;
//! let id = service.create_session(NewSession::of("node0"))?.wait()?.session_id;
//! for word in ["the", "cat", "sleeps"] {
//!     service.observe(&id, Observation::strings([word]), None)?.wait()?;
//! }
//! let learned = service.learn(&id, Some("request-1"))?.wait()?;
//! assert_eq!(learned.outcome.to_string(), "PTRN|4fcced76b3ddc506df362b9a8c040a592279b586");
//!
//! // The answer was lost on the way? The same request with the same key acts once.
//! let again = service.learn(&id, Some("request-1"))?;
//! assert!(again.replayed());
//! assert_eq!(again.wait()?, learned);
//! service.close()?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What is promised
//!
//! * **Acknowledged is durable**: what a receipt has acknowledged survives a kill at any moment, exactly once; a power cut as
//!   [`Durability`] says. Whether an operation acts and whether its idempotency key is known is one and the same thing.
//! * **Isolation**: operations of one session run one after the other; sessions share nothing but what their node learned.
//! * **Fail-stop**: when the journal cannot be written, or an operation ends by a panic when it has changed memory, no further
//!   write is taken until the service is opened again ([`ServiceError::StorageFailed`]); reads go on, and [`Service::health`]
//!   tells.
//!
//! Every method is quick or bound by the processor, and blocks its thread meanwhile: call them off the threads that an async
//! runtime needs. Only [`Receipt::acknowledged`] waits without blocking.

mod answer;
mod charge;
mod clock;
mod descriptors;
mod directory_lock;
mod error;
mod figures;
mod files;
mod genes;
mod journal;
mod kept;
mod keys;
mod loss;
mod node;
mod nodes;
mod options;
mod receipt;
mod runs;
mod service;
mod session;
mod sessions;

pub use answer::{
    BatchOutcome, Cognition, Existence, Finalized, Learned, ListedSession, NewSession, NodeView,
    ObserveOutcome, SequenceAnswer, SessionPage, SessionView,
};
pub use clock::{Clock, ManualClock, SystemClock};
pub use descriptors::Descriptors;
pub use error::{ServiceError, StorageFailure};
pub use figures::{Figures, Health};
pub use loss::Loss;
pub use options::{Durability, ServiceOptions};
pub use receipt::Receipt;
pub use runs::RunRecord;
pub use service::{Maintained, Service};
