"""Which machines the objects of a cluster ask for, found without going through all of them."""

from collections.abc import Iterator

from hypothesis import example, given
from hypothesis import strategies as st
from msgspec.structs import replace
from view_kit import item, machine, with_spec

from hostler.domain.ids import MachineId
from hostler.domain.model.machine import Machine, MachineSpec
from hostler.domain.model.requester import Requester
from hostler.frontends.kubernetes.clusterapi.looking import Look
from hostler.frontends.kubernetes.clusterapi.objects import HostlerMachine

IDS = st.sampled_from(["m-aaaaaaaaaa", "m-bbbbbbbbbb", "m-cccccccccc"])
UIDS = st.sampled_from(["uid-1", "uid-2", "uid-3"])
CLUSTERS = st.sampled_from(["", "here", "elsewhere"])


def _item(machine_id: str, uid: str, *, with_wants: bool) -> HostlerMachine:
    made = with_spec(item(uid=uid), machine_id=machine_id)
    return made if with_wants else HostlerMachine(metadata=made.metadata)


def _machine(machine_id: str, uid: str | None, cluster: str) -> Machine:
    asker = Requester(frontend="f", uid=uid, cluster=cluster) if uid is not None else None
    return replace(machine(), id=MachineId(machine_id), spec=MachineSpec(requester=asker))


def _owner(items: tuple[HostlerMachine, ...], machine: Machine) -> HostlerMachine | None:
    """Return the object that asked for it, or else the first one that names it."""
    first = None
    for one in items:
        asked = one.spec.machine_id if one.spec is not None else ""
        asker = machine.spec.requester
        same = asker is not None and one.metadata.uid == asker.uid
        if same and asked in {"", machine.id}:
            return one
        if asked == machine.id:
            first = first or one
    return first


def anybody(machine: Machine, namespace: str) -> bool:
    """Let every machine be any matter of every namespace."""
    del machine, namespace
    return True


ITEMS = st.lists(st.builds(_item, IDS | st.just(""), UIDS, with_wants=st.booleans()), max_size=5)
MACHINES = st.lists(st.builds(_machine, IDS, UIDS | st.none(), CLUSTERS), max_size=4)


@example(
    [_item("m-aaaaaaaaaa", f"uid-{number}", with_wants=True) for number in (1, 2)],
    [_machine("m-aaaaaaaaaa", "uid-2", "here")],
)
@given(ITEMS, MACHINES)
def test_the_object_that_asked_for_a_machine_is_its_owner_or_else_the_first_that_names_it(
    items: list[HostlerMachine], machines: list[Machine]
) -> None:
    look = Look(cluster="here", items=tuple(items))
    for one in machines:
        assert look.owner(one, anybody) is _owner(look.items, one)
    ids = {one.id for one in machines}
    ours = any(each.spec is not None and each.spec.machine_id in ids for each in items)
    assert look.has_ours(machines) == ours


class Counted(tuple[HostlerMachine, ...]):
    """Objects that count how often somebody goes through them."""

    __slots__ = ()
    times: list[int] = []  # noqa: RUF012 - one list for the test that reads it

    def __iter__(self) -> Iterator[HostlerMachine]:
        self.times.append(1)
        return super().__iter__()


def test_the_objects_are_gone_through_once_however_many_machines_there_are() -> None:
    items = Counted(_item(f"m-{n:010}", f"uid-{n}", with_wants=True) for n in range(100))
    look = Look(cluster="", items=items)
    machines = [_machine(f"m-{n:010}", None, "") for n in range(200)]

    found = [look.owner(one, anybody) for one in machines]

    assert [one is not None for one in found] == [True] * 100 + [False] * 100
    assert look.has_ours(machines)
    assert len(Counted.times) == 1
