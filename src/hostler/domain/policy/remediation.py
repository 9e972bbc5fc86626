"""Remediation: what is done about a host that will not get ready, and how often.

A ladder: try again, diagnose, reboot, reinstall, quarantine. Each rung is climbed by what happened,
never by the clock, and strikes stay with the host when the machine on it is long deleted.
"""

from datetime import timedelta
from enum import StrEnum
from typing import assert_never

from msgspec import Struct
from msgspec.structs import replace

_S = timedelta(seconds=1)
_MIN = timedelta(minutes=1)
_DAY = timedelta(days=1)


PAUSES = (30 * _S, 2 * _MIN, 5 * _MIN)
"""Waits between attempts; the last one repeats."""


class Remedy(StrEnum):
    """What to do next about a host."""

    AGAIN = "again"
    DIAGNOSE = "diagnose"
    REBOOT = "reboot"
    REINSTALL = "reinstall"
    QUARANTINE = "quarantine"


class Diagnosis(StrEnum):
    """What the provider's own diagnosis of a host came to.

    An unhealthy one names what would be supported; `NO_ANSWER` is one that was refused, or did not
    come within its bound: the ladder then goes on without it.
    """

    NO_ANSWER = "no answer"
    HEALTHY = "healthy"
    REBOOT = "unhealthy; a reboot may help"
    REINSTALL = "unhealthy; a reinstallation may help"
    EITHER = "unhealthy; a reboot or a reinstallation may help"
    NOTHING = "unhealthy; nothing that we can ask for helps"


class Ladder(Struct, frozen=True, kw_only=True):
    """The settings of the ladder. `reboot_after` and `attempts` are numbers of failures; 0 is off.

    With `attempts` off no host is given up but for a stranger's key. `strikes` is the number of the
    strike that quarantines a host instead of reinstalling it, `wipes` that of the one that does so
    where it came of a wipe that failed; `pauses` lie between attempts, the last one repeats.
    """

    reboot_after: int = 3
    attempts: int = 8
    strikes: int = 2
    wipes: int = 4
    pauses: tuple[timedelta, ...] = PAUSES
    quarantine: timedelta = 1 * _DAY
    longest: timedelta = 30 * _DAY


LADDER = Ladder()
"""The ladder of every host."""


class Trouble(Struct, frozen=True, kw_only=True):
    """What is remembered of a host on the ladder.

    `failures` in a row, whether it was rebooted for them, and the diagnosis belong to the present
    round: they end when the host gets ready or is reinstalled. `strikes` are the host's for good.
    `stranger` says that the last failure was a key that is not the pinned one, `listed` that it was
    a command of the fleet's list.
    """

    failures: int = 0
    rebooted: bool = False
    diagnosis: Diagnosis | None = None
    stranger: bool = False
    listed: bool = False
    strikes: int = 0


class Transition(Struct, frozen=True, kw_only=True):
    """The next remedy, why, and how long to wait before it; only AGAIN waits."""

    remedy: Remedy
    why: str
    pause: timedelta = timedelta(0)


def next_remedy(trouble: Trouble, ladder: Ladder) -> Transition:
    """Return what to do next. Pure and total: the same memory and settings, the same answer.

    Giving up outranks a reboot when both are due. A reboot and a reinstallation are repeated until
    the provider accepts one, for only that is recorded (`accepted`).
    """
    over = _reached(trouble.failures, ladder.attempts)
    if trouble.stranger:
        return _strange(trouble, ladder, over=over)
    if over:
        return _give_up(trouble, ladder)
    if _reached(trouble.failures, ladder.reboot_after) and not trouble.rebooted:
        return _shake(trouble, ladder)
    return _again(trouble, ladder)


def _reached(failures: int, threshold: int) -> bool:
    return 0 < threshold <= failures


def _strange(trouble: Trouble, ladder: Ladder, *, over: bool) -> Transition:
    """A wrong key is neither rebooted nor wiped away: a new pin would trust whoever answers."""
    if over or _reached(trouble.failures, ladder.reboot_after):
        return Transition(
            remedy=Remedy.QUARANTINE,
            why=f"it shows another key than the pinned one, after {_times(trouble.failures)}",
        )
    return _again(trouble, ladder)


