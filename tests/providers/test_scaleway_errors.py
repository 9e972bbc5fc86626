"""What each error body of the API comes to: both generations, proxies, and hostile ones."""

import json
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scaleway_kit import ZONE

from hostler.domain.ids import ResourceId
from hostler.domain.model.calls import Call, Done, Effect, Outcome, Refusal, Refused, Unknown
from hostler.domain.model.resource import Slot
from hostler.ports.http import NoAnswer, NotSent, Response
from hostler.providers.scaleway.common.errors import Failed, Garbled, outcome_of, read_problem

MAKE = Call(kind="server.create", slot=Slot("server"), zone=ZONE, effect=Effect.MAKE)
CHANGE = Call(
    kind="server.poweron",
    slot=Slot("server"),
    zone=ZONE,
    effect=Effect.CHANGE,
    target=ResourceId("srv-1"),
)
DESTROY = Call(
    kind="server.delete",
    slot=Slot("server"),
    zone=ZONE,
    effect=Effect.DESTROY,
    target=ResourceId("srv-1"),
)
UNKNOWN = "unknown"


def outcome(
    status: int,
    body: object,
    call: Call = CHANGE,
    headers: tuple[tuple[str, str], ...] = (),
) -> Outcome:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    response = Response(status=status, headers=headers, body=raw)
    return outcome_of(Failed(read_problem(response)), call)


def word(found: Outcome) -> str:
    return found.why if isinstance(found, Refused) else type(found).__name__.lower()


def plain(type_: str, message: str = "m", **more: object) -> dict[str, object]:
    return {"type": type_, "message": message, **more}


TABLE: list[tuple[int, object, str]] = [
    (
        400,
        plain("invalid_arguments", details=[{"argument_name": "image", "reason": "required"}]),
        Refusal.INVALID,
    ),
    (
        400,
        plain(
            "invalid_arguments",
            details=[
                {
                    "argument_name": "perf_iops",
                    "reason": "constraint",
                    "help_message": "can't update perf_iops when volume is not available",
                }
            ],
        ),
        Refusal.BUSY,  # as recorded: it heals by itself, and must not end the machine
    ),
    (
        400,
        plain("invalid_request_error", "Validation Error", fields={"name": ["no"]}),
        Refusal.INVALID,
    ),
    (400, plain("invalid_request_error", "server should be running"), Refusal.WRONG_STATE),
    (
        403,
        plain("invalid_request_error", "Quota exceeded for this resource.", resource="x"),
        Refusal.QUOTA,
    ),
    (
        403,
        plain("quotas_exceeded", details=[{"resource": "cp_servers", "quota": 1, "current": 1}]),
        Refusal.QUOTA,
    ),
    (403, plain("quotas_exceeded", details=[{"resource": "cp_servers"}]), Refusal.QUOTA),
    (
        404,
        plain("not_found", resource="instance_server", resource_id="srv-1"),
        Refusal.WRONG_STATE,
    ),
    (404, plain("unknown_resource", 'Server "srv-1" not found'), Refusal.WRONG_STATE),
    (409, plain("transient_state", current_state="stopping"), Refusal.BUSY),
    (400, plain("transient_state", current_state="stopping"), Refusal.BUSY),
    (409, plain("conflict", "Group is in use."), Refusal.BUSY),
    (409, plain("already_exists", help_message="x"), Refusal.WRONG_STATE),
    (423, plain("locked", resource="instance_server"), Refusal.BUSY),
    (
        400,
        plain("precondition_failed", precondition="resource_still_in_use"),
        Refusal.WRONG_STATE,
    ),
    (
        412,
        plain("precondition_failed", precondition="resource_still_in_use"),
        Refusal.WRONG_STATE,
    ),
    (412, plain("precondition_failed", "server should be stopped"), Refusal.WRONG_STATE),
    (400, plain("precondition_failed", precondition="protected_resource"), Refusal.WRONG_STATE),
    (400, plain("precondition_failed", precondition="attribute_must_be_set"), Refusal.INVALID),
    (
        403,
        plain("permissions_denied", details=[{"action": "read", "resource": "server"}]),
        Refusal.DENIED,
    ),
    (401, plain("denied_authentication", method="api_key", reason="expired"), Refusal.DENIED),
    (401, plain("invalid_auth"), Refusal.DENIED),
    (401, b"<html>", Refusal.BUSY),
    (503, plain("out_of_stock", resource="DEV1-S"), Refusal.STOCK),
    (412, plain("out_of_stock", resource="DEV1-S"), Refusal.STOCK),
    (410, plain("expired"), Refusal.WRONG_STATE),
    (410, plain("resource_expired"), Refusal.WRONG_STATE),
    (429, plain("too_many_requests", reset_seconds=3), Refusal.RATE),
    (429, b"", Refusal.RATE),
    (429, b"<html>slow down</html>", Refusal.RATE),
    (403, b"", Refusal.BUSY),
    (403, b"<html>forbidden</html>", Refusal.BUSY),
    (403, {"message": "slow down"}, Refusal.BUSY),
    (423, b"", Refusal.BUSY),
    (409, b"", Refusal.BUSY),
    (412, b"", Refusal.WRONG_STATE),
    (404, b"<html>no route</html>", Refusal.WRONG_STATE),
    (400, plain("something_new"), Refusal.INVALID),
    (418, {"message": "teapot"}, Refusal.INVALID),
    (400, b"not json", UNKNOWN),
    (408, b"", UNKNOWN),
    (302, b"", UNKNOWN),
    (500, b"", UNKNOWN),
    (500, plain("internal_error"), UNKNOWN),
    (500, plain("invalid_request_error", "oops"), UNKNOWN),
    (502, b"<html><h1>502 Bad Gateway</h1></html>", UNKNOWN),
    (503, {"message": "unavailable"}, UNKNOWN),
    (504, b'{"message": "trunc', UNKNOWN),
]


