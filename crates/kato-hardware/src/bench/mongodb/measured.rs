//! The measurement of a MongoDB.

use std::cell::Cell;
use std::rc::Rc;
use std::time::{Duration, Instant};

use mongodb::bson::{Document, doc};
use mongodb::error::{Error, ErrorKind};
use mongodb::options::{ClientOptions, IndexOptions};
use mongodb::{Client, Collection, Database, IndexModel};
use tokio::time::timeout;

use super::{DatabaseInUse, MongoResults};
use crate::Allowance;
use crate::figure::{Finding, Measured, MeasurementMethod, Unit};
use crate::meter::{Meter, NO_TIME};
use crate::step::cancelled;

/// Prefix of the names of databases that are made here.
const PREFIX: &str = "kato_hardware_";
/// Operations after which a distribution is known well enough.
const MAX_SAMPLES: usize = 2_000;
/// Number of upserts in the first command and in the largest.
const BULK: [usize; 2] = [10, 100];
/// Most time for a server to answer before it counts as absent.
const TIMEOUT: Duration = Duration::from_secs(2);

/// Measures within the allowance; dropping the database may take as long as `grace` after that.
pub(crate) fn measure(
    allowance: &Allowance,
    grace: Duration,
    uri: &str,
    in_use: &DatabaseInUse,
) -> MongoResults {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    match runtime {
        Ok(runtime) => {
            let results = runtime.block_on(try_measure(allowance, grace, uri, in_use));
            // Dropping the runtime could wait for the driver's own tasks, and these for a server
            // that hangs.
            runtime.shutdown_background();
            results.unwrap_or_else(|reason| MongoResults::unknown(&reason))
        }
        Err(error) => MongoResults::unknown(&format!("no runtime can be started ({error})")),
    }
}

/// Measures on a runtime.
///
/// # Errors
///
/// The reason why nothing can be measured.
async fn try_measure(
    allowance: &Allowance,
    grace: Duration,
    uri: &str,
    in_use: &DatabaseInUse,
) -> Result<MongoResults, String> {
    // The driver's own message may repeat the address with its password, so it is left out.
    let unreadable = |_| {
        "MongoDB's address cannot be read: give mongodb://[user:password@]host[:port][/?options]"
            .to_owned()
    };
    let slow = |_| "MongoDB's name is not resolved in time: see the address".to_owned();
    let time = allowance.remaining();
    let mut options = timeout(time, async { ClientOptions::parse(uri).await })
        .await
        .map_err(slow)?
        .map_err(unreadable)?;
    options.app_name = Some("kato-hardware".to_owned());
    options.server_selection_timeout = Some(TIMEOUT.min(time.mul_f64(0.5)));
    options.connect_timeout = options.server_selection_timeout;
    // The write concern is that of the server or the address. Retries are turned off, because one
    // would be timed as part of the operation.
    options.retry_writes = Some(false);
    let client = Client::with_options(options).map_err(unreadable)?;
    let allowance = &Bounds {
        allowance: allowance.clone(),
        // Half of the grace for operations under way, and 0.4 of it for the drop, so that the step
        // ends in time.
        last: allowance.until + grace.mul_f64(0.5),
        is_abandoned: Rc::default(),
    };
    let ping_latency = ping(allowance, &client).await?;
    // A name that nobody else has, so that dropping the database never removes data of others.
    let database = client.database(&format!("{PREFIX}{}", uuid::Uuid::new_v4().simple()));
    *in_use.lock() = Some(database.name().to_owned());
    let found = measure_database(allowance, &database).await;
    // Asked for whatever happened, also where nothing was measured: the first operation may have
    // reached the server without an answer.
    let dropped = timeout(grace.mul_f64(0.4), async { database.drop().await }).await;
    let name = database.name();
    let left = match dropped {
        // The server may carry it out after the drop, which makes the database anew.
        Ok(Ok(())) if allowance.is_abandoned.get() => {
            Some("an operation was not finished in time and may come after".to_owned())
        }
        Ok(Ok(())) => None,
        Ok(Err(error)) => Some(failure_reason(&error)),
        Err(_) => Some("no answer in time".to_owned()),
    };
    if let Some(reason) = left {
        return Ok(MongoResults::left(name, &reason));
    }
    *in_use.lock() = None;
    Ok(MongoResults {
        ping_latency,
        ..found
    })
}

