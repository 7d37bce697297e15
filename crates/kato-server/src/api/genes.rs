//! Genes: settings of a node, as the 2025-10 generation has them.

use axum::http::StatusCode;
use serde_json::json;

use super::acknowledged;
use crate::app::App;
use crate::bodies;
use crate::call::Call;
use crate::refusal::Refusal;
use crate::reply::{Outcome, Reply};

pub(crate) fn update(app: &App, call: &Call) -> Outcome {
    let most = app.service.options().max_kept_bytes;
    let (genes, whole) = bodies::genes(&call.headers, &call.body, most)?;
    let node_id = call.node_id();
    let receipt = app.service.set_genes(&node_id, &genes)?;
    let processor_id = app.service.processor_id(&node_id);
    Ok(acknowledged(receipt, move |()| {
        Reply::ok(&json!({"status": "okay", "node_id": processor_id, "genes": whole}))
    }))
}

pub(crate) fn gene(app: &App, call: &Call) -> Outcome {
    let node_id = call.node_id();
    let asked = call.param();
    let genes = app.service.genes(&node_id);
    let found = genes
        .iter()
        .find(|(name, _)| name.eq_ignore_ascii_case(asked));
    match found {
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
