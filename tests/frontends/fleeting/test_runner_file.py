"""What a runner's config.toml says of our plugin."""

import json
from pathlib import Path

import pytest

from hostler.domain.errors import ConfigError
from hostler.frontends.fleeting.contract import Connector
from hostler.frontends.fleeting.installation.runner_file import read_runner

RUNNER = """
[[runners]]
name = "{name}"
executor = "docker-autoscaler"
[runners.autoscaler]
plugin = "{plugin}"
max_instances = 8
[runners.autoscaler.plugin_config]
name = "ci"
server_type = ["DEV1-S"]
when = 2026-01-02T03:04:05Z
[runners.autoscaler.connector_config]
username = "ubuntu"
protocol_port = 2222
key_path = "key"
use_static_credentials = true
"""
OURS = RUNNER.format(name="one", plugin="fleeting-plugin-hostler")


def written(folder: Path, text: str) -> Path:
    (folder / "key").write_bytes(b"a key")
    path = folder / "config.toml"
    path.write_text(text)
    return path


def test_the_runner_that_uses_the_plugin_is_read_as_init_would_bring_it(tmp_path: Path) -> None:
    other = RUNNER.format(name="other", plugin="aws")
    runner = read_runner(written(tmp_path, other + OURS))
    assert (runner.name, runner.plugin, runner.most) == ("one", "fleeting-plugin-hostler", 8)
    assert json.loads(runner.content) == {
        "name": "ci",
        "server_type": ["DEV1-S"],
        "when": "2026-01-02 03:04:05+00:00",
    }
    assert runner.connector == Connector(
        username="ubuntu", protocol_port=2222, key=b"a key", use_static_credentials=True
    )


def test_instances_that_a_restart_would_remove_are_worth_a_word(tmp_path: Path) -> None:
    assert "state_storage" in read_runner(written(tmp_path, OURS)).hints[0]
    saved = OURS + "[runners.autoscaler.state_storage]\nenabled = true\n"
    assert read_runner(written(tmp_path, saved)).hints == ()


def test_one_of_several_is_named(tmp_path: Path) -> None:
    path = written(tmp_path, OURS + RUNNER.format(name="two", plugin="/opt/hostler-plugin"))
    with pytest.raises(ConfigError, match="--runner one or two"):
        read_runner(path)
    assert read_runner(path, "two").plugin == "/opt/hostler-plugin"
    with pytest.raises(ConfigError, match=r"no .* called 'three'"):
        read_runner(path, "three")


def test_a_json_file_is_a_plugin_config(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text(' {"name": "ci"}')
    assert read_runner(path).content == b' {"name": "ci"}'
    assert read_runner(path).connector == Connector()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"runners = 3", "no \\[\\[runners\\]\\]"),
        (b"[[runners]]\nautoscaler = 3", "no \\[\\[runners\\]\\]"),
        (b"runners = [1]", "no \\[\\[runners\\]\\]"),
        (b"[[runners", "not valid TOML"),
        (b"a = \xff", "not UTF-8"),
        (b"#" * 10_000_001, "larger than"),
    ],
)
def test_a_file_of_another_format_is_reported(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "config.toml"
    path.write_bytes(content)
    with pytest.raises(ConfigError, match=message):
        read_runner(path)


def test_files_that_cannot_be_read_are_reported(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="No such file"):
        read_runner(tmp_path / "none")
    path = written(tmp_path, OURS)
    (tmp_path / "key").unlink()
    with pytest.raises(ConfigError, match=r"key: cannot be read"):
        read_runner(path)
