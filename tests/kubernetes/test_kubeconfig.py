"""Kubeconfigs, good and hostile: what is read, and that no secret is in any error or repr."""

import base64
import json
import os
import shutil
import signal
import ssl
import stat
import subprocess
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path

import pytest
from aiohttp import web

from hostler.domain.errors import ConfigError
from hostler.kubernetes.config import ClusterConfig, in_cluster
from hostler.kubernetes.contexts import Place, from_kubeconfig
from hostler.kubernetes.credentials import TokenFile
from hostler.kubernetes.errors import Unauthorized, Unavailable
from hostler.kubernetes.exec_credentials import ExecCredentials, Program
from hostler.kubernetes.session import Call, Session
from hostler.testing.time.clock import RigClock

SECRET = "s3cret-value"
GOOD = f"""
apiVersion: v1
kind: Config
current-context: one
contexts:
- name: one
  context: {{cluster: c, user: u, namespace: team}}
- name: two
  context: {{cluster: missing, user: u}}
clusters:
- name: c
  cluster: {{server: "https://example.com:6443"}}
users:
- name: u
  user: {{token: {SECRET}}}
"""


def load(
    folder: Path, text: str = GOOD, context: str | None = None, **environment: str
) -> ClusterConfig:
    file = folder / "config"
    file.write_text(text, encoding="utf-8")
    variables = {"KUBECONFIG": str(file), **environment}
    return from_kubeconfig(Place(environment=variables, home=folder, context=context), RigClock())


async def token_of(config: ClusterConfig) -> str:
    token = (await config.credentials.identity()).token
    assert token is not None
    return token.reveal()


async def test_the_current_context_is_read(tmp_path: Path) -> None:
    config = load(tmp_path)
    assert (config.server, config.namespace) == ("https://example.com:6443", "team")
    assert await token_of(config) == SECRET
    assert SECRET not in repr(config)
    assert SECRET not in repr(await config.credentials.identity())


async def test_several_files_are_merged_and_the_first_holds(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    first.write_text("users: [{name: u, user: {token: 12345}}]\ncontexts: null\n")
    second.write_text(GOOD)
    paths = os.pathsep.join(["", str(first), str(tmp_path / "none"), str(second)])
    config = from_kubeconfig(Place(environment={"KUBECONFIG": paths}, home=tmp_path), RigClock())
    assert await token_of(config) == "12345"


async def test_files_stand_beside_the_kubeconfig_and_tokens_are_read_again(tmp_path: Path) -> None:
    clock, file = RigClock(), tmp_path / "config"
    file.write_text(GOOD.replace(f"token: {SECRET}", "tokenFile: token"))
    (tmp_path / "token").write_text("first\n")
    place = Place(environment={"KUBECONFIG": str(file)}, home=tmp_path)
    config = from_kubeconfig(place, clock)
    assert await token_of(config) == "first"
    (tmp_path / "token").write_text("second\n")
    assert await token_of(config) == "first"
    clock.pass_by(timedelta(minutes=1))
    assert await token_of(config) == "second"
    (tmp_path / "token").unlink()
    clock.pass_by(timedelta(minutes=1))
    assert await token_of(config) == "second"


HOSTILE = {
    "not YAML": (f"users: [{SECRET}", "valid YAML"),
    "a list": ("- a\n", "Expected"),
    "a word": (SECRET, "Expected"),
    "references": ("a: &a [x]\nb: *a\n", "valid YAML: it has references"),
    "objects": (f"!!python/object/apply:os.system ['{SECRET}']", "valid YAML"),
    "deep": ("[" * 20_000, "no kubeconfig"),
    "wrong type": (GOOD.replace(SECRET, "{a: s3cret-value}"), "Expected `str | null`"),
    "control": (f"token: {SECRET}\x00", "valid YAML"),
    "no server": (GOOD.replace("https://example.com:6443", ""), "cluster 'c' has no server"),
    "no host": (GOOD.replace("https://example.com:6443", "https://"), "cluster 'c' has no server"),
    "no port": (GOOD.replace(":6443", ":99999"), "cluster 'c' has no server"),
    "half an address": (GOOD.replace("example.com:6443", "[::1"), "cluster 'c' has no server"),
    "other scheme": (GOOD.replace("https:", "file:"), "cluster 'c' has no server"),
    "no current": (GOOD.replace("current-context: one", ""), "no current-context"),
    "no such context": (GOOD.replace("current-context: one", "current-context: x"), "one, two"),
    "no cluster": (GOOD.replace("current-context: one", "current-context: two"), "'missing'"),
    "provider": (
        GOOD.replace(f"token: {SECRET}", f"auth-provider: {{name: oidc, config: {{x: {SECRET}}}}}"),
        "auth-provider, which Kubernetes removed",
    ),
    "password": (
        GOOD.replace(f"token: {SECRET}", f"username: a, password: {SECRET}"),
        "has a password",
    ),
    "acts as": (GOOD.replace(SECRET, f"{SECRET}, as: root"), "acts as another"),
    "no base64": (
        GOOD.replace(f"token: {SECRET}", f"client-key-data: '{SECRET}!'"),
        "no base64",
    ),
    "half a pair": (
        GOOD.replace(f"token: {SECRET}", "client-key-data: YWJj"),
        "has no client-certificate",
    ),
    "missing file": (
        GOOD.replace(f"token: {SECRET}", "tokenFile: /nowhere/token"),
        "/nowhere/token cannot be read",
    ),
    "nobody's home": (
        GOOD.replace(f"token: {SECRET}", "tokenFile: ~no-such-user/token"),
        "~no-such-user/token cannot be read",
    ),
    "old exec": (
        GOOD.replace(f"token: {SECRET}", "exec: {apiVersion: v1alpha1, command: x}"),
        "speaks 'v1alpha1'",
    ),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_a_wrong_kubeconfig_is_a_sentence_without_secrets(tmp_path: Path, case: str) -> None:
    content, words = HOSTILE[case]
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, content)
    message = str(caught.value)
    assert words in message
    assert str(tmp_path / "config") in message
    assert SECRET not in message
    assert "\n" not in message


def test_no_file_at_all_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"\.kube/config does not exist"):
        from_kubeconfig(Place(environment={}, home=tmp_path), RigClock())


