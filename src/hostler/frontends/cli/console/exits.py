"""Exit codes and hints: which error ends with which code, and which command helps against it."""

from enum import IntEnum

from hostler.domain.errors import (
    ConfigError,
    HostlerError,
    ProviderError,
    Remedy,
    RequestRefused,
    StoreError,
    StoreHeld,
    UsageError,
)


class Exit(IntEnum):
    """How a command ended."""

    OK = 0
    FAILED = 1
    USAGE = 2
    ORPHANS = 3
    HELD = 4
    NOT_TAKEN = 5
    STORE = 6
    PROVIDER = 7
    INTERRUPTED = 130


MEANINGS: dict[Exit, str] = {
    Exit.OK: "it did what was asked; `run`, `top` and `simulator`, which go on until Ctrl-C, were "
    "ended by it, or by SIGTERM",
    Exit.FAILED: "it could not do what was asked, the engine refused it, or its output could not "
    "be written; the message says why",
    Exit.USAGE: "the command or the fleet file is wrong; nothing was done",
    Exit.ORPHANS: "`orphans` only: there are orphans that somebody should look at",
    Exit.HELD: "another engine runs on this store",
    Exit.NOT_TAKEN: "the request is recorded, but no engine has taken it yet",
    Exit.STORE: "the store cannot be used: damaged, too new, lost, locked or full",
    Exit.PROVIDER: "the provider could not be asked: credentials, permissions or the network; of "
    "`orphans` also that not all of it is observed, so that there may be orphans",
    Exit.INTERRUPTED: "it was interrupted (Ctrl-C, SIGTERM or SIGHUP) before it was done; a "
    "request that was recorded by then is carried out all the same",
}

HINTS: dict[Remedy, str] = {
    Remedy.LIST_MACHINES: "`hostler status FILE` lists the machines",
    Remedy.LIST_HOSTS: "`hostler pool FILE list --online` lists the hosts",
    Remedy.LIST_ORPHANS: "`hostler orphans FILE` lists them with their owners",
    Remedy.SHOW_HISTORY: "`hostler history FILE MACHINE` shows what happened to it",
    Remedy.RETIRE_HOST: "`hostler pool FILE retire HOST` retires it",
    Remedy.GIVE_REASON: "add --why, as in --why 'its fan is broken'",
    Remedy.NAME_FLEET: "add --fleet NAME",
    Remedy.NAME_INSTALLATION: "add --from INSTALLATION",
}


def exit_of(error: HostlerError) -> Exit:
    """Return the code that an error ends with."""
    match error:
        case ConfigError() | UsageError() | RequestRefused():
            return Exit.USAGE
        case StoreHeld():
            return Exit.HELD
        case StoreError():
            return Exit.STORE
        case ProviderError():
            return Exit.PROVIDER
        case _:
            return Exit.FAILED
