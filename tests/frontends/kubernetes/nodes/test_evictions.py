"""What the answers to an eviction mean; each text is what Kubernetes 1.36 says."""

from datetime import timedelta

import msgspec
import pytest

from hostler.frontends.kubernetes.nodes.evictions import AGAIN, Answered, outcome_of
from hostler.frontends.kubernetes.nodes.objects import PODS
from hostler.kubernetes.errors import ApiError, Unreadable
from hostler.kubernetes.objects import Key
from hostler.kubernetes.refusals import Action, error_of

EVICT = Action(verb="create", resource=PODS, key=Key("ns", "p"), subresource="eviction")


def error(code: int, reason: str, message: str, after: str = "", cause: str = "") -> ApiError:
    causes = [{"reason": "DisruptionBudget", "message": cause}] if cause else None
    details = {"name": "p", "causes": causes}
    body = {
        "kind": "Status",
        "code": code,
        "reason": reason,
        "message": message,
        "details": details,
    }
    return error_of(EVICT, code, msgspec.json.encode(body), after)


@pytest.mark.parametrize(
    ("found", "answered", "after"),
    [
        (error(404, "NotFound", 'pods "p" not found'), Answered.GONE, AGAIN),
        (error(409, "Conflict", "the UID in the precondition"), Answered.GONE, AGAIN),
        (
            error(
                429,
                "TooManyRequests",
                "Cannot evict pod as it would violate the pod's disruption budget.",
                "10",
            ),
            Answered.BUDGET,
            timedelta(seconds=10),
        ),
        (
            error(429, "TooManyRequests", "too many requests, please try again later", "1"),
            Answered.LATER,
            timedelta(seconds=1),
        ),
        (
            error(403, "Forbidden", "namespace ns is being terminated"),
            Answered.ENDING,
            AGAIN,
        ),
        (error(403, "Forbidden", 'pods "p" is forbidden: User "u"'), Answered.WRONG, AGAIN),
        (
            error(500, "InternalError", "This pod has more than one PodDisruptionBudget, which"),
            Answered.WRONG,
            AGAIN,
        ),
        (error(500, "InternalError", "etcdserver: request timed out"), Answered.LATER, AGAIN),
        (
            error(504, "Timeout", 'couldn\'t update PodDisruptionBudget "web" due to conflicts'),
            Answered.LATER,
            AGAIN,
        ),
        (error(400, "BadRequest", "name in URL does not match"), Answered.WRONG, AGAIN),
        (Unreadable("a proxy answered"), Answered.LATER, AGAIN),
    ],
)
def test_an_answer_says_what_to_do_next(
    found: ApiError, answered: Answered, after: timedelta
) -> None:
    outcome = outcome_of(found)
    assert (outcome.answered, outcome.after) == (answered, after)


def test_the_budget_that_is_in_the_way_is_named_with_its_counts() -> None:
    cause = "The disruption budget web needs 2 healthy pods and has 2 currently"
    found = error(429, "TooManyRequests", "Cannot evict pod: disruption budget.", cause=cause)
    assert outcome_of(found).text.endswith(cause)


def test_a_missing_permission_comes_with_the_rule_that_grants_it() -> None:
    found = error(403, "Forbidden", "User cannot create resource")
    assert 'resources: ["pods/eviction"] verbs: ["create"]' in outcome_of(found).text
