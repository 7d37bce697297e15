//! Every backend, any number of workers, every distribution: the same as one worker alone.

use std::sync::Mutex;
use std::thread;

use kato_mongo_server::{ServerOptions, shared};

use crate::backends::Backend;
use crate::learned::Learned;
use crate::place::Place;
use crate::report::stderr;
use crate::site::{Served, Site};

const WORKERS: [&str; 3] = ["1", "2", "8"];
const DISTRIBUTIONS: [&str; 3] = ["work-stealing", "round-robin", "contiguous"];

/// Trains a run with these options, and compares.
fn check(backend: Backend, workers: &str, distribution: &str) {
    let run = format!("matrix_{workers}_{}", distribution.replace('-', "_"));
    let place = Place::new(backend, run);
    let mongodb = (backend == Backend::Mongodb).then(|| shared(ServerOptions::default()));
    let mut site = match backend.is_ours() {
        true => Site::Served(Served::new(place.dir(), backend == Backend::Plain, "os")),
        false => Site::Directory,
    };
    site.start();
    let to = match site.addr() {
        Some(addr) => format!("kato:http://{addr}"),
        None => mongodb.clone().unwrap_or_default(),
    };
    let more = [
        "--workers",
        workers,
        "--distribution",
        distribution,
        "--commit-interval",
        "0.05",
    ];
    let output = place.train(&to, &more).output().unwrap();
    let how = format!("{} {workers} {distribution}", backend.name());
    assert_eq!(output.status.code(), Some(0), "{how}: {}", stderr(&output));
    site.terminate();
    let found = Learned::of(&place, backend, &output, mongodb.as_deref());
    found.assert_equals(Learned::undisturbed(backend), backend.keeps_sightings());
}

#[test]
fn exports_are_those_of_one_worker_for_every_backend_number_of_workers_and_distribution() {
    // Those that take their time are for the schedules.
    let backends: Vec<Backend> = Backend::ALL
        .into_iter()
        .filter(|backend| backend.generation().is_none() && backend.is_installed())
        .collect();
    let combinations = backends.into_iter().flat_map(|backend| {
        WORKERS.into_iter().flat_map(move |workers| {
            // One worker has all, however it is dealt out.
            let n = if workers == "1" {
                1
            } else {
                DISTRIBUTIONS.len()
            };
            let some = DISTRIBUTIONS.into_iter().take(n);
            some.map(move |distribution| (backend, workers, distribution))
        })
    });
    let combinations = Mutex::new(combinations);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let next = combinations.lock().unwrap().next();
                    let Some((backend, workers, distribution)) = next else {
                        return;
                    };
                    check(backend, workers, distribution);
                }
            });
        }
    });
}