/// The bounds of operations: the time after which none is begun, and the time after which none is
/// waited for.
///
/// They differ because a server goes on with an operation that nobody waits for, even after the
/// database was dropped.
struct Bounds {
    allowance: Allowance,
    last: Instant,
    /// Set when an operation was not waited for; shared by all parts.
    is_abandoned: Rc<Cell<bool>>,
}

impl Bounds {
    /// Returns bounds with a share of the time to begin in, and the same end.
    fn part(&self, share: f64) -> Self {
        Self {
            allowance: self.allowance.part(share),
            last: self.last,
            is_abandoned: Rc::clone(&self.is_abandoned),
        }
    }

    /// Returns whether nothing more is to begin.
    fn is_over(&self) -> bool {
        self.allowance.is_over()
    }

    /// Returns the time to begin in that is left.
    fn remaining(&self) -> Duration {
        self.allowance.remaining()
    }

    /// Returns whether the measurement was cancelled or abandoned.
    fn is_stopped(&self) -> bool {
        self.allowance.is_stopped()
    }

    /// Waits for an operation; `Ok(None)` when there is no time to begin it, or it does not end.
    async fn run_bounded<T>(
        &self,
        operation: impl Future<Output = Result<T, Error>>,
    ) -> Result<Option<T>, String> {
        if self.is_over() {
            return Ok(None);
        }
        let left = self.last.saturating_duration_since(Instant::now());
        match timeout(left, operation).await {
            Ok(Ok(value)) => Ok(Some(value)),
            Ok(Err(error)) => Err(failure_reason(&error)),
            Err(_) => {
                self.is_abandoned.set(true);
                Ok(None)
            }
        }
    }
}

/// Measures the smallest command.
///
/// # Errors
///
/// The reason why the server cannot be measured at all.
async fn ping(allowance: &Bounds, client: &Client) -> Result<Measured, String> {
    let allowance = &allowance.part(0.5);
    let admin = client.database("admin");
    // The first one connects, so it is not measured.
    let once = async { admin.run_command(doc! {"ping": 1}).await };
    if allowance.run_bounded(once).await?.is_none() {
        return Err(if allowance.is_stopped() {
            cancelled()
        } else {
            "MongoDB does not answer in time: see whether it hangs".to_owned()
        });
    }
    let allowance = &allowance.part(0.2);
    latency(allowance, async |_| {
        admin.run_command(doc! {"ping": 1}).await.map(|_| ())
    })
    .await
}

/// Measures everything that needs a database.
async fn measure_database(allowance: &Bounds, database: &Database) -> MongoResults {
    let patterns: Collection<Document> = database.collection("patterns");
    let unique = IndexOptions::builder().unique(true).build();
    let index = IndexModel::builder()
        .keys(doc! {"name": 1})
        .options(unique)
        .build();
    match allowance
        .run_bounded(async { patterns.create_index(index).await })
        .await
    {
        Ok(Some(_)) => {}
        Ok(None) => return MongoResults::unknown("MongoDB does not make an index in time"),
        Err(reason) => return MongoResults::unknown(&reason),
    }
    // Inserts, upserts and bulk have ranges of numbers of their own, so that none meets patterns of
    // another.
    let insert_latency = finding_from(
        latency(&allowance.part(0.25), async |number| {
            patterns.insert_one(pattern(number)).await.map(|_| ())
        })
        .await,
    );
    let n_patterns = insert_latency
        .known()
        .map_or(1, |figure| figure.validity.samples.max(1) as usize);
    let query_latency = finding_from(
        latency(&allowance.part(0.33), async |number| {
            // A stride that meets all of them, out of order: 7919 is prime and larger than their
            // number.
            let name = name(number * 7919 % n_patterns);
            patterns.find_one(doc! {"name": name}).await.map(|_| ())
        })
        .await,
    );
    let upsert_latency = finding_from(
        latency(&allowance.part(0.5), async |number| {
            let (filter, update) = upsert(MAX_SAMPLES + number);
            patterns
                .update_one(filter, update)
                .upsert(true)
                .await
                .map(|_| ())
        })
        .await,
    );
    let bulk_upsert = finding_from(bulk(allowance, database).await);
    MongoResults {
        // Replaced by the caller, who has measured it before.
        ping_latency: Finding::unknown(NO_TIME),
        insert_latency,
        upsert_latency,
        bulk_upsert,
        query_latency,
        left_behind: None,
    }
}

