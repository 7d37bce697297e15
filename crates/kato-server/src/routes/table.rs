//! The table of routes.

use axum::http::Method;

use super::Group::{Counting, Docs, Extension, Generation2025, Kato, Retiring};
use super::Route;
use crate::api::{
    admin, asking, documents, extensions, genes, health, lifecycle, monitoring, next, nodes,
    patterns, pools, sessions,
};
use crate::workers::Work::{Light, Long, Short};

macro_rules! routes {
    ($($method:ident $template:literal $group:ident $work:ident $body:literal $handler:path;)*) => {
        /// Every route. Earlier ones win.
        pub(crate) static ROUTES: &[Route] = &[$(Route {
            method: Method::$method,
            template: $template,
            group: $group,
            work: $work,
            has_body: $body,
            handler: $handler,
        },)*];
    };
}

// Method, path, group, work, whether the body is read, handler.
routes! {
    GET "/openapi.json" Docs Light false documents::openapi;
    GET "/docs" Docs Light false documents::page;
    GET "/redoc" Docs Light false documents::page;
    GET "/" Kato Light false monitoring::root;
    GET "/health" Kato Light false health::health;
    GET "/status" Kato Short false monitoring::status;
    POST "/sessions" Kato Short true lifecycle::create;
    GET "/sessions/count" Kato Light false lifecycle::count;
    GET "/sessions/{session_id}" Kato Short false lifecycle::info;
    GET "/sessions/{session_id}/exists" Kato Short false lifecycle::exists;
    DELETE "/sessions/{session_id}" Kato Short false lifecycle::delete;
    GET "/sessions/{session_id}/config" Kato Short false lifecycle::config;
    POST "/sessions/{session_id}/config" Kato Short true lifecycle::update_config;
    POST "/sessions/{session_id}/extend" Kato Short false lifecycle::extend;
    POST "/sessions/{session_id}/observe" Kato Short true sessions::observe;
    GET "/sessions/{session_id}/stm" Kato Short false sessions::stm;
    POST "/sessions/{session_id}/learn" Kato Short false sessions::learn;
    POST "/sessions/{session_id}/clear-stm" Kato Short false sessions::clear_stm;
    POST "/sessions/{session_id}/clear-all" Kato Long false sessions::clear_all;
    POST "/sessions/{session_id}/observe-sequence" Kato Long true sessions::observe_sequence;
    GET "/sessions/{session_id}/predictions" Kato Long false sessions::predictions;
    POST "/sessions/{session_id}/finalize-training" Kato Long false sessions::finalize_training;
    GET "/sessions/{session_id}/percept-data" Kato Short false sessions::percept_data;
    GET "/sessions/{session_id}/cognition-data" Kato Long false sessions::cognition_data;
    POST "/sessions/{session_id}/patterns/retire" Retiring Short true patterns::retire;
    POST "/sessions/{session_id}/patterns/un-retire" Retiring Short true patterns::unretire;
    POST "/sessions/{session_id}/patterns/purge" Retiring Long true patterns::purge;
    POST "/sessions/{session_id}/learn-batch" Extension Long true extensions::learn_batch;
    POST "/sessions/{session_id}/ask-batch" Extension Long true asking::ask_batch;
    GET "/sessions/{session_id}/next" Extension Long false next::next;
    GET "/patterns/count" Counting Short false patterns::count;
    GET "/pattern/{pattern_id}" Kato Short false nodes::pattern;
    GET "/percept-data" Kato Light false nodes::percept_data;
    GET "/cognition-data" Kato Light false nodes::cognition_data;
    GET "/symbols/affinity" Kato Long false nodes::affinities;
    GET "/symbols/stats" Kato Long false nodes::symbols;
    GET "/symbols/{symbol}/affinity" Kato Short false nodes::affinity;
    GET "/metrics" Kato Short false monitoring::metrics;
    GET "/metrics/prometheus" Extension Short false monitoring::prometheus;
    GET "/metrics/{metric_name}" Kato Light false monitoring::metric;
    GET "/stats" Kato Short false monitoring::stats;
    GET "/concurrency" Kato Light false monitoring::concurrency;
    GET "/cache/stats" Kato Light false pools::cache_stats;
    POST "/cache/invalidate" Kato Light false pools::cache_invalidate;
    GET "/distributed-stm/stats" Kato Light false pools::distributed_stm;
    GET "/connection-pools" Kato Short false pools::connection_pools;
    POST "/genes/update" Generation2025 Short true genes::update;
    GET "/gene/{gene_name}" Generation2025 Short false genes::gene;
    GET "/runs/{run}" Extension Short false extensions::run_record;
    PUT "/runs/{run}" Extension Short true extensions::replace_run_record;
    GET "/extensions" Extension Light false extensions::describe;
    GET "/admin/sessions" Extension Short false admin::list_sessions;
    POST "/admin/backups" Extension Long false admin::back_up;
}
