"""Names as they are typed: short ones are enough to read by, and an empty one names nothing."""

import pytest
from cli_kit import FILE, cli, run
from cli_macs_kit import FIRST, WithMacs, keep, pool

from hostler.domain.model.host import HostCondition

Out = pytest.CaptureFixture[str]


def test_the_beginning_of_a_hosts_id_is_enough_to_read_by_as_status_shows_it(capsys: Out) -> None:
    services = WithMacs()
    host, _ = services.stock(2)
    keep(services, host, condition=HostCondition.FREE, name="pool-1")
    output = cli(services, capsys, "explain", str(FILE), host[:8], "--json").json
    assert output["host"]["id"] == host
    assert cli(services, capsys, "history", str(FILE), host[:8]).code == 0
    assert cli(services, capsys, "explain", str(FILE), host[:3]).code == 2


def test_a_beginning_that_is_a_hosts_whole_name_names_that_one(capsys: Out) -> None:
    services = WithMacs()
    host, other = services.stock(2)
    services.world.console.rename(other, host[:8])
    output = cli(services, capsys, "explain", str(FILE), host[:8], "--json").json
    assert output["host"]["id"] == other


def test_nothing_is_done_to_a_host_that_is_not_named_whole(capsys: Out) -> None:
    services = WithMacs()
    free, mine = services.stock(2)
    keep(services, mine, FIRST, condition=HostCondition.ALLOCATED)
    output = pool(services, capsys, "retire", free[:8], "--why", "old")
    assert (output.code, f"there is no host {free[:8]}; there is {free}" in output.err) == (2, True)
    ended = cli(services, capsys, "delete", str(FILE), mine[:8])
    assert (ended.code, f"{mine[:8]} is a host: name its machine, {FIRST}" in ended.err) == (
        2,
        True,
    )
    assert run(services.store_.requests()) == ()


def test_what_is_asked_of_a_host_names_it_by_what_stays(capsys: Out) -> None:
    """Its name is another one as soon as that is done."""
    services = WithMacs()
    (desk,) = services.stock(1, "desk-")
    (free,) = services.stock(1)
    services.world.console.rename(desk, "")
    asked = {
        ("add", desk): f" {desk}: joins the pool of web, under another name",
        ("adopt", desk, "--keep-disk"): f" {desk}: becomes machine",
        ("retire", free, "--why", "old"): f" pool-1 ({free}): is retired",
    }
    for argv, message in asked.items():
        output = " ".join(pool(services, capsys, *argv, "--no-wait").out.split())
        assert message in output


@pytest.mark.parametrize("name", ["", " "])
def test_an_empty_name_names_no_host_and_no_machine(capsys: Out, name: str) -> None:
    """It is what an unset variable of a shell says, and a host without a name bears it."""
    services = WithMacs()
    (host,) = services.stock(1)
    services.world.console.rename(host, "")
    keep(services, host, condition=HostCondition.FREE)
    for command in ("add", "adopt", "retire"):
        output = pool(services, capsys, command, name, "--why", "old", "--no-wait")
        assert (output.code, "a name is empty: say which host" in output.err) == (2, True)
    for command in ("delete", "history"):
        output = cli(services, capsys, command, str(FILE), name)
        assert (output.code, "the name is empty: say which machine" in output.err) == (2, True)
    assert run(services.store_.requests()) == ()


def test_a_name_that_is_huge_or_has_many_lines_is_repeated_in_part(capsys: Out) -> None:
    services = WithMacs()
    for command in ("explain", "history", "delete"):
        output = cli(services, capsys, command, str(FILE), "x\ny" * 2000)
        assert output.code == 2
        assert (len(output.err) < 400, "x yx" in output.err) == (True, True)
