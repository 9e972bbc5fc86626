"""`check` says in order only of what an engine could run, here and as it is."""

import asyncio
import os
import sqlite3
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from cli_kit import Result

from hostler.app.compose import Composed
from hostler.frontends.cli.console.exits import Exit
from hostler.frontends.cli.main import application, commands, main
from hostler.stores.sqlite.opening import open_engine
from hostler.stores.sqlite.worker import Inline

KEY = {"SCW_SECRET_KEY": "5ec5ec5e-0000-4000-8000-5ec5ec5ec5ec"}
HERE = {**KEY, "SCW_DEFAULT_PROJECT_ID": "0b5e6f1a-5d3c-4f0e-9a51-3c1f7d2e8a10"}
CLOUD = '{top}\n[provider.scaleway]\n{account}\n[fleet.web]\nsize = 2\ntypes = ["DEV1-S"]\n'
STATIC = """
[provider.static]
key = "keys/all"
hosts = [{ address = "a" }, { address = "b", key = "keys/b" }]
[fleet.boxes]
size = 1
"""
ALONE = """
[provider.static]
hosts = [{ address = "127.0.0.1", port = 1 }]
[fleet.boxes]
size = 1
"""


def check(
    folder: Path,
    text: str,
    capsys: pytest.CaptureFixture[str],
    environment: Mapping[str, str] = HERE,
    *options: str,
) -> Result:
    file = folder / "web.toml"
    file.write_text(text)
    services = Composed(environment=environment)
    code = main(application(commands(services, "check")), ["check", str(file), "--json", *options])
    printed = capsys.readouterr()
    return Result(code, printed.out, printed.err)


def cloud(top: str = "", account: str = "", more: str = "") -> str:
    return CLOUD.format(top=top, account=account) + more


def findings(result: Result, *, ok: bool, warning: bool = False) -> dict[str, str]:
    checks: list[dict[str, Any]] = result.json["checks"]
    return {c["about"]: c["text"] for c in checks if c["ok"] == ok and c["warning"] == warning}


def test_what_an_engine_can_run_is_in_order(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    result = check(tmp_path, cloud(), capsys)
    assert (result.code, result.json["ok"]) == (0, True)
    assert findings(result, ok=True, warning=True) == {}
    assert [file.name for file in tmp_path.iterdir()] == ["web.toml"], "it makes nothing"


def test_a_file_for_a_trial_that_keeps_nothing_is_checked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    result = check(tmp_path, cloud('store = "memory:"'), capsys)
    assert (result.code, result.json["ok"], result.json["store"]) == (0, True, "memory:")
    assert findings(result, ok=True, warning=True) == {}


def test_an_online_check_of_such_a_file_asks_the_hosts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = 'store = "memory:"\n' + ALONE
    result = check(tmp_path, text, capsys, HERE, "--online")
    assert result.code == Exit.PROVIDER
    assert "the provider could not be observed: static: 127.0.0.1" in result.out


@pytest.mark.parametrize(
    ("text", "about", "why"),
    [
        (cloud(account="secret_key_file = 'key'"), "provider.scaleway.secret_key_file", "no such"),
        (cloud(account="ca_file = '.'"), "provider.scaleway.ca_file", "it is a folder"),
        (cloud("store = 'sqlite:.'"), "store", "is a folder"),
        (cloud("store = 'sqlite:made/web.db'"), "store", "is no folder; make it"),
        (cloud("store = 'sqlite:web.toml'"), "store", "is not a readable hostler store"),
        (STATIC, "provider.static.key", "keys/all cannot be read: there is no such file"),
    ],
)
def test_what_is_not_there_is_not_in_order(
    text: str, about: str, why: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    result = check(tmp_path, text, capsys)
    assert (result.code, result.json["ok"]) == (1, False)
    found = findings(result, ok=False)
    assert list(found)[-1:] == [about]
    assert why in found[about] or why in str(result.json)


def test_each_key_that_is_there_is_in_order(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "keys").mkdir()
    for name in ("all", "b"):
        (tmp_path / "keys" / name).write_text("a key")
    assert check(tmp_path, STATIC, capsys).code == 0
    (tmp_path / "keys" / "b").unlink()
    assert "keys/b cannot be read" in str(check(tmp_path, STATIC, capsys).json["checks"])


def test_a_store_that_cannot_be_written_is_not_in_order(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def denied(*_: object) -> bool:
        return False

    monkeypatch.setattr(os, "access", denied)
    found = findings(check(tmp_path, cloud(), capsys), ok=False)
    assert "must be writable by the user that hostler runs as" in found["store"]


async def test_a_store_that_the_engine_brings_forward_is_a_warning(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    await open_engine(tmp_path / "web.db", "i-1", runner=Inline).close()
    older = sqlite3.connect(tmp_path / "web.db")
    older.execute("PRAGMA user_version = 2")
    older.close()
    result = await asyncio.to_thread(check, tmp_path, cloud("store = 'sqlite:web.db'"), capsys)
    assert (result.code, result.json["ok"]) == (0, True)
    assert "written by an older hostler" in findings(result, ok=True, warning=True)["store"]


@pytest.mark.parametrize(
    ("text", "about"),
    [
        (cloud(more='[metrics]\nlisten = "0.0.0.0:9100"'), "metrics.listen"),
        (cloud(more='[metrics]\nlisten = "[::]:9100"'), "metrics.listen"),
        (cloud(account='endpoint = "http://simulator.test:8100"'), "provider.scaleway.endpoint"),
        (cloud(more="public_ipv4 = false"), "fleet.web.public_ipv4"),
        (
            cloud(more='public_ipv4 = false\npublic_ipv6 = true\naddress_pool = "mine"'),
            "fleet.web.address_pool",
        ),
    ],
)
def test_what_is_hardly_meant_is_a_warning(
    text: str, about: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    result = check(tmp_path, text, capsys)
    assert result.code == 0
    assert list(findings(result, ok=True, warning=True)) == [about]


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]"])
def test_what_nobody_else_reaches_needs_no_warning(
    host: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = cloud(account=f'endpoint = "http://{host}:8100"')
    text += f'[metrics]\nlisten = "{host}:9100"'
    assert findings(check(tmp_path, text, capsys), ok=True, warning=True) == {}


def test_what_only_this_environment_lacks_is_a_warning(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    result = check(tmp_path, cloud(), capsys, environment={})
    assert result.code == 0
    assert set(findings(result, ok=True, warning=True)) == {
        "provider.scaleway.secret_key_env",
        "provider.scaleway.project",
    }
    assert KEY["SCW_SECRET_KEY"] not in result.out