@pytest.mark.parametrize("content", [b"\xff\xfe\x00", b"x" * 2_000_000])
def test_bytes_and_sizes_that_are_no_kubeconfig(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "config").write_bytes(content)
    place = Place(environment={"KUBECONFIG": str(tmp_path / "config")}, home=tmp_path)
    with pytest.raises(ConfigError, match="cannot be read"):
        from_kubeconfig(place, RigClock())


async def test_a_pod_finds_its_service_account(tmp_path: Path) -> None:
    for name, content in {"token": "t", "ca.crt": "pem", "namespace": "team\n"}.items():
        (tmp_path / name).write_text(content)
    where = {"KUBERNETES_SERVICE_HOST": "fd00::1", "KUBERNETES_SERVICE_PORT": "443"}
    config = in_cluster(where, RigClock(), tmp_path)
    assert (config.server, config.namespace) == ("https://[fd00::1]:443", "team")
    assert await token_of(config) == "t"
    (tmp_path / "ca.crt").unlink()
    with pytest.raises(ConfigError, match=r"ca\.crt cannot be read"):
        in_cluster(where, RigClock(), tmp_path)
    with pytest.raises(ConfigError, match="this is no Pod"):
        in_cluster({}, RigClock(), tmp_path)


async def test_an_empty_token_file_is_no_identity(tmp_path: Path) -> None:
    (tmp_path / "token").write_text(" \n")
    with pytest.raises(Unauthorized, match="is empty"):
        await TokenFile(tmp_path / "token", RigClock()).identity()


def program(folder: Path, body: str) -> str:
    file = folder / "login"
    file.write_text(f"#!/bin/sh\necho run >> {folder}/runs\n{body}\n")
    file.chmod(stat.S_IRWXU)
    return str(file)


def printed(status: Mapping[str, object]) -> str:
    version = "client.authentication.k8s.io/v1"
    body = {"apiVersion": version, "kind": "ExecCredential", "status": status}
    return f"cat <<'END'\n{json.dumps(body)}\nEND"