/// Measures single operations, numbered from 0, one after the other.
async fn latency(
    allowance: &Bounds,
    operation: impl AsyncFn(usize) -> Result<(), Error>,
) -> Result<Measured, String> {
    let meter = Meter::start();
    let mut seconds = Vec::new();
    while seconds.len() < MAX_SAMPLES && !allowance.is_over() {
        let start = Instant::now();
        if allowance
            .run_bounded(operation(seconds.len()))
            .await?
            .is_none()
        {
            break;
        }
        seconds.push(start.elapsed().as_secs_f64());
    }
    if allowance.is_stopped() {
        return Err(cancelled());
    }
    Ok(meter.latency(MeasurementMethod::Direct, &seconds))
}

/// Measures commands of many upserts, about half of them of patterns that are there.
async fn bulk(allowance: &Bounds, database: &Database) -> Result<Measured, String> {
    let [mut n, largest] = BULK;
    let meter = Meter::start().note(format!("at most {largest} in a command"));
    let mut found = Vec::new();
    let mut first = 2 * MAX_SAMPLES;
    while first < 12 * MAX_SAMPLES && !allowance.is_over() {
        let updates: Vec<Document> = (first..first + n)
            .map(|number| {
                let (filter, update) = upsert(number);
                doc! {"q": filter, "u": update, "upsert": true}
            })
            .collect();
        let command = doc! {"update": "patterns", "updates": updates, "ordered": false};
        let start = Instant::now();
        match allowance
            .run_bounded(async { database.run_command(command).await })
            .await?
        {
            // The command succeeds even where updates do not.
            Some(answer) if answer.contains_key("writeErrors") => {
                return Err("MongoDB refused upserts: see the rights of the user".to_owned());
            }
            Some(_) => {}
            None => break,
        }
        found.push((n as f64, start.elapsed().as_secs_f64()));
        // The second half of this command comes again in the next.
        first += n / 2;
        // No more than the server does in half of the time that is left, because a command that is
        // not waited for would spoil all figures.
        let each = start.elapsed() / n as u32;
        let fitting = allowance.remaining().as_nanos() / 2 / each.as_nanos().max(1);
        n = (2 * n).min(largest).min(fitting.max(1) as usize);
    }
    if allowance.is_stopped() {
        return Err(cancelled());
    }
    Ok(meter.rate(Unit::PerSecond, MeasurementMethod::Direct, &found))
}

/// Turns an error into an unknown figure.
fn finding_from(result: Result<Measured, String>) -> Measured {
    result.unwrap_or_else(Finding::unknown)
}

/// Returns a name of 40 hexadecimal digits, as a pattern has.
fn name(number: usize) -> String {
    // An odd factor makes all products differ, and spreads them over the index as hashes are.
    format!(
        "{:040x}",
        (number as u128).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835)
    )
}

/// Returns a pattern of five tokens as KATO stores it.
fn pattern(number: usize) -> Document {
    doc! {
        "name": name(number),
        "pattern_data": [["the"], ["cat"], ["sat"], ["on"], ["it"]],
        "length": 5,
        "frequency": 1,
    }
}

/// Returns filter and update of an upsert that adds 1 to the frequency of a pattern.
fn upsert(number: usize) -> (Document, Document) {
    let mut content = pattern(number);
    // The filter gives the name and `$inc` the frequency; a field must not be in two operators.
    content.remove("frequency");
    content.remove("name");
    let update = doc! {"$inc": {"frequency": 1}, "$setOnInsert": content};
    (doc! {"name": name(number)}, update)
}

/// Returns the reason of a failure, without the address, which may hold a password.
fn failure_reason(error: &Error) -> String {
    match &*error.kind {
        ErrorKind::ServerSelection { .. } => {
            "MongoDB cannot be reached: start it, or see the address".to_owned()
        }
        ErrorKind::Authentication { .. } => {
            "MongoDB refuses the user: see name and password in the address".to_owned()
        }
        ErrorKind::Command(command) => format!(
            "MongoDB refuses ({}): see the rights of the user",
            command.code_name
        ),
        _ => "MongoDB broke off: see its log".to_owned(),
    }
}
