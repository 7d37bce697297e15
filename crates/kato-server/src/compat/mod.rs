//! What is so only because FastAPI, pydantic, Starlette and Python make it so in KATO: JSON as
//! Python reads it, checks in pydantic's words and order, query strings and routes as Starlette
//! takes them, times as Python writes them, the OpenAPI document as FastAPI lays it out.
//!
//! Existing clients can see all of it. Nothing in here bounds, measures or carries out anything; a
//! server that had no predecessor would do without this folder.

pub(crate) mod failure;
pub(crate) mod json;
pub(crate) mod openapi;
pub(crate) mod query;
pub(crate) mod routing;
pub(crate) mod timestamp;
pub(crate) mod validate;
