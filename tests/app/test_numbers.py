"""Numbers of the command line: none that must be whole is rounded, whichever command takes it."""

from collections.abc import Iterator

import pytest
from cyclopts import App
from cyclopts.argument import Argument

from hostler.app.command_line import groups
from hostler.frontends.cli.console.options import whole_number
from hostler.frontends.cli.main import application
from hostler.frontends.cli.main import main as run


def arguments(app: App) -> Iterator[Argument]:
    """Yield what each command takes, and each below it."""
    for name in (name for name in app if not name.startswith("-")):
        yield from arguments(app[name])
        if app[name].default_command is not None:
            yield from app[name].assemble_argument_collection()


def test_every_whole_number_is_read_by_what_rounds_none() -> None:
    whole = [one for one in arguments(application(groups())) if one.hint in {int, int | None}]
    assert len(whole) > 20
    assert [one.name for one in whole if one.parameter.converter is not whole_number] == []


@pytest.mark.parametrize("number", ["1.5", "2.0", "1e3", ".", "1,000", "²"])
def test_what_is_no_whole_number_is_refused(
    capsys: pytest.CaptureFixture[str], number: str
) -> None:
    assert run(application(groups("simulate")), ["simulate", "--seeds", number]) == 2
    error = f"hostler: Invalid value for --seeds: {number!r} is not a whole number"
    assert capsys.readouterr().err == f"{error}; `hostler simulate --help` says what it takes\n"
