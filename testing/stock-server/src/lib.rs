//! A stand-in for a real KATO server, as slow, forgetful and stubborn as one, with faults on
//! demand; for tests.
//!
//! A good server answers quickly, does a request as a whole or not at all, and stops when nobody
//! waits. A real KATO does none of this, and a trainer must be right all the same:
//!
//! * There is one event loop. Requests are queued without limit, and a learn takes its time
//!   ([`Serving`]).
//! * `observe-sequence` is not atomic: what is learned on the way is known at once, and the session
//!   is saved in the end.
//! * A client that goes away stops nothing: all that was received is carried out, queued requests
//!   included.
//! * A kill in the middle keeps what was learned so far, and loses the session.
//! * A session that is deleted while a request works with it is back when the request saves it.
//!
//! Its databases are as bad as those of a real KATO, where the options ask for it: a learn of 3.10 is
//! two steps that a kill tears apart; Redis keeps nothing over a restart, evicts keys, or is emptied;
//! everything is gone; the databases are away for a while; several processes serve at once.
//!
//! Three generations are played ([`Generation`]). What was learned, and who asked for it, is in
//! files that tests can read: [`learned()`] and [`requests`].
//!
//! ```no_run
//! use kato_stock_server::{StockOptions, StockServer};
//!
//! let mut server = StockServer::start(StockOptions::default().seed(7).die_after(100));
//! println!("{}", server.url());
//! // … train …
//! server.restart_with(StockOptions::default().seed(8));
//! println!("{}", server.learned().export("run_node0"));
//! ```
//!
//! Predictions are always empty.

#![expect(clippy::panic, reason = "tests whose server does not run fail")]
#![expect(clippy::print_stderr, reason = "the program says why it ends")]

mod about_nodes;
mod about_sessions;
mod answer;
mod chance;
mod check;
mod clients;
mod config;
mod connection;
mod event_loop;
mod fair;
mod host;
mod journal;
mod knowledge;
mod learned;
mod learning;
mod options;
mod processor;
mod record;
mod request;
mod request_log;
mod routes;
mod server;
mod service;
mod session;
mod sessions;
mod validate;
mod values;
mod work;
mod world;

pub use host::{run_main, serve_blocking};
pub use learned::{LearnCall, Learned, LearnedNode, LearnedPattern, learned};
pub use options::StockOptions;
pub use request_log::{SeenRequest, requests};
pub use server::StockServer;
pub use values::{Generation, Millis, Serving, Stall};
