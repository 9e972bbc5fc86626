"""Lists: versions, pages, selectors."""

from .peer import Answer, Peer


def _names(answer: Answer) -> list[str]:
    return [one["metadata"]["name"] for one in answer.body["items"]]


async def a_list_has_a_version_of_its_own(peer: Peer) -> None:
    """A list is of one version, which is not older than that of any of its objects."""
    made = await peer.made(peer.a_map("l1", set="list"))
    listed = await peer.call("GET", peer.maps(), labelSelector="set=list")
    assert (listed.body["kind"], listed.body["apiVersion"]) == ("ConfigMapList", "v1")
    assert int(listed.version) >= int(made.version)
    assert _names(listed) == ["l1"]
    everywhere = await peer.call("GET", "/api/v1/configmaps", labelSelector="set=list")
    assert _names(everywhere) == ["l1"]
    boxes = await peer.call("GET", peer.boxes())
    assert (boxes.body["kind"], boxes.body["items"]) == ("BoxList", [])


async def pages_are_one_list(peer: Peer) -> None:
    """All pages have the version of the first, in the order of names, without what came later."""
    for number in range(5):
        await peer.made(peer.a_box(f"p{number}"))
    first = await peer.call("GET", peer.boxes(), limit="2")
    assert _names(first) == ["p0", "p1"]
    assert first.metadata["remainingItemCount"] == 3
    await peer.made(peer.a_box("p9"))
    await peer.call("DELETE", peer.boxes("p4"))
    names, further = list[str](), first.metadata["continue"]
    while further:
        page = await peer.call("GET", peer.boxes(), **{"limit": "2", "continue": further})
        assert (page.status, page.version) == (200, first.version)
        names += _names(page)
        further = page.metadata.get("continue", "")
    assert names == ["p2", "p3", "p4"]


async def a_broken_token_is_refused(peer: Peer) -> None:
    """A continuation that the server never gave is a bad request."""
    answer = await peer.call("GET", peer.boxes(), **{"limit": "2", "continue": "nonsense"})
    assert (answer.status, answer.reason) == (400, "BadRequest")


async def labels_select(peer: Peer) -> None:
    """All forms of a label selector are understood, and a broken one is refused."""
    labels: dict[str, dict[str, str]] = {
        "s1": {"a": "1"},
        "s2": {"a": "2", "b": "x"},
        "s3": {"b": "y"},
    }
    for name, each in labels.items():
        await peer.made(peer.a_map(name, set="select", **each))
    cases = {
        "a=1": ["s1"],
        "a==2": ["s2"],
        "a!=1": ["s2", "s3"],
        "a in (1,2)": ["s1", "s2"],
        "a notin (1)": ["s2", "s3"],
        "b": ["s2", "s3"],
        "!b": ["s1"],
        "a=2,b=x": ["s2"],
        "a,b": ["s2"],
    }
    for selector, names in cases.items():
        answer = await peer.call("GET", peer.maps(), labelSelector=f"set=select,{selector}")
        assert _names(answer) == names, selector
    answer = await peer.call("GET", peer.maps(), labelSelector="a in 1")
    assert (answer.status, answer.reason) == (400, "BadRequest")


async def fields_select(peer: Peer) -> None:
    """Names select in every kind, and what a definition names in its own; others are refused."""
    await peer.made(peer.a_box("f1"))
    west = peer.a_box("f2")
    west["spec"]["pool"] = "west"
    await peer.made(west)
    answer = await peer.call("GET", peer.boxes(), fieldSelector="metadata.name=f1")
    assert _names(answer) == ["f1"]
    answer = await peer.call("GET", peer.boxes(), fieldSelector="spec.pool=west")
    assert _names(answer) == ["f2"]
    answer = await peer.call("GET", peer.boxes(), fieldSelector="spec.pool!=west")
    assert _names(answer) == ["f1"]
    answer = await peer.call("GET", peer.boxes(), fieldSelector="spec.size=1")
    assert (answer.status, answer.reason) == (400, "BadRequest")


async def a_version_of_the_future_is_refused(peer: Peer) -> None:
    """A list of a version that is not there yet is refused for now."""
    version = str(int((await peer.call("GET", peer.maps())).version) + 1_000_000)
    answer = await peer.call("GET", peer.maps(), resourceVersion=version)
    assert (answer.status, answer.reason) == (504, "Timeout")
    assert "Too large resource version" in answer.message