@pytest.mark.parametrize(("status", "body", "expected"), TABLE)
def test_each_body_means_one_thing(status: int, body: object, expected: str):
    assert word(outcome(status, body)) == expected


@pytest.mark.parametrize(
    "body",
    [
        plain("not_found", resource="instance_server", resource_id="srv-1"),
        plain("unknown_resource", 'Server "srv-1" not found'),
    ],
)
def test_a_missing_target_of_a_destruction_is_gone(body: object):
    assert outcome(404, body, DESTROY) == Done(absent=(ResourceId("srv-1"),), missing=True)


@pytest.mark.parametrize(
    "body",
    [
        b"<html>404</html>",
        b"",
        plain("not_found", resource="volume", resource_id="vol-9"),
        plain("not_found"),
        plain("not_found", resource="volume"),
        plain("unknown_resource", 'Server "srv-9" not found'),
        {"message": "no"},
    ],
)
def test_a_404_that_does_not_speak_of_the_target_proves_nothing(body: object):
    assert word(outcome(404, body, DESTROY)) == Refusal.WRONG_STATE


def test_a_missing_image_is_invalid_and_a_missing_address_is_observed_again():
    image = plain("not_found", resource="instance_image", resource_id="i")
    address = plain("not_found", resource="instance_ip", resource_id="ip-1")
    assert word(outcome(404, image, MAKE)) == Refusal.INVALID
    assert word(outcome(404, address, MAKE)) == Refusal.WRONG_STATE


@pytest.mark.parametrize(
    ("headers", "body", "expected"),
    [
        ((), b"", None),
        ((("Retry-After", "7"),), b"", 7),
        ((("retry-after", "0"),), b"", 0),
        ((("Retry-After", "-1"),), b"", None),
        ((("Retry-After", "nan"),), b"", None),
        ((("Retry-After", "1e300"),), b"", 3600),
        ((("Retry-After", "soon"),), b"", None),
        (
            (
                ("Retry-After", "Sat, 01 Aug 2026 12:00:30 GMT"),
                ("Date", "Sat, 01 Aug 2026 12:00:00 GMT"),
            ),
            b"",
            30,
        ),
        ((("Retry-After", "Sat, 01 Aug 2026 12:00:30 GMT"),), b"", None),
        ((), plain("too_many_requests", reset_seconds=12), 12),
        ((), plain("too_many_requests", reset_seconds="soon"), None),
        ((("Retry-After", "5"),), plain("too_many_requests", reset_seconds=12), 5),
    ],
)
def test_a_rate_limit_says_when_to_come_back(
    headers: tuple[tuple[str, str], ...], body: object, expected: int | None
):
    found = outcome(429, body, CHANGE, headers)
    assert isinstance(found, Refused)
    assert found.why is Refusal.RATE
    assert found.after == (None if expected is None else timedelta(seconds=expected))


def test_what_was_not_sent_had_no_effect_and_what_got_no_answer_may_have():
    assert outcome_of(NotSent("refused"), MAKE) == Refused(why=Refusal.NOT_SENT, text="refused")
    assert outcome_of(NoAnswer("reset"), MAKE) == Unknown(text="reset")
    assert outcome_of(NoAnswer(), MAKE) == Unknown(text="no answer")
    assert outcome_of(Garbled("half"), MAKE) == Unknown(text="half")


def test_a_refusal_tells_what_a_person_needs():
    body = plain(
        "quotas_exceeded",
        "quota(s) exceeded for this resource",
        details=[{"resource": "cp_servers_type_DEV1_S", "quota": 10, "current": 10}],
    )
    found = outcome(403, body, MAKE, (("X-Request-Id", "req-1"),))
    assert isinstance(found, Refused)
    assert found.text == (
        "403 quotas_exceeded quota(s) exceeded for this resource; "
        "cp_servers_type_DEV1_S 10 of 10 [request req-1]"
    )


HOSTILE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)
KEYS = ("type", "message", "details", "fields", "reset_seconds", "resource", "current_state")


@given(st.integers(100, 599), st.dictionaries(st.sampled_from(KEYS), HOSTILE) | HOSTILE)
def test_no_body_makes_reading_fail(status: int, body: object):
    response = Response(status=status, body=json.dumps(body).encode())
    found = outcome_of(Failed(read_problem(response)), CHANGE)
    assert isinstance(found, Refused | Unknown)
    assert len(found.text) <= 400


@given(st.integers(400, 599), st.binary())
def test_no_bytes_make_reading_fail(status: int, body: bytes):
    found = outcome_of(Failed(read_problem(Response(status=status, body=body))), DESTROY)
    assert isinstance(found, Refused | Unknown | Done)


def test_deep_nesting_does_not_make_reading_fail():
    assert word(outcome(400, b"[" * 100_000)) == UNKNOWN
    assert word(outcome(502, b'{"a":' * 100_000)) == UNKNOWN


@pytest.mark.parametrize(
    ("details", "denied"),
    [
        ([{"action": "read", "resource": "server"}], "read server"),
        ([{"resource": "server"}, {"action": "write", "resource": "ip"}], "write ip"),
        ([{"resource": "server"}], ""),
        ([{"action": "read"}], ""),
        ([{"action": 5, "resource": "server"}], ""),
        ("read server", ""),
        (None, ""),
    ],
)
def test_what_a_denial_is_about_is_read_from_its_details(details: object, denied: str) -> None:
    body = {"type": "permissions_denied", "message": "insufficient permissions", "details": details}
    answer = Response(status=403, headers=(), body=json.dumps(body).encode())
    assert read_problem(answer).denied == denied
