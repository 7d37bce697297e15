//! Where a run trains to: nothing beside its folder, a server of ours, or a MongoDB; killed,
//! stopped, and started again.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use kato_mongo_server::MongoServer;
use kato_stock_server::{StockOptions, StockServer};

use crate::address::free_address;
use crate::disk::limited;
use crate::schedule::Slowness;
use crate::server::Server;

/// What a stand-in may take for what it has received.
const IDLE: Duration = Duration::from_secs(60);

pub(crate) enum Site<'a> {
    Directory,
    Served(Served),
    Stock(Box<Stock>),
    Mongodb(&'a mut MongoServer),
}

/// A server on a fixed port and directory.
pub(crate) struct Served {
    dir: PathBuf,
    addr: SocketAddr,
    arguments: Vec<String>,
    server: Option<Server>,
}

/// Exit code of a server that did not stop in time.
const GIVEN_UP: i32 = 130;
/// Times that a server is asked to stop.
const STOPS: usize = 5;

impl Served {
    pub(crate) fn new(dir: &Path, is_stock: bool, durability: &str) -> Self {
        let addr = free_address();
        let fixed = ["--data", "data", "--durability", durability, "--addr"];
        let mut arguments: Vec<String> = fixed.map(str::to_owned).to_vec();
        arguments.push(addr.to_string());
        if is_stock {
            arguments.push("--no-extensions".to_owned());
        }
        Self {
            dir: dir.to_owned(),
            addr,
            arguments,
            server: None,
        }
    }

    fn start(&mut self) {
        let arguments: Vec<&str> = self.arguments.iter().map(String::as_str).collect();
        let server = Server::start(&self.dir, &arguments);
        assert_eq!(server.addr(), self.addr);
        self.server = Some(server);
    }

    /// Starts it on a disk that is as good as full; it may find that it cannot run there.
    fn start_limited(&mut self, blocks: u32) {
        let arguments: Vec<&str> = self.arguments.iter().map(String::as_str).collect();
        let command = limited(&Server::command(&self.dir, &arguments), blocks);
        self.server = Server::start_as(command).ok();
    }
}

/// A stand-in for a real KATO on a fixed port and directory.
pub(crate) struct Stock {
    server: StockServer,
    /// How it is started again.
    again: StockOptions,
}

impl Stock {
    pub(crate) fn start(dir: &Path, slowness: &Slowness) -> Self {
        Self {
            server: StockServer::start(slowness.options().data(&dir.join("data"))),
            again: slowness.options_again(),
        }
    }
}

impl Site<'_> {
    /// Whether it has ended by itself.
    pub(crate) fn is_dead(&mut self) -> bool {
        match self {
            Self::Stock(stock) => !stock.server.is_running(),
            _ => false,
        }
    }

    pub(crate) fn addr(&self) -> Option<SocketAddr> {
        match self {
            Self::Directory => None,
            Self::Served(served) => Some(served.addr),
            Self::Stock(stock) => Some(stock.server.addr()),
            Self::Mongodb(server) => Some(server.address()),
        }
    }

    /// Starts what is not running.
    pub(crate) fn start(&mut self) {
        match self {
            Self::Directory => {}
            Self::Served(served) if served.server.is_some() => {}
            Self::Served(served) => served.start(),
            Self::Stock(stock) => {
                if !stock.server.is_running() {
                    stock.server.restart_with(stock.again.clone());
                }
            }
            Self::Mongodb(server) => {
                if !server.is_running() {
                    server.restart();
                }
            }
        }
    }

    pub(crate) fn start_limited(&mut self, blocks: u32) {
        if let Self::Served(served) = self {
            served.start_limited(blocks);
        }
    }

    pub(crate) fn kill(&mut self) {
        match self {
            Self::Directory => {}
            Self::Served(served) => {
                let server = served.server.take();
                server.into_iter().for_each(|mut server| server.kill());
            }
            Self::Stock(stock) => stock.server.kill(),
            Self::Mongodb(server) => server.kill(),
        }
    }

    /// Sends a signal to what is running.
    pub(crate) fn signal(&self, name: &str) {
        match self {
            Self::Directory => {}
            Self::Served(served) => {
                if let Some(server) = &served.server {
                    server.signal(name);
                }
            }
            Self::Stock(stock) => stock.server.signal(name),
            Self::Mongodb(server) => server.signal(name),
        }
    }

    /// Ends a server of ours in order, so that all it knows is in its stores, and waits until a
    /// stand-in has done all that it received.
    pub(crate) fn terminate(&mut self) {
        if let Self::Stock(stock) = self {
            assert!(stock.server.wait_idle(IDLE), "it is still at work");
        }
        let Self::Served(served) = self else {
            return;
        };
        // On a machine that is busy it may not stop in time, and says so: what it acknowledged is
        // then in its journal, and in the stores after the next start.
        for _ in 0..STOPS {
            let Some(mut server) = served.server.take() else {
                return;
            };
            match server.terminate() {
                Some(0) => return,
                code => assert_eq!(code, Some(GIVEN_UP), "the server's exit code"),
            }
            served.start();
        }
        panic!("{STOPS} times the server did not stop in time");
    }
}
