"""What the check of the server's document knows of KATO.

docs/server.md ("Its document") lists the same deviations, with the reasons.
"""

import itertools
from urllib.parse import unquote

import jsonschema_rs
import schemathesis
from schemathesis.core.failures import AcceptedNegativeData
from schemathesis.openapi.checks import AllowHeaderMismatch, RejectedPositiveData, UnsupportedMethodResponse

SESSION = "/sessions/{session_id}"
KEYS = itertools.count()

# What Python reads beside a type of JSON.
NUMBER = {"type": "string", "pattern": r"^\s*[+-]?[0-9_]*\.?[0-9_]*([eE][+-]?[0-9_]+)?\s*$"}
WORDS = ["0", "1", "t", "f", "y", "n", "on", "off", "yes", "no", "true", "false"]
ALSO = {
    "integer": [{"type": "boolean"}, NUMBER],
    "number": [{"type": "boolean"}, NUMBER],
    "boolean": [{"enum": [0, 1, *WORDS, *(word.title() for word in WORDS), *(word.upper() for word in WORDS)]}],
}


def as_python_reads(schema):
    """Return a schema that also takes numbers as texts or booleans, and booleans as words or numbers."""
    if isinstance(schema, list):
        return [as_python_reads(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    types = schema.get("type", [])
    also = [more for name in ([types] if isinstance(types, str) else types) for more in ALSO.get(name, [])]
    if also:
        return {"anyOf": [schema, *also]}
    return {key: as_python_reads(part) for key, part in schema.items()}


def is_read_by_python(case):
    """Return whether the body has other types than the document's, and pydantic takes them."""
    body = case.operation.get_body_for_media_type(case.media_type) if case.media_type else None
    if body is None or jsonschema_rs.is_valid(body.optimized_schema, case.body):
        return False
    return jsonschema_rs.is_valid(as_python_reads(body.optimized_schema), case.body)


def has_whole_float(value):
    """Return whether a number without a fraction is written with one, as in `2.0`."""
    if isinstance(value, dict):
        return any(has_whole_float(part) for part in value.values())
    return isinstance(value, float) and value.is_integer()


def is_of_the_tool(failure, case, response):
    """Return whether a finding is none, whatever the server is."""
    # A client takes such a part out of a path, and asks for another.
    if any(unquote(str(part)) in (".", "..") for part in (case.path_parameters or {}).values()):
        return True
    match failure:
        case AcceptedNegativeData():
            # Refused before it was read.
            return response.status_code in (413, 431)
        case RejectedPositiveData():
            # Names are taken out of other answers, such as the labels of /stats, allowed or not.
            return "{" in unquote(str((case.path_parameters or {}).get("run", "")))
    return False


def is_of_kato(failure, case, response):
    """Return whether a finding is what KATO itself does."""
    path = case.operation.path
    match failure:
        case AcceptedNegativeData():
            return is_read_by_python(case)
        case RejectedPositiveData() if response.status_code == 400:
            return (
                (path == f"{SESSION}/learn" and "Cannot learn from empty STM" in response.text)
                or (path in ("/sessions", f"{SESSION}/config") and has_whole_float(case.body))
                or (path.startswith(f"{SESSION}/observe") and "VectorDimensionError" in response.text)
            )
        case RejectedPositiveData() if response.status_code == 409:
            # It depends on what was retired before.
            return "RETIRED_PATTERN" in response.text
        case AllowHeaderMismatch():
            return path in (SESSION, f"{SESSION}/config") and failure.allow_header == "GET"
        case UnsupportedMethodResponse():
            return path == "/sessions/count" and response.status_code == 404
    return False


@schemathesis.hook
def filter_failure(ctx, failure, case, response):
    return not (is_of_the_tool(failure, case, response) or is_of_kato(failure, case, response))


@schemathesis.hook
def before_call(ctx, case, kwargs):
    if not (case.meta and case.meta.generation.mode.is_positive):
        return
    # Valid are keys of one request each, levels above that there are, and patterns of ten symbols at most.
    if "Idempotency-Key" in (case.headers or {}):
        case.headers["Idempotency-Key"] = f"key-{next(KEYS)}"
    query = case.query or {}
    query.pop("above", None)
    if case.operation.path == f"{SESSION}/ask-batch" and isinstance(case.body, dict):
        case.body.pop("above", None)
    # A session that ends before its time looks lost, so each lives as long as the check.
    for part in (query, case.body):
        if isinstance(part, dict) and isinstance(part.get("ttl_seconds"), int):
            part["ttl_seconds"] = max(part["ttl_seconds"], 600)
    if "patterns" in query and "symbol" in query:
        query["symbol"] = query["symbol"][:10]
