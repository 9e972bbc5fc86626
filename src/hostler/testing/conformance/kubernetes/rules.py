"""Rules: what a definition forbids in the words of CEL."""

from .kinds import definition
from .peer import MERGE, Peer, merged


async def a_rule_over_the_old_value_is_kept(peer: Peer) -> None:
    """What a definition's rule forbids to change is refused at the change."""
    await peer.made(peer.a_box("fixed"))
    answer = await peer.call("PATCH", peer.boxes("fixed"), merged(pool="west"), MERGE)
    assert (answer.status, answer.reason) == (422, "Invalid")
    assert answer.causes == [("spec.pool", "FieldValueInvalid")]
    assert "never moves" in answer.message


async def a_rule_joins_fields(peer: Peer) -> None:
    """Rules over several fields hold at creation, with the path and the text that they compute."""
    wrong: list[tuple[dict[str, object], str, str]] = [
        ({"mode": "on", "size": 51}, "spec.size", "too big for east"),
        ({"code": "xyz", "ports": [1, 0]}, "spec.ports", "failed rule: self.all(port"),
        ({"ports": [14]}, "spec.ports", "failed rule: self.all(port"),
        ({"code": "zzz"}, "spec", "failed rule: !has(self.code)"),
    ]
    for spec, field, text in wrong:
        answer = await peer.call("POST", peer.boxes(), peer.a_box("ruled", **spec))
        assert (answer.status, answer.reason) == (422, "Invalid"), (spec, answer)
        assert answer.causes == [(field, "FieldValueInvalid")], (spec, answer)
        assert text in answer.message, answer
    await peer.made(peer.a_box("ruled", mode="off", size=51, code="abc", ports=[1, 2, 3]))


async def a_rule_over_the_whole_knows_the_name(peer: Peer) -> None:
    """A rule at the root sees the object's name."""
    answer = await peer.call("POST", peer.boxes(), peer.a_box("n" * 31))
    assert (answer.status, answer.causes) == (422, [("<nil>", "FieldValueInvalid")]), answer
    assert "a long name" in answer.message
    await peer.made(peer.a_box("n" * 30))


async def a_rule_may_look_back(peer: Peer) -> None:
    """A rule with the old value holds at changes alone."""
    await peer.made(peer.a_box("back", share="1%"))
    patch = merged(share=None)
    answer = await peer.call("PATCH", peer.boxes("back"), patch, MERGE)
    assert (answer.status, answer.causes) == (422, [("spec", "FieldValueForbidden")]), answer
    assert "the share comes and goes with growth" in answer.message
    answer = await peer.call("PATCH", peer.boxes("back"), merged(share=None, size=2), MERGE)
    assert answer.status == 200


async def rules_wait_for_the_schema(peer: Peer) -> None:
    """Where the schema is broken, the rules are not checked, and the answer says so."""
    item = peer.a_box("both", mode="maybe", ports=[0])
    answer = await peer.call("POST", peer.boxes(), item)
    assert answer.causes == [
        ("spec.mode", "FieldValueNotSupported"),
        ("<nil>", "FieldValueInvalid"),
    ], answer
    assert "some validation rules were not checked" in answer.message


async def a_rule_must_be_an_expression(peer: Peer) -> None:
    """A definition whose rule cannot be read is refused."""
    item = definition("dishes", "Dish")
    root = item["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    item["spec"]["versions"][0]["schema"]["openAPIV3Schema"] = {
        **root,
        "x-kubernetes-validations": [{"rule": "self.metadata.name =="}],
    }
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    answer = await peer.call("POST", path, item)
    assert (answer.status, answer.reason) == (422, "Invalid"), answer
    field = "spec.validation.openAPIV3Schema.x-kubernetes-validations[0].rule"
    assert [cause[0] for cause in answer.causes] == [field]
