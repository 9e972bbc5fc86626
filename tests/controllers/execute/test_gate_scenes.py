"""The gate on the real path: each check × act stands alone between a call and harm."""

import pytest
from gate_kit import STAGES, Bench, Cell, Scene, without
from gate_scenes import SCENES

from hostler.domain.policy.gate import Act

pytestmark = pytest.mark.looptime


@pytest.mark.parametrize("act", STAGES)
async def test_every_act_is_sent_where_nothing_is_wrong(
    act: Act, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = Bench(act, monkeypatch)
    await bench.run(Scene(words="all is well"))
    assert bench.checks == ()
    assert bench.sent() == 1


@pytest.mark.parametrize("cell", SCENES, ids="-".join)
async def test_check_alone_refuses_the_call(cell: Cell, monkeypatch: pytest.MonkeyPatch) -> None:
    check, act = cell
    bench = Bench(act, monkeypatch)
    await bench.run(SCENES[cell])
    assert bench.checks == (check,)
    assert bench.sent() == 0
    assert set(bench.scene.metrics.refusals) == {check}
    if act is not Act.RECLAIM:
        barred = await bench.scene.events("barred")
        assert {(e.event.machine, e.event.reason) for e in barred} == {(bench.machine, check)}


@pytest.mark.parametrize("cell", SCENES, ids="-".join)
async def test_call_is_sent_where_that_one_check_is_missing(
    cell: Cell, monkeypatch: pytest.MonkeyPatch
) -> None:
    check, act = cell
    without(cell, monkeypatch)
    bench = Bench(act, monkeypatch)
    await bench.run(SCENES[cell])
    assert bench.checks == ()
    assert bench.sent() == 1, f"{check} is all that stands between {act} and harm"