def _give_up(trouble: Trouble, ladder: Ladder) -> Transition:
    """End this round: by a wipe, or for a long while."""
    failed = f"it did not get ready {_times(trouble.failures)}"
    if trouble.strikes + 1 >= ladder.strikes:
        return Transition(remedy=Remedy.QUARANTINE, why=f"{failed}: strike {trouble.strikes + 1}")
    match trouble.diagnosis:
        case None:
            return Transition(
                remedy=Remedy.DIAGNOSE, why=f"{failed}: a diagnosis before the disk is wiped"
            )
        case Diagnosis.NOTHING | Diagnosis.REBOOT:
            return Transition(remedy=Remedy.QUARANTINE, why=f"{failed}; {trouble.diagnosis}")
        case (
            Diagnosis.NO_ANSWER | Diagnosis.HEALTHY | Diagnosis.REINSTALL | Diagnosis.EITHER
        ) as found:
            return Transition(remedy=Remedy.REINSTALL, why=f"{failed}; diagnosis: {found}")
        case _:
            assert_never(trouble.diagnosis)


def _shake(trouble: Trouble, ladder: Ladder) -> Transition:
    """Try what is cheap first, unless the provider says that it is no use."""
    failed = f"it did not get ready {_times(trouble.failures)}"
    match trouble.diagnosis:
        case None:
            return Transition(
                remedy=Remedy.DIAGNOSE, why=f"{failed}: a diagnosis before it is rebooted"
            )
        case Diagnosis.REINSTALL if ladder.attempts > 0:
            return _give_up(trouble, ladder)
        case Diagnosis.NOTHING | Diagnosis.REINSTALL:
            return _again(trouble, ladder)
        case (
            Diagnosis.NO_ANSWER | Diagnosis.HEALTHY | Diagnosis.REBOOT | Diagnosis.EITHER
        ) as found:
            return Transition(remedy=Remedy.REBOOT, why=f"{failed}; diagnosis: {found}")
        case _:
            assert_never(trouble.diagnosis)


def _again(trouble: Trouble, ladder: Ladder) -> Transition:
    why = f"it did not get ready {_times(trouble.failures)}" if trouble.failures else "not tried"
    return Transition(
        remedy=Remedy.AGAIN, why=why, pause=pause_after(trouble.failures, ladder.pauses)
    )


def _times(failures: int) -> str:
    return "once" if failures == 1 else f"{failures} times"


def pause_after(failures: int, pauses: tuple[timedelta, ...]) -> timedelta:
    """Return the wait after that many failures in a row; nothing before the first."""
    if failures <= 0 or not pauses:
        return timedelta(0)
    return pauses[min(failures, len(pauses)) - 1]


def quarantined_for(strikes: int, ladder: Ladder) -> timedelta:
    """Return how long a host with so many strikes stays out: doubled with each beyond the limit."""
    beyond = min(max(strikes - ladder.strikes, 0), 20)
    return min(ladder.quarantine * 2**beyond, ladder.longest)


def wipe_failed(strikes: int, ladder: Ladder) -> timedelta | None:
    """Return how long a host is left alone after a wipe that was its so-manieth strike, or None.

    A wipe costs nobody's work: it is tried more often than a machine is.
    """
    if strikes < ladder.wipes:
        return None
    return quarantined_for(strikes - ladder.wipes + ladder.strikes, ladder)


def failed(trouble: Trouble, *, stranger: bool = False, listed: bool = False) -> Trouble:
    """Return the memory after one more failure to get the host ready."""
    return replace(trouble, failures=trouble.failures + 1, stranger=stranger, listed=listed)


def diagnosed(trouble: Trouble, diagnosis: Diagnosis) -> Trouble:
    """Return the memory with a diagnosis, which holds until the next accepted remedy."""
    return replace(trouble, diagnosis=diagnosis)


def accepted(trouble: Trouble, remedy: Remedy) -> Trouble:
    """Return the memory after the provider accepted a remedy; one that was refused is not recorded.

    A reinstallation and a quarantine are a strike each, and begin a new round.
    """
    match remedy:
        case Remedy.REBOOT:
            return replace(trouble, rebooted=True, diagnosis=None)
        case Remedy.REINSTALL | Remedy.QUARANTINE:
            return Trouble(strikes=trouble.strikes + 1)
        case Remedy.AGAIN | Remedy.DIAGNOSE:
            return trouble
        case _:
            assert_never(remedy)


def settled(trouble: Trouble) -> Trouble:
    """Return the memory of a host that got ready or was given back: its strikes stay."""
    return Trouble(strikes=trouble.strikes)


def diagnosis_of(*, healthy: bool | None, actions: frozenset[str]) -> Diagnosis:
    """Return what a provider's answer means; the actions are its `supported_actions`.

    `healthy` is None where there was no answer. What is not known among the actions counts for
    nothing.
    """
    if healthy is None:
        return Diagnosis.NO_ANSWER
    if healthy:
        return Diagnosis.HEALTHY
    reboot, reinstall = "reboot_server" in actions, "reinstall_server" in actions
    if reboot and reinstall:
        return Diagnosis.EITHER
    if reboot:
        return Diagnosis.REBOOT
    return Diagnosis.REINSTALL if reinstall else Diagnosis.NOTHING
