"""Machines of which more is asked than the fleet's template says: type, zone, image, template."""

import pytest
from msgspec.structs import replace

from hostler.domain.ids import MachineId, Zone
from hostler.domain.model.calls import Refusal
from hostler.domain.model.fleet import Setback
from hostler.domain.model.machine import BootstrapFormat, Machine, MachineSpec, Offer
from hostler.domain.model.phases import Phase
from hostler.domain.reporting.history import tell
from hostler.testing.scenes.builders import FLEET, MIN, ZONE
from hostler.testing.scenes.fleet import Scene

ANN, BEN, CYD = MachineId("m-ann"), MachineId("m-ben"), MachineId("m-cyd")
SMALL = Offer(type="small", zone=ZONE)
LARGE = Offer(type="large", zone=ZONE)
ARM = Offer(type="large", zone=ZONE, image="arm")


def group(*offers: Offer) -> Scene:
    scene = Scene(fleet=replace(FLEET, size=0, renews=False, maximum=9, offers=offers))
    own = replace(scene.capabilities, own_templates=True, bootstraps=frozenset(BootstrapFormat))
    scene.capabilities = own
    scene.observe()
    return scene


def begun(scene: Scene, *asked: tuple[MachineId, MachineSpec]) -> dict[MachineId, Machine]:
    """Ask for machines, and return those that there are once all could begin."""
    scene.ask_for(*(name for name, _ in asked), specs=tuple(spec for _, spec in asked))
    scene.reconcile()
    scene.reconcile()
    return {machine.id: machine for machine in scene.machines.values()}


def refusals(scene: Scene) -> dict[MachineId | None, str]:
    return {e.machine: e.detail for e in scene.events if e.kind == "request_refused"}


@pytest.mark.parametrize(
    ("spec", "offer"),
    [
        (MachineSpec(), SMALL),
        (MachineSpec(type="large"), LARGE),
        (MachineSpec(image="arm"), ARM),
        (MachineSpec(type="large", image="arm", zone=ZONE), ARM),
        (MachineSpec(failure_domain=str(ZONE)), SMALL),
    ],
)
def test_the_first_offer_that_fits_is_taken(spec: MachineSpec, offer: Offer) -> None:
    scene = group(SMALL, LARGE, ARM)
    machine = begun(scene, (ANN, spec))[ANN]
    assert (machine.offer, machine.spec, machine.phase) == (offer, spec, Phase.STARTING)


def test_what_was_asked_is_recorded_before_any_call() -> None:
    scene = group(SMALL, LARGE)
    spec = MachineSpec(type="large", template="gpu-1", bootstrap="secrets/ann")
    scene.ask_for(ANN, specs=(spec,))
    scene.reconcile()
    machine = scene.machines[ANN]
    assert (machine.phase, machine.spec, machine.offer) == (Phase.PENDING, spec, LARGE)
    assert machine.template == "gpu-1"


def test_each_machine_of_a_request_has_its_own_and_the_rest_the_fleets() -> None:
    scene = group(SMALL, LARGE)
    found = begun(scene, (ANN, MachineSpec(type="large")), (BEN, MachineSpec()))
    assert {name: str(m.offer.type) for name, m in found.items()} == {ANN: "large", BEN: "small"}
    scene.ask_for(CYD)
    scene.reconcile()
    assert scene.machines[CYD].spec == MachineSpec()


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        (MachineSpec(type="huge"), "no offer of this fleet is huge; it has small in z-1"),
        (MachineSpec(zone=Zone("z-9")), "no offer of this fleet is in z-9"),
        (MachineSpec(failure_domain="rack-2"), "no offer of this fleet is in rack-2"),
        (MachineSpec(type="small", image="arm"), "no offer of this fleet is small with image arm"),
    ],
)
def test_what_no_offer_can_be_is_refused_in_the_history_and_others_begin(
    spec: MachineSpec, why: str
) -> None:
    scene = group(SMALL)
    found = begun(scene, (ANN, spec), (BEN, MachineSpec()))
    assert set(found) == {BEN}
    assert refusals(scene)[ANN].startswith(why)
    messages = [tell(event).text for event in scene.events if event.machine == ANN]
    assert messages == [f"what was asked cannot be: {refusals(scene)[ANN]}"]
    scene.reconcile()
    assert set(scene.machines) == {BEN}, "it is refused once and for all"


@pytest.mark.parametrize("spec", [MachineSpec(template="t"), MachineSpec(bootstrap="secrets/a")])
def test_a_provider_that_cannot_honour_it_is_never_silently_asked(spec: MachineSpec) -> None:
    scene = group(SMALL)
    scene.capabilities = replace(scene.capabilities, own_templates=False, bootstraps=frozenset())
    assert begun(scene, (ANN, spec)) == {}
    assert "machines of this provider have no" in refusals(scene)[ANN]


def test_bootstrap_data_in_a_format_that_the_provider_does_not_take_is_refused() -> None:
    scene = group(SMALL)
    only_scripts = frozenset({BootstrapFormat.SCRIPT})
    scene.capabilities = replace(scene.capabilities, bootstraps=only_scripts)
    script = MachineSpec(bootstrap="secrets/b", bootstrap_format=BootstrapFormat.SCRIPT)
    found = begun(scene, (ANN, MachineSpec(bootstrap="secrets/a")), (BEN, script))
    assert set(found) == {BEN}
    assert refusals(scene)[ANN] == (
        "machines of this provider have bootstrap data that is a shell script, which begins with "
        "#!: this is user data for cloud-init"
    )


def test_one_sort_that_is_sold_out_holds_up_no_other() -> None:
    scene = group(SMALL, LARGE)
    until = scene.now + 30 * MIN
    scene.row = scene.row.with_setback(Setback(offer=LARGE, why="full", until=until, stock=True))
    found = begun(scene, (ANN, MachineSpec(type="large")), (BEN, MachineSpec(type="small")))
    assert (found[ANN].phase, found[BEN].phase) == (Phase.PENDING, Phase.STARTING)
    assert "waiting for stock" in scene.row.condition


def test_a_sold_out_start_goes_on_only_with_what_was_asked() -> None:
    scene = group(SMALL, LARGE, ARM)
    begun(scene, (ANN, MachineSpec(type="large")), (BEN, MachineSpec(type="small")))
    for name in (ANN, BEN):
        scene.keep(scene.machines[name].with_health(refused=Refusal.STOCK))
    scene.observe()
    scene.reconcile()
    assert scene.machines[ANN].offer == ARM
    assert BEN not in scene.machines or scene.machines[BEN].offer == SMALL


def test_a_machine_with_a_template_of_its_own_is_not_outdated_by_the_fleets() -> None:
    scene = group(SMALL)
    found = begun(scene, (ANN, MachineSpec(template="mine")), (BEN, MachineSpec()))
    assert found[ANN].template == "mine"
    assert not found[ANN].outdated("another")
    assert found[BEN].outdated("another")


def test_machines_that_wait_are_told_when_the_fleet_offers_nothing_for_them_any_more() -> None:
    scene = group(SMALL, LARGE)
    scene.ask_for(ANN, BEN, specs=(MachineSpec(type="large"), MachineSpec()))
    scene.reconcile()
    scene.fleet = replace(scene.fleet, offers=(SMALL,))
    verdicts = {verdict.machine: verdict.blocker for verdict in scene.decide().verdicts}
    assert verdicts[ANN] == "no offer of this fleet is large; it has small in z-1"
    assert verdicts[BEN] == ""
