//! Handlers of genes, the settings of a node in the 2025-10 generation.

use axum::http::StatusCode;
use serde_json::json;

use super::acknowledged;
use crate::app::App;
use crate::bodies;
use crate::call::Call;
use crate::refusal::Refusal;
use crate::reply::{Outcome, Reply};

/// Handles `POST /genes/update`.
pub(crate) fn update(app: &App, call: &Call) -> Outcome {
    let most = app.service.options().max_kept_bytes;
    let (genes, whole) = bodies::genes(&call.headers, &call.body, most)?;
    let node_id = call.node_id();
    let receipt = app.service.set_genes(&node_id, &genes)?;
    let processor_id = app.service.processor_id(&node_id);
    Ok(acknowledged(receipt, move |()| {
        // KATO answers with the body as it came, whether or not the genes were wrapped in it.
        Reply::ok(&json!({"status": "okay", "node_id": processor_id, "genes": whole}))
    }))
}

/// Handles `GET /gene/{gene_name}`.
pub(crate) fn gene(app: &App, call: &Call) -> Outcome {
    let node_id = call.node_id();
    let asked = call.param();
    let genes = app.service.genes(&node_id);
    // KATO looks genes up whatever the case of their names, and answers with the name as it was
    // asked for.
    let found = genes
        .iter()
        .find(|(name, _)| name.eq_ignore_ascii_case(asked));
    match found {
        // KATO does not tell a gene that is null from one that does not exist.
        Some((_, value)) if !value.is_null() => Ok(Reply::ok(&json!({
            "gene": asked,
            "value": value,
            "node_id": app.service.processor_id(&node_id),
        }))
        .into()),
        _ => Err(Refusal::new(
            StatusCode::NOT_FOUND,
            format!("Gene {asked} not found"),
        )),
    }
}
