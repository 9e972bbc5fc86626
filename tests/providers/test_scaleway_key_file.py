"""The file of the secret key, where it is not to be had: what is said of it, and what never is."""

from pathlib import Path

import pytest

from hostler.access.http import AiohttpTransport
from hostler.access.shell import SshShell
from hostler.app.clock import SystemClock
from hostler.domain.errors import ConfigError
from hostler.domain.ids import AccountName, InstallationId
from hostler.ports.kind import Opening
from hostler.providers.scaleway.common.config_tables import AccountTable
from hostler.providers.scaleway.common.opening import account_of

KEY = "11111111-2222-4333-8444-555555555555"


def message(folder: Path, name: str) -> str:
    opening = Opening(
        name=AccountName("macs"),
        settings=AccountTable(project=KEY, secret_key_file=name),
        templates={},
        installation=InstallationId("home"),
        folder=folder,
        environment={},
        clock=SystemClock(),
        shell=SshShell(),
        connect=AiohttpTransport,
    )
    with pytest.raises(ConfigError) as caught:
        account_of(opening)
    return str(caught.value)


def test_a_key_file_that_is_not_there_is_told_with_the_folder_that_was_searched(
    tmp_path: Path,
) -> None:
    output = message(tmp_path, "keys/scaleway.key")
    assert f"provider.macs.secret_key_file cannot be read in {tmp_path / 'keys'} (" in output
    assert "No such file" in output


def test_a_key_that_stands_where_a_files_name_should_is_not_repeated(tmp_path: Path) -> None:
    assert KEY not in message(tmp_path, KEY)
