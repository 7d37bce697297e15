//! Service: what becomes of a request.

use serde_json::{Map, Value, json};

use crate::answer::Answer;
use crate::event_loop::Turn;
use crate::learning::Occasion;
use crate::request::Request;
use crate::routes::{self, Route};
use crate::session::Session;
use crate::work::{Crash, Work};
use crate::world::World;
use crate::{about_nodes, about_sessions, validate};

/// Carries a request out, to the end, whether or not anybody waits for the answer.
pub(crate) fn answer(world: &World, request: &Request) -> Answer {
    if request.path[0] == "stand-in" {
        return fault(world, request);
    }
    let turn = world.event_loop(request.process).enter();
    let is_ask = request.method == "GET" && request.path[0] == "pattern";
    // These two ask no database.
    let is_bare = matches!(request.path[0].as_str(), "" | "health");
    let begun = world.short(&turn, is_ask, || match world.is_away() && !is_bare {
        true => Err(world.answer_without_databases(is_ask)),
        false => begin(world, request),
    });
    let answer = begun.and_then(|begun| match begun {
        Begun::Done(answer) => Ok(answer),
        Begun::Long(route, session) => long(world, request, &turn, route, *session),
    });
    let answer = answer.unwrap_or_else(|refusal| refusal);
    // In KATO, errors of 500 and above do not pass the layer that adds the header.
    if answer.status < 500 {
        let trace = request.header("x-trace-id").map(str::to_owned);
        let trace = trace.unwrap_or_else(|| format!("kato-{:032x}", request.number));
        return answer.with("x-trace-id", trace);
    }
    answer
}

/// Does what a test asks for: loses what is in Redis, or everything, at once; or waits until all other clients
/// have gone.
fn fault(world: &World, request: &Request) -> Answer {
    match request.path.get(1).map(String::as_str) {
        Some("flush") => world.flush(),
        Some("empty") => {
            world.knowledge.empty();
            world.sessions.forget();
        }
        Some("forget") => world.sessions.forget(),
        Some("alone") => world.clients.wait_alone(),
        _ => return Answer::not_found(),
    }
    Answer::okay(&json!({"status": "done"}))
}

/// Result of the first step: the answer, or a session that is worked on next.
enum Begun {
    Done(Answer),
    Long(Route, Box<Session>),
}

/// Checks a request in KATO's order, and answers it if it is a short one.
fn begin(world: &World, request: &Request) -> Result<Begun, Answer> {
    if let Some(seconds) = world.options.retry_after
        && request.method == "POST"
    {
        return Err(Answer::busy(seconds));
    }
    let path: Vec<&str> = request.path.iter().map(String::as_str).collect();
    let checked = checked_session(&request.method, &path);
    let session = checked.map(|id| {
        world
            .sessions
            .load(id)
            .ok_or_else(|| Answer::session_gone(id))
    });
    // Before the method and the path: KATO answers 404 for the session even where it would answer
    // 405 without one.
    let session = session.transpose()?;
    let methods = routes::methods(world.generation(), &path);
    let Some((_, route)) = methods.iter().find(|(name, _)| *name == request.method) else {
        if methods.is_empty() {
            return Err(Answer::not_found());
        }
        let allowed: Vec<&str> = methods.iter().map(|(name, _)| *name).collect();
        let refusal = Answer::detail(405, "Method Not Allowed");
        return Err(refusal.with("allow", allowed.join(", ")));
    };
    let Some(session) = session else {
        return Ok(Begun::Done(outside(world, request, *route)?));
    };
    if route.is_long() {
        return Ok(Begun::Long(*route, Box::new(session)));
    }
    let id = session.id.clone();
    let answer = inside(world, request, *route, session)?;
    Ok(Begun::Done(answer.with("x-session-id", id)))
}

/// Returns the session that must be there before anything else of a request is looked at.
fn checked_session<'a>(method: &str, path: &[&'a str]) -> Option<&'a str> {
    match path {
        ["sessions", "count"] | ["sessions", _, "exists"] => None,
        ["sessions", id, _, ..] => Some(id),
        // KATO does not check `GET /sessions/{id}` and `exists`, which are questions about the
        // session itself.
        ["sessions", id] if method != "GET" => Some(id),
        _ => None,
    }
}

/// Answers requests without a session that must be there.
fn outside(world: &World, request: &Request, route: Route) -> Result<Answer, Answer> {
    match route {
        Route::Root => Ok(about_nodes::root(world)),
        Route::Health => Ok(about_nodes::health(world)),
        Route::Status => Ok(about_nodes::status(world)),
        Route::CountSessions => Ok(about_sessions::count(world)),
        Route::CreateSession => about_sessions::create(world, &request.body),
        Route::Session => about_sessions::show(world, &request.path[1]),
        Route::Exists => Ok(about_sessions::exists(world, &request.path[1])),
        Route::Pattern => Ok(about_nodes::pattern(world, request)),
        Route::NodePercept => Ok(about_nodes::percept(world, request)),
        Route::NodeCognition => Ok(about_nodes::cognition(world, request)),
        Route::SetGenes => about_nodes::set_genes(world, request),
        Route::Gene => about_nodes::gene(world, request),
        Route::SymbolStats => Ok(about_nodes::symbol_stats(world, request)),
        Route::CountPatterns => Ok(about_nodes::count_patterns(world, request)),
        _ => Err(Answer::not_found()),
    }
}