async def test_a_program_runs_again_when_its_token_expires_or_is_refused(tmp_path: Path) -> None:
    clock = RigClock()
    expires = (clock.now() + timedelta(minutes=1)).isoformat()
    command = program(tmp_path, printed({"token": SECRET, "expirationTimestamp": expires}))
    credentials = ExecCredentials(Program(command=command, arguments=("--x",)), clock)
    runs = tmp_path / "runs"
    for passed, count in ((0, 1), (40, 1), (11, 2)):
        clock.pass_by(timedelta(seconds=passed))
        token = (await credentials.identity()).token
        assert token is not None
        assert token.reveal() == SECRET
        assert len(runs.read_text().split()) == count
    assert credentials.refuse(await credentials.identity())
    await credentials.identity()
    assert len(runs.read_text().split()) >= 3


async def test_many_calls_that_are_refused_together_run_a_program_once(tmp_path: Path) -> None:
    """A run takes seconds; one for each call would outlast their deadlines."""
    credentials = ExecCredentials(
        Program(command=program(tmp_path, printed({"token": SECRET}))), RigClock()
    )
    old = await credentials.identity()
    for _ in range(10):
        assert credentials.refuse(old)
        assert await credentials.identity() is not old
    assert len((tmp_path / "runs").read_text().split()) == 2


async def test_a_token_that_expired_ages_ago_is_asked_for_each_time(tmp_path: Path) -> None:
    """Go's zero time means nothing to a program that prints it."""
    status = {"token": SECRET, "expirationTimestamp": "0001-01-01T00:00:00Z"}
    credentials = ExecCredentials(Program(command=program(tmp_path, printed(status))), RigClock())
    for count in (1, 2):
        await credentials.identity()
        assert len((tmp_path / "runs").read_text().split()) == count


async def test_a_program_learns_its_variables_and_the_cluster(tmp_path: Path) -> None:
    info_file, who = tmp_path / "info", tmp_path / "who"
    script = f'printf "%s" "$KUBERNETES_EXEC_INFO" > {info_file}\nprintf "%s" "$WHO" > {who}'
    program(tmp_path, f"{script}\n{printed({'token': 'x'})}")
    entry = (
        "exec: {apiVersion: client.authentication.k8s.io/v1, command: ./login, args: null, "
        "env: [{name: WHO, value: me}], provideClusterInfo: true, interactiveMode: Never}"
    )
    config = load(tmp_path, GOOD.replace(f"token: {SECRET}", entry))
    assert await token_of(config) == "x"
    info = json.loads(info_file.read_text())
    assert info["spec"]["cluster"]["server"] == "https://example.com:6443"
    assert info["spec"]["interactive"] is False
    assert who.read_text() == "me"


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (f"echo {SECRET}; echo {SECRET} >&2; exit 3", "exit status 3"),
        (f"echo {SECRET}; kill -9 $$", "killed by SIGKILL"),
        (f"echo {SECRET}", "no ExecCredential"),
        (printed({}), "neither a token nor a certificate"),
        (printed({"token": SECRET, "expirationTimestamp": "2026-01-01T00:00:00"}), "no Exec"),
        ("yes", "without end"),
        ("sleep 1000", "no end within 0 s"),
    ],
)
async def test_a_program_that_fails_is_a_sentence(tmp_path: Path, body: str, words: str) -> None:
    within = timedelta(milliseconds=200) if "sleep" in body else timedelta(seconds=20)
    made = Program(command=program(tmp_path, body), arguments=(SECRET,), within=within)
    with pytest.raises(Unauthorized, match=words) as caught:
        await ExecCredentials(made, RigClock()).identity()
    assert SECRET not in str(caught.value)
    assert SECRET not in repr(made)


async def test_a_program_that_leaves_another_one_running_gives_its_token(tmp_path: Path) -> None:
    """Such as the helper of a login, which keeps its output open and runs on."""
    pid = tmp_path / "pid"
    body = f"sleep 60 & echo $! >{pid}\n{printed({'token': SECRET})}"
    made = Program(command=program(tmp_path, body), within=timedelta(seconds=10))
    try:
        token = (await ExecCredentials(made, RigClock()).identity()).token
        assert token is not None
        assert token.reveal() == SECRET
    finally:
        os.kill(int(pid.read_text()), signal.SIGKILL)


