"""Scripts: the little shell scripts that read and write what a host knows of its preparation.

In `~/.hostler`: `applied` is the configuration it carries, `running` the process group of the
command that runs, with the time of its start, so that no other process is ever taken for it.
"""

from shlex import quote

from hostler.domain.policy.bootstrap import Applied, asks

END = "hostler: end"
_NOTED = "hostler: applied "
BORN = 'born() { cut -d" " -f22 "/proc/$1/stat" 2>/dev/null || LC_ALL=C ps -o lstart= -p "$1"; }\n'
"""When a process was started: in ticks where there is /proc, and otherwise as `ps` says it."""


def opening(wanted: Applied, *, forced: bool) -> str:
    """Return the script that ends what an earlier try left running, and tells what is noted.

    Where something else is noted than what is wanted, the note is taken away: from then on the host
    carries a part of two configurations.
    """
    keeps = "false" if forced else f'[ "$was" = {quote(str(wanted))} ]'
    return in_shell(
        f"{BORN}d=$HOME/.hostler; pid= began= was=\n"
        '[ -r "$d/running" ] && read -r pid began <"$d/running"\n'
        'case "$pid" in *[!0-9]*|""|0|1) ;; *)\n'
        '  [ -n "$began" ] && [ "$began" = "$(echo $(born "$pid"))" ] && kill -9 "-$pid" ;; esac\n'
        '[ -r "$d/applied" ] && was=$(head -c 200 "$d/applied")\n'
        f'printf "{_NOTED}%s\\n" "$was"\n'
        f'{keeps} || rm -f "$d/applied"\n'
        'rm -f "$d/running" && '
        f'echo "{END}"'
    )


def noting(wanted: Applied) -> str:
    """Return the script that notes that all commands have run: whole, or not at all."""
    return in_shell(
        'd=$HOME/.hostler; umask 077; mkdir -p "$d" &&\n'
        f'printf "%s\\n" {quote(str(wanted))} >"$d/applied.new" &&\n'
        f'mv -f "$d/applied.new" "$d/applied" && rm -f "$d/running" && echo "{END}"'
    )


def running(command: str, address: str, machine: str, prompt: str) -> str:
    """Return what runs one command; `prompt` is how a sudo in it will ask for its password."""
    environment = {"HOSTLER_ADDRESS": address, "HOSTLER_MACHINE": machine}
    if asks(command):
        environment["SUDO_PROMPT"] = prompt
    words = " ".join(f"{name}={quote(value)}" for name, value in environment.items())
    first = (
        f'({BORN}umask 077; mkdir -p "$HOME/.hostler"\n'
        'echo $$ $(born $$) >"$HOME/.hostler/running") 2>/dev/null\n'
    )
    return f"exec env {words} {in_shell(first + command)}"


def asking(command: str, address: str, machine: str) -> str:
    """Return what runs a command that only asks."""
    environment = {"HOSTLER_ADDRESS": address, "HOSTLER_MACHINE": machine}
    words = " ".join(f"{name}={quote(value)}" for name, value in environment.items())
    return f"exec env {words} {in_shell(command)}"


def ended(output: str) -> bool:
    """Tell whether a script ran to its end; the shell's own greetings do not matter."""
    return END in output.splitlines()


def noted(output: str) -> str:
    """Return what the opening script said is noted, or an empty string."""
    lines = (line for line in output.splitlines() if line.startswith(_NOTED))
    return next(lines, "").removeprefix(_NOTED)


def in_shell(script: str) -> str:
    """Return a script for whatever shell the user has there, run by the one that we know."""
    return f"/bin/sh -c {quote(script)}"