/// Answers short requests of a session.
fn inside(
    world: &World,
    request: &Request,
    route: Route,
    session: Session,
) -> Result<Answer, Answer> {
    match route {
        Route::DeleteSession => Ok(about_sessions::delete(world, &session)),
        Route::Config => Ok(about_sessions::config(world, &session)),
        Route::SetConfig => about_sessions::set_config(world, session, &request.body),
        Route::Extend => about_sessions::extend(world, session, request.parameter("ttl_seconds")),
        Route::Stm => Ok(about_sessions::stm(world, session)),
        Route::ClearStm => Ok(about_sessions::clear_stm(world, session)),
        Route::ClearAll => Ok(about_sessions::clear_all(world, session)),
        Route::Finalize => Ok(about_sessions::finalize(world, &session)),
        Route::Percept => Ok(about_sessions::percept(&session)),
        Route::Cognition => Ok(about_sessions::cognition(&session)),
        Route::Retire => about_sessions::retire(world, &session, &request.body, true),
        Route::Unretire => about_sessions::retire(world, &session, &request.body, false),
        _ => Err(Answer::not_found()),
    }
}

/// Answers requests under the session's lock.
///
/// The session was there when the request began, and that is enough: deleted while the request
/// waits or runs, it does not stop it, and is back when the request saves it. As it is loaded again
/// once the lock is there, what the requests before have saved is not lost, except by a learn,
/// which goes on with what it loaded at first.
fn long(
    world: &World,
    request: &Request,
    turn: &Turn<'_>,
    route: Route,
    loaded: Session,
) -> Result<Answer, Answer> {
    let id = loaded.id.clone();
    let observation = (route == Route::Observe).then(|| validate::observation(&request.body));
    let sequence = (route == Route::Sequence).then(|| validate::sequence(&request.body));
    let (observation, sequence) = (observation.transpose()?, sequence.transpose()?);
    let _lock = world.sessions.lock_of(request.process, &id).acquire();
    let session = match route {
        Route::Learn => loaded,
        _ => world.sessions.load(&id).unwrap_or(loaded),
    };
    let mut work = Work {
        world,
        turn,
        request: request.number,
        session,
    };
    work.begin();
    let crashed = |crash: Crash| match crash {
        _ if world.is_away() => world.answer_without_databases(false),
        Crash::Retired {
            name,
            occasion: Occasion::Asked,
        } => Answer::retired(&name),
        Crash::Retired { .. } if world.options.tells_retired => Answer::retired_among_others(),
        // What is learned by itself fails as part of an observation, which does not say why.
        Crash::Retired { .. } => Answer::failure("ObservationError"),
        Crash::Uncaught if world.generation().is_newest() => Answer::failure("LearningError"),
        Crash::Uncaught => Answer::crash(),
    };
    let answer = if let Some(observation) = observation {
        Answer::okay(&work.observe_one(&observation).map_err(crashed)?)
    } else if let Some(sequence) = sequence {
        Answer::okay(&work.sequence(&sequence).map_err(crashed)?)
    } else if route == Route::Predictions {
        // Nothing is computed, so nothing is saved.
        return Ok(predictions(&id).with("x-session-id", id));
    } else if work.session.stm.is_empty() {
        // Nothing has changed, so that nothing is saved.
        return Err(Answer::detail(400, "Cannot learn from empty STM"));
    } else {
        let name = work.learn().map_err(crashed)?;
        // A quirk of KATO: it counts the events after it has cleared them.
        let message = format!("Learned pattern {name} from 0 events");
        Answer::okay(
            &json!({"status": "learned", "pattern_name": name, "session_id": id,
            "processor_id": null, "message": message}),
        )
    };
    if world.is_away() {
        return Err(world.answer_without_databases(false));
    }
    work.save();
    Ok(answer.with("x-session-id", id))
}

/// Answers `GET /sessions/{id}/predictions`, always without any.
fn predictions(id: &str) -> Answer {
    Answer::okay(
        &json!({"predictions": [], "future_potentials": [], "session_id": id, "processor_id": null, "count": 0,
        "time": null, "unique_id": null}),
    )
}

/// Returns the map under a key, or the whole of it; `None` if there is something else under the
/// key.
pub(crate) fn map_under(key: &str, mut body: Map<String, Value>) -> Option<Map<String, Value>> {
    match body.remove(key) {
        None => Some(body),
        Some(Value::Object(map)) => Some(map),
        Some(_) => None,
    }
}
