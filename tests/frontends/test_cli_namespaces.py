"""`hostler run --kubernetes`: which namespaces are meant, as they are written."""

import pytest
from cli_kit import FILE, InMemory, cli

Out = pytest.CaptureFixture[str]


@pytest.mark.parametrize(
    ("words", "named", "every"),
    [
        ((), (), False),
        (("--namespace", "a"), ("a",), False),
        (("--namespace", "a", "--namespace=b"), ("a", "b"), False),
        (("--namespace=b,a", "--namespace=c,b"), ("b", "a", "c"), False),
        (("--all-namespaces",), (), True),
        (("--namespace=home", "--all-namespaces"), ("home",), True),
    ],
)
def test_namespaces_are_named_once_or_several_times_or_are_all(
    capsys: Out, words: tuple[str, ...], named: tuple[str, ...], *, every: bool
) -> None:
    services = InMemory()
    done = cli(services, capsys, "run", "--kubernetes", *words)
    assert done.code == 0, done.err
    (options,) = services.clusters
    assert (options.namespaces, options.all_namespaces, options.file) == (named, every, None)


def test_a_file_stands_beside_namespaces(capsys: Out) -> None:
    services = InMemory()
    words = ("run", str(FILE), "--kubernetes", "--namespace", "a", "--namespace", "b")
    assert cli(services, capsys, *words).code == 0
    (options,) = services.clusters
    assert (options.namespaces, options.file) == (("a", "b"), FILE)


@pytest.mark.parametrize("word", ["a_b", "", "a,,b", "A", "a.b", "-a"])
def test_what_is_no_name_of_a_namespace_is_refused(capsys: Out, word: str) -> None:
    services = InMemory()
    done = cli(services, capsys, "run", "--kubernetes", f"--namespace={word}", "--json")
    assert done.code != 0
    assert services.clusters == []
    assert "that is not the name of a namespace" in done.json["error"]["message"]


@pytest.mark.parametrize("word", ["--namespace=a", "--all-namespaces"])
def test_namespaces_go_with_kubernetes_alone(capsys: Out, word: str) -> None:
    done = cli(InMemory(), capsys, "run", str(FILE), word, "--json")
    assert done.code != 0
    assert "go with --kubernetes" in done.json["error"]["message"]
