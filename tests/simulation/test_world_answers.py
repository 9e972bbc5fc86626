"""What a call was refused is judged by what the world answered, not by what the program says."""

import pytest

from hostler.lab.scaleway.checker import is_refusal


@pytest.mark.parametrize("status", [400, 403, 404, 409, 412, 423, 429])
def test_what_the_world_refuses_has_no_effect(status: int) -> None:
    assert is_refusal("POST", status)


@pytest.mark.parametrize("status", [0, 200, 201, 202, 500, 502, 503])
def test_what_the_world_did_or_left_open_is_no_refusal_whoever_says_so(status: int) -> None:
    assert not is_refusal("POST", status)


def test_a_change_that_prepares_another_one_leaves_nothing_unsure_once_it_is_answered() -> None:
    assert is_refusal("PATCH", 200)
    assert not is_refusal("PATCH", 0)
    assert not is_refusal("PATCH", 502)
