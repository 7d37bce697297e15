"""What KATO itself does otherwise than a document can say: findings of .ci/check-openapi that are none.

docs/server.md ("Its document") lists the same, with the reasons.
"""

import jsonschema_rs
import schemathesis
from schemathesis.core.failures import AcceptedNegativeData
from schemathesis.openapi.checks import AllowHeaderMismatch, RejectedPositiveData

NUMBER = {"type": "string", "pattern": r"^\s*[+-]?[0-9_]*\.?[0-9_]*([eE][+-]?[0-9_]+)?\s*$"}
WORD = {"type": "string", "pattern": r"^([01]|[tTfFyYnN]|[oO][nN]|[oO][fF][fF]|[nN][oO]|[yY][eE][sS]|[tT][rR][uU][eE]|[fF][aA][lL][sS][eE])$"}
# What Python reads beside a type of JSON.
ALSO = {
    "integer": [{"type": "boolean"}, NUMBER],
    "number": [{"type": "boolean"}, NUMBER],
    "boolean": [{"enum": [0, 1]}, WORD],
}


def as_python_reads(schema):
    """Return a schema with numbers that are texts or booleans, and booleans that are words or numbers."""
    if isinstance(schema, list):
        return [as_python_reads(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    also = ALSO.get(schema.get("type")) if isinstance(schema.get("type"), str) else None
    if also:
        return {"anyOf": [schema, *also]}
    return {key: as_python_reads(part) for key, part in schema.items()}


def is_read_by_python(case):
    """Return whether the body is one that pydantic takes, by its rules for other types."""
    body = case.operation.get_body_for_media_type(case.media_type) if case.media_type else None
    return body is not None and jsonschema_rs.is_valid(as_python_reads(body.optimized_schema), case.body)


def is_of_kato(failure, case, response):
    """Return whether a finding is what KATO itself does."""
    method, path = case.operation.method.upper(), case.operation.path
    if isinstance(failure, AcceptedNegativeData):
        return is_read_by_python(case)
    if isinstance(failure, RejectedPositiveData):
        # Whether there is something to learn, only the session knows.
        return path == "/sessions/{session_id}/learn" and response.status_code == 400
    if isinstance(failure, AllowHeaderMismatch):
        # Starlette names the first route of a path.
        return path in ("/sessions/{session_id}", "/sessions/{session_id}/config") and failure.allow_header == "GET"
    return False


@schemathesis.hook
def filter_failure(ctx, failure, case, response):
    return not is_of_kato(failure, case, response)


@schemathesis.hook
def map_query(ctx, query):
    # It names nodes that there are, and a made-up one is none.
    return {name: value for name, value in query.items() if name != "above"} if query else query
