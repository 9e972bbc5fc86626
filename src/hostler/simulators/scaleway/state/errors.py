"""How the API refuses: status and body of every error, in both generations of bodies."""

from dataclasses import dataclass, field

Body = dict[str, object]


@dataclass(slots=True, eq=False)
class Refused(Exception):
    """A handler's refusal: what the client is told. Nothing has been changed."""

    status: int
    body: Body | None
    text: bool = False  # an empty text/plain body in place of JSON
    headers: tuple[tuple[str, str], ...] = field(default=())


def not_found(resource: str, resource_id: str) -> Refused:
    """Say that there is no such thing."""
    return Refused(
        404,
        {
            "type": "not_found",
            "message": "resource is not found",
            "resource": resource,
            "resource_id": resource_id,
        },
    )


def not_served(method: str, path: str) -> Refused:
    """Say that the simulator lacks a route; a 404 would be taken for a resource that is gone."""
    words = f"the simulator does not serve {method} {path}: add a route, or leave this call out"
    return Refused(501, {"type": "not_implemented", "message": words})


def invalid(*details: tuple[str, str, str]) -> Refused:
    """Say which arguments are wrong: (name, reason, help), reason as in the API's enumeration."""
    return Refused(
        400,
        {
            "type": "invalid_arguments",
            "message": "invalid argument(s)",
            "details": [
                {"argument_name": name, "reason": reason, "help_message": words}
                for name, reason, words in details
            ],
        },
    )


def precondition(generation: str, name: str, words: str) -> Refused:
    """Say what stands in the way: status 400 with a name in 2026, 412 with prose alone before."""
    if generation == "2025":
        return Refused(412, {"type": "precondition_failed", "message": words})
    return Refused(
        400,
        {
            "type": "precondition_failed",
            "message": "precondition is not respected",
            "precondition": name,
            "help_message": words,
        },
    )


def still_in_use(words: str) -> Refused:
    """Refuse to delete what others use, as the newer APIs do: 412 with a name."""
    return Refused(412, precondition("2026", "resource_still_in_use", words).body)


def unfit(words: str) -> Refused:
    """Refuse what cannot be done with a resource, as the newer APIs do: 412 with a name."""
    return Refused(412, precondition("2026", "resource_not_usable", words).body)


def should_be_running(generation: str) -> Refused:
    """Refuse to stop what is stopped."""
    if generation == "2025":
        return Refused(
            400, {"type": "invalid_request_error", "message": "server should be running"}
        )
    return precondition(generation, "resource_not_usable", "server should be running")


def transient(resource: str, resource_id: str, state: str) -> Refused:
    """Say that something is on its way and cannot be asked this now."""
    return Refused(
        409,
        {
            "type": "transient_state",
            "message": "resource is in a transient state",
            "resource": resource,
            "resource_id": resource_id,
            "current_state": state,
        },
    )


def locked(resource: str, resource_id: str) -> Refused:
    """Say that the resource is locked."""
    return Refused(
        423,
        {
            "type": "locked",
            "message": "resource is locked",
            "resource": resource,
            "resource_id": resource_id,
        },
    )


def quota(generation: str, resource: str, limit: int, current: int, organization: str) -> Refused:
    """Say that there may be no more of this."""
    if generation == "2025":
        return Refused(
            403,
            {
                "type": "invalid_request_error",
                "message": "Quota exceeded for this resource.",
                "resource": resource,
            },
        )
    detail = {
        "resource": resource,
        "quota": limit,
        "current": current,
        "organization_id": organization,
    }
    return Refused(
        403,
        {
            "type": "quotas_exceeded",
            "message": "quota(s) exceeded for this resource",
            "details": [detail],
        },
    )


def out_of_stock(generation: str, commercial_type: str) -> Refused:
    """Say that there is no machine of this type left: 503 now, 412 before; clients go by type."""
    return Refused(
        412 if generation == "2025" else 503,
        {
            "type": "out_of_stock",
            "message": "resource is out of stock",
            "resource": commercial_type,
        },
    )


def conflict(words: str) -> Refused:
    """Refuse with a bare sentence, as the old backend does for groups in use."""
    return Refused(409, {"type": "conflict", "message": words})


def denied(reason: str) -> Refused:
    """Say that the secret key is no key (invalid_argument) or not known (not_found)."""
    return Refused(
        401,
        {
            "type": "denied_authentication",
            "message": "authentication is denied",
            "method": "api_key",
            "reason": reason,
        },
    )


def forbidden(action: str, resource: str) -> Refused:
    """Say that the key may not do this."""
    return Refused(
        403,
        {
            "type": "permissions_denied",
            "message": "insufficient permissions",
            "details": [{"action": action, "resource": resource}],
        },
    )


def rate_limited() -> Refused:
    """Refuse as the gateway does: an empty body without a type, and nothing about when."""
    return Refused(429, None, headers=(("X-Envoy-Ratelimited", "true"),))


def failed() -> Refused:
    """Say that the API itself has failed."""
    return Refused(500, {"type": "internal_error", "message": "internal error"})


def key_missing() -> Refused:
    """Say that a server has no such user data: an empty text."""
    return Refused(404, None, text=True)
