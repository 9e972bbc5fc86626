"""Data scripts: the little shell scripts by which a machine's own script runs once on its host.

In `~/.hostler/data-MACHINE`: `begun`, a folder, which only one can make, with the process that
sees to it; `script` and `log` while it runs; `status`, how it ended. The script comes by standard
input, is readable by its user alone, and is removed when it ends, as the log is when it was read.
"""

from shlex import quote

from msgspec import Struct

from hostler.domain.ids import MachineId
from hostler.domain.policy.bootstrap_data import DataState

from .scripts import BORN, END, in_shell

_STATE = "hostler: data "
_LOG = "hostler: log"
LOG = 16_000
"""Bytes of the end of the log that are read."""

_CUT = "cut"
"""What stands for the status of a script that left none: its host was switched off, say."""

LATE = "late"
"""What stands for the status of a script that was ended because it took too long."""

_SEE_TO = """\
set -f; IFS= read -r first <"$b/script"; set -- ${first#??}
"$@" "$b/script" </dev/null >"$b/log" 2>&1 &
p=$!
end() { rm -f "$b/script"
  [ -e "$b/status" ] || { echo "$1" >"$b/new" && mv -f "$b/new" "$b/status"; }; }
( trap 'kill $s; exit' TERM; sleep "$within" & s=$!; wait $s; end late; kill -9 "-$$" ) \
</dev/null >/dev/null 2>&1 &
w=$!
wait $p; r=$?
kill $w; end $r
"""
"""What runs at the host until the script ends: it takes its time and notes its status."""


class Found(Struct, frozen=True, kw_only=True):
    """How a script stands at a host, and the end of what it printed where it has ended."""

    state: DataState
    status: str = ""
    log: str = ""


def beginning(machine: MachineId, address: str, size: int, within: int) -> str:
    """Return what begins the script of so many bytes that is its input, unless one was begun.

    It runs on when the connection breaks, for so many seconds at most.
    """
    return "exec " + in_shell(  # so that its process group is the session's, and is its own
        f"{BORN}{_folder(machine)}within={within}; umask 077\n"
        f"export HOSTLER_MACHINE={quote(machine)} HOSTLER_ADDRESS={quote(address)}\n"
        'mkdir -p "$b" && cat >"$b/given.$$" || exit\n'
        f'[ "$(($(wc -c <"$b/given.$$")))" -eq {size} ] || {{ rm -f "$b/given.$$"\n'
        '  echo "it did not arrive whole"; exit 1; }\n'
        'if mkdir "$b/begun" 2>/dev/null; then\n'
        '  mv -f "$b/given.$$" "$b/script" || exit\n'
        f"  ( {_SEE_TO} ) </dev/null >/dev/null 2>&1 &\n"
        '  echo "$! $(born $!)" >"$b/begun/pid"\n'
        'else rm -f "$b/given.$$"; fi\n'
        f'echo "{END}"'
    )


def following(machine: MachineId, seconds: int) -> str:
    """Return what waits so long for a script to end, and tells how it stands."""
    return in_shell(
        f"{BORN}{_folder(machine)}i=0\n"
        'runs() { pid= began=; [ -r "$b/begun/pid" ] && read -r pid began <"$b/begun/pid"\n'
        '  [ -n "$began" ] && [ "$began" = "$(echo $(born "$pid"))" ]; }\n'
        f'tell() {{ echo; echo "{_STATE}$1"; echo "{_LOG}"; tail -c {LOG} "$b/log" 2>/dev/null\n'
        f'  echo; echo "{END}"; }}\n'
        f'[ -d "$b/begun" ] || {{ tell {DataState.WAITING}; exit; }}\n'
        'while [ ! -e "$b/status" ] && runs; do\n'
        f'  [ "$i" -lt {seconds} ] || {{ tell {DataState.RUNNING}; exit; }}\n'
        "  i=$((i+1)); sleep 1\n"
        "done\n"
        '[ -e "$b/status" ] || sleep 1\n'
        f'[ -e "$b/status" ] || runs || {{ rm -f "$b/script"; echo {_CUT} >"$b/status"; }}\n'
        'tell "ended $(head -c 20 "$b/status" 2>/dev/null)" && rm -f "$b/log"'
    )


def found_in(output: str) -> Found | None:
    """Return how a script stands by what the following one said; None where that is not whole."""
    lines = output.splitlines()
    at = next((n for n, line in enumerate(lines) if line.startswith(_STATE)), None)
    if at is None or lines[-1:] != [END]:
        return None
    word, _, status = lines[at].removeprefix(_STATE).partition(" ")
    log = "\n".join(lines[at + 2 : -1]).strip("\n")
    if word in {DataState.WAITING, DataState.RUNNING}:
        return Found(state=DataState(word))
    state = DataState.DONE if status == "0" else DataState.FAILED
    return Found(state=state, status=status, log=_whole_words(log))


def _whole_words(log: str) -> str:
    """Return a log without the word that its cut may have halved: that may be half a secret."""
    return log.partition(" ")[2] if len(log.encode()) >= LOG - 1 else log


def _folder(machine: MachineId) -> str:
    return f"b=$HOME/.hostler/data-{machine}\n"