async def test_a_program_that_is_not_there_says_how_to_get_it() -> None:
    made = Program(command="no-such-program-here", hint="install it from the shop")
    with pytest.raises(Unauthorized, match=r"No such file.*install it from the shop"):
        await ExecCredentials(made, RigClock()).identity()


OPENSSL = [
    "openssl",
    "req",
    "-x509",
    "-newkey",
    "ec",
    "-pkeyopt",
    "ec_paramgen_curve:P-256",
    "-nodes",
    "-days",
    "2",
    "-addext",
    "subjectAltName=IP:127.0.0.1",
]


def make_certificates(folder: Path) -> None:
    for name in ("server", "client"):
        subject = ["-subj", f"/CN={name}", "-keyout", f"{name}.key", "-out", f"{name}.crt"]
        subprocess.run([*OPENSSL, *subject], cwd=folder, check=True, capture_output=True)  # noqa: S603 - fixed


@pytest.mark.skipif(shutil.which("openssl") is None, reason="needs openssl")
async def test_certificates_of_both_sides_are_shown_and_checked(tmp_path: Path) -> None:
    make_certificates(tmp_path)
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=tmp_path / "client.crt")
    tls.load_cert_chain(tmp_path / "server.crt", tmp_path / "server.key")
    tls.verify_mode = ssl.CERT_REQUIRED

    async def handle(_: web.Request) -> web.Response:
        return web.json_response({"ok": True})

    app = web.Application()
    app.router.add_get("/version", handle)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls).start()
    server = f"https://127.0.0.1:{runner.addresses[0][1]}"

    def coded(name: str) -> str:
        return base64.b64encode((tmp_path / name).read_bytes()).decode()

    text = GOOD.replace("https://example.com:6443", server).replace(
        f"token: {SECRET}",
        f"client-certificate-data: {coded('client.crt')}, client-key: client.key",
    )
    trusting = text.replace(f'"{server}"', f'"{server}", certificate-authority: server.crt')
    good, untrusting = Session(load(tmp_path, trusting)), Session(load(tmp_path, text))
    try:
        call = Call(method="GET", path="/version")
        assert (await good.send(call, timedelta(seconds=20))).status == 200
        with pytest.raises(Unavailable, match="certificate is not trusted"):
            await untrusting.send(call, timedelta(seconds=20))
    finally:
        await good.close()
        await untrusting.close()
        await runner.cleanup()


async def test_a_certificate_that_is_none_is_a_wrong_configuration(tmp_path: Path) -> None:
    broken = GOOD.replace(
        '"https://example.com:6443"',
        '"https://127.0.0.1:1", certificate-authority-data: YWJj',
    )
    session = Session(load(tmp_path, broken))
    with pytest.raises(ConfigError, match=r"context 'one'.*cannot be used"):
        await session.send(Call(method="GET", path="/"), timedelta(seconds=20))
    await session.close()


async def test_a_token_that_no_header_can_have_is_no_identity(tmp_path: Path) -> None:
    """It may come from a file, or from a program, while an engine runs for weeks."""
    session = Session(load(tmp_path, GOOD.replace(SECRET, f'"{SECRET}\\nmore"')))
    with pytest.raises(Unauthorized, match=r"context 'one'.*letters that no token has") as caught:
        await session.send(Call(method="GET", path="/"), timedelta(seconds=20))
    assert SECRET not in str(caught.value)
    await session.close()


async def test_a_certificate_that_a_program_gives_and_is_none_is_no_identity(
    tmp_path: Path,
) -> None:
    status = {"clientCertificateData": "abc", "clientKeyData": SECRET}
    program(tmp_path, printed(status))
    entry = "exec: {apiVersion: client.authentication.k8s.io/v1, command: ./login}"
    session = Session(load(tmp_path, GOOD.replace(f"token: {SECRET}", entry)))
    with pytest.raises(Unauthorized, match="client's certificate that cannot be used") as caught:
        await session.send(Call(method="GET", path="/"), timedelta(seconds=20))
    assert SECRET not in str(caught.value)
    await session.close()
