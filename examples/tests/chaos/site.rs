//! Where a run trains to: nothing beside its folder, a server of ours, or a MongoDB; killed, stopped, and started again.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use kato_mongo_server::MongoServer;

use crate::address::free_address;
use crate::disk::limited;
use crate::server::Server;

pub(crate) enum Site<'a> {
    Directory,
    Served(Served),
    Mongodb(&'a mut MongoServer),
}

/// A server on a fixed port and directory.
pub(crate) struct Served {
    dir: PathBuf,
    addr: SocketAddr,
    arguments: Vec<String>,
    server: Option<Server>,
}

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

impl Site<'_> {
    pub(crate) fn addr(&self) -> Option<SocketAddr> {
        match self {
            Self::Directory => None,
            Self::Served(served) => Some(served.addr),
            Self::Mongodb(server) => Some(server.address()),
        }
    }

    /// Starts what is not running.
    pub(crate) fn start(&mut self) {
        match self {
            Self::Directory => {}
            Self::Served(served) if served.server.is_some() => {}
            Self::Served(served) => served.start(),
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
            Self::Mongodb(server) => server.signal(name),
        }
    }

    /// Ends a server of ours in order, so that all it knows is in its stores.
    pub(crate) fn terminate(&mut self) {
        if let Self::Served(served) = self
            && let Some(mut server) = served.server.take()
        {
            assert_eq!(server.terminate(), Some(0), "the server's exit code");
        }
    }
}
