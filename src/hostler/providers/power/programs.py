"""Programs: one is run without a shell, sees what it is given and nothing else, and is ended."""

from collections.abc import Mapping

from hostler.domain.model.calls import Refusal
from hostler.ports.programs import started

from .switch import refused

PASSED = ("PATH", "HOME", "LANG")
"""What every program sees of the environment."""

NOT_RUN = frozenset({126, 127})
"""Exit statuses by which `env`, `sudo` and shells say that there was nothing to run."""

_READ = 4096


async def run(words: tuple[str, ...], environment: Mapping[str, str]) -> tuple[int, bytes]:
    """Run a program; return its exit status and the beginning of what it printed.

    It is killed, with all that it started, where nobody waits for it any longer; what it leaves in
    the background when it ends is not waited for. Raises Failed where it cannot be started.
    """
    try:
        async with started(words, environment) as program:
            beginning = b""
            async for piece in program.pieces():
                beginning = (beginning + piece)[:_READ]
            return await program.status(), beginning
    except OSError as error:
        raise refused(Refusal.INVALID, f"{words[0]}: {error.strerror}") from None
