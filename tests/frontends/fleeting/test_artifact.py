"""Artifact: names as the runner's `plugin` key has them, and the file that lies there."""

from pathlib import Path

import pytest

from hostler.frontends.fleeting.installation.artifact import named, plugin_folder, put


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("hostler", "registry.gitlab.com/gitlab-org/fleeting/plugins/hostler/1.2/plugin"),
        ("hostler:3", "registry.gitlab.com/gitlab-org/fleeting/plugins/hostler/3/plugin"),
        ("team/hostler", "registry.gitlab.com/team/hostler/1.2/plugin"),
        ("docker.io/team/hostler:latest", "docker.io/team/hostler/latest/plugin"),
        ("localhost:5000/a/b/c:0.1.0-rc1", "localhost:5000/a/b/c/0.1.0-rc1/plugin"),
        ("localhost:5000/a", "localhost:5000/a/1.2/plugin"),
    ],
)
def test_a_name_is_made_whole(text: str, path: str) -> None:
    assert str(named(text, "1.2").path) == path


@pytest.mark.parametrize(
    "text",
    ["", ":", "a:", "/", "a//b", "../x", "a/../b", "Team/x", "a b", "a:b c", "x.y/", "a/b:../.."],
)
def test_a_name_that_could_lead_elsewhere_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not of the form"):
        named(text, "1.2")


def test_the_folder_is_the_runners() -> None:
    assert plugin_folder({"FLEETING_PLUGIN_PATH": "/opt/p"}) == Path("/opt/p")
    assert plugin_folder({}) == Path.home() / ".config/fleeting/plugins"


def test_the_executable_lies_there_whole_and_replaces_what_was(tmp_path: Path) -> None:
    executable = tmp_path / "hostler"
    artifact = named("team/hostler:1", "")
    for text in ("#!one", "#!two"):
        executable.write_text(text)
        place = put(executable, tmp_path / "plugins", artifact)
        assert place.read_text() == text
        assert place.stat().st_mode & 0o777 == 0o755
    assert [entry.name for entry in place.parent.iterdir()] == ["plugin"]


def test_what_cannot_be_read_leaves_nothing(tmp_path: Path) -> None:
    artifact = named("team/hostler:1", "")
    with pytest.raises(FileNotFoundError):
        put(tmp_path / "absent", tmp_path, artifact)
    assert list((tmp_path / artifact.path).parent.iterdir()) == []
