"""Rules: what a definition forbids in the words of CEL."""

from .peer import MERGE, Peer, merged


async def a_rule_over_the_old_value_is_kept(peer: Peer) -> None:
    """What a definition's rule forbids to change is refused at the change."""
    await peer.made(peer.a_box("fixed"))
    answer = await peer.call("PATCH", peer.boxes("fixed"), merged(pool="west"), MERGE)
    assert (answer.status, answer.reason) == (422, "Invalid")
    assert answer.causes == [("spec.pool", "FieldValueInvalid")]
    assert "never moves" in answer.message
