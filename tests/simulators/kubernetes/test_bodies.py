"""Bodies: what a Kubernetes API reads of what is sent, and what it refuses."""

import pytest

from hostler.simulators.kubernetes.call import decoded
from hostler.simulators.kubernetes.state.refusals import Refusal


@pytest.mark.parametrize("text", [b"a: [1]", b'{"a": [1]}'])
def test_yaml_is_read_where_it_is_said_to_be_yaml_and_json_anywhere(text: bytes) -> None:
    assert decoded(text, "application/apply-patch+yaml") == {"a": [1]}
    if text.startswith(b"{"):
        assert decoded(text, "application/json") == {"a": [1]}
    else:
        with pytest.raises(Refusal, match="error decoding the body: DecodeError"):
            decoded(text, "application/json")


@pytest.mark.parametrize("content_type", ["application/json", "application/yaml"])
@pytest.mark.parametrize("text", [b"[" * 100_000, b"{a: [}", b"\xff\xfe\xff"])
def test_what_cannot_be_read_is_refused_however_deep_it_is(text: bytes, content_type: str) -> None:
    with pytest.raises(Refusal, match="error decoding the body"):
        decoded(text, content_type)
