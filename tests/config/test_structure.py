"""Structure: what the type of a key says is found in every type that Python allows."""

from typing import Annotated

import msgspec
import pytest

from hostler.config.structure import described, extra, is_size, metas

SIZE = msgspec.Meta(description="how much", extra={"unit": "size"})


@pytest.mark.parametrize("beside", [["a", "list"], {"a": "table"}, "a word"])
def test_what_a_type_says_is_found_beside_what_has_no_hash(beside: object) -> None:
    kind = Annotated[int, SIZE, beside]
    assert metas(kind) == metas(Annotated[kind, "more"]) == (SIZE,)
    assert (described(kind), is_size(kind), extra(kind, "other")) == ("how much", True, "")
