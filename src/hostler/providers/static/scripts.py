"""Scripts: what runs at a host, in plain POSIX shell, and what it answers.

Each answers in lines that begin with `hostler:`; whatever else a login prints is passed over. A
claim is written whole and then linked to its name, which fails where there is one: it exists with
all of its text or not at all, and two installations never both have it. Every script may run twice,
or late: what is not the very claim that it names stays as it is.
"""

import shlex

from .claims import Claim

_HEAD = """
umask 077
d="$HOME/.hostler"; c="$d/claim"
boot=$(cat /proc/sys/kernel/random/boot_id 2>/dev/null || sysctl -n kern.boottime 2>/dev/null)
boot=$(printf %s "$boot" | tr -cd 0-9a-zA-Z)
say() { printf 'hostler: %s\\n' "$*"; }
"""

_READ = """
[ -e "$c" ] || { say free; exit 0; }
[ -r "$c" ] || { say failed to read "$c"; exit 0; }
say claim "$(head -c 600 "$c" | head -n 1)"
for f in "$d"/clean.*-*; do
  [ -e "$f" ] || continue
  read -r was pid < "$f"
  if kill -0 "$pid" 2>/dev/null; then now=running; else now=ended; fi
  [ "$was" = "$boot" ] || now=rebooted
  say "${f##*/}" "$now"
done
for f in "$d"/cleaned.*-*; do
  [ -e "$f" ] && say "${f##*/}" "$(head -c 9 "$f")"
done
say end
"""

_CLAIM = """
mkdir -p "$d" || { say failed to make "$d"; exit 0; }
t="$d/new.$$"
printf '%s\\n' "$1" > "$t" || { rm -f "$t"; say failed to write "$t"; exit 0; }
if [ -d "$c" ]; then word=taken
elif ln "$t" "$c" 2>/dev/null || cmp -s "$t" "$c"; then word=claimed
elif [ -e "$c" ]; then word=taken
else word="failed to link $c"; fi
rm -f "$t"; say "$word"
"""

_OURS = """
[ "$(head -c 600 "$c" 2>/dev/null | head -n 1)" = "$1" ] || { say not there; exit 0; }
"""

_HAND_OVER = """
t="$d/new.$$"
printf '%s\\n' "$2" > "$t" && mv -f "$t" "$c" || { rm -f "$t"; say failed to write "$c"; exit 0; }
say not clean
"""

_RELEASE = """
rm -f "$c" || { say failed to remove the claim; exit 0; }
rm -f "$d/clean.$2" "$d/cleaned.$2"
say released
"""

_CLEAN = """
if [ -e "$d/cleaned.$2" ]; then
  [ "$(cat "$d/cleaned.$2")" = 0 ] && { say cleaning; exit 0; }
  rm -f "$d/cleaned.$2" "$d/clean.$2"
elif [ -e "$d/clean.$2" ]; then
  read -r was pid < "$d/clean.$2"
  if [ "$was" = "$boot" ] && ! kill -0 "$pid" 2>/dev/null; then rm -f "$d/clean.$2"; fi
fi
nohup sh -c '
  set -C; echo "$4 $$" > "$2/clean.$3" || exit; set +C
  sh -c "$1" > "$2/clean.log" 2>&1
  echo $? > "$2/exit.$3" && mv "$2/exit.$3" "$2/cleaned.$3"
' hostler "$3" "$d" "$2" "$boot" < /dev/null > /dev/null 2>&1 &
say cleaning
"""


def read() -> str:
    """Return the command that tells whose a host is, and how far its cleaning is."""
    return _command(_READ)


def take(claim: Claim) -> str:
    """Return the command that claims a host, if nobody has it."""
    return _command(_CLAIM, claim.line)


def hand_over(claim: Claim) -> str:
    """Return the command that turns a machine's claim into the host's own, until it is clean."""
    return _command(_OURS + _HAND_OVER, claim.line, claim.released.line)


def clean(claim: Claim, command: str) -> str:
    """Return the command that begins to clean a host, once, if it still has this claim."""
    return _command(_OURS + _CLEAN, claim.line, claim.machine, command)


def release(claim: Claim) -> str:
    """Return the command that removes this claim, and no other."""
    return _command(_OURS + _RELEASE, claim.line, claim.machine)


def _command(script: str, *arguments: str) -> str:
    """A command is sent whole or not at all: a broken connection leaves no half of it behind."""
    return shlex.join(["sh", "-c", _HEAD + script, "hostler", *arguments])


def answers(output: str) -> tuple[str, ...]:
    """Return what a script said, line by line."""
    lines = (line.rstrip() for line in output.splitlines())
    return tuple(line[9:] for line in lines if line.startswith("hostler: "))


def answer(output: str) -> str:
    """Return what a script that changes something said: one line, or nothing that makes sense."""
    lines = answers(output)
    return lines[0] if len(lines) == 1 else ""
