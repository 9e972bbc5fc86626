"""Tables: the fleet file as msgspec Structs; the descriptions are the reference of settings."""

from datetime import timedelta
from typing import Annotated

from msgspec import Meta, Struct

from hostler.domain.model.fleet import Caps, OnRemove, ProbeKind, Timers
from hostler.ports.kind import LOCAL, POSITIVE

from .node_tables import LISTEN, NodeTable

_TIMERS = Timers()
_CAPS = Caps()
_S = timedelta(seconds=1)

Port = Annotated[int, Meta(ge=1, le=65535)]
Count = Annotated[int, Meta(ge=1, le=100_000)]
Positive = Annotated[timedelta, Meta(extra=POSITIVE)]


class ReadyTable(Struct, frozen=True, kw_only=True):
    """How it is known that a server that is up is also usable."""

    probe: Annotated[
        ProbeKind,
        Meta(
            description="`api`: up is enough; `tcp`: a port accepts a connection; `command`: a "
            "local command exits with 0; `ssh`: a login succeeds; `node`: its cluster says that "
            "its Node is ready (needs `node.managed`)"
        ),
    ]
    port: Annotated[
        Port | None,
        Meta(description="the port of `tcp` and `ssh`; left out: the machine's own, mostly 22"),
    ] = None
    command: Annotated[
        tuple[str, ...],
        Meta(
            description="the program and its arguments, run without a shell with HOSTLER_ADDRESS, "
            "HOSTLER_PORT and HOSTLER_MACHINE set, and no more of our environment than PATH, HOME, "
            "the user's name, language and time zone: no secrets; one that is not done in time is "
            "killed",
            extra=LOCAL,
        ),
    ] = ()
    timeout: Annotated[Positive, Meta(description="how long one probe may take")] = 5 * _S
    user: Annotated[
        Annotated[str, Meta(min_length=1)] | None,
        Meta(description="the login of `ssh`; left out: the machine's own"),
    ] = None
    key: Annotated[
        Annotated[str, Meta(min_length=1)] | None,
        Meta(
            description="the file of the private key for `ssh`, without a passphrase, seen from "
            "the fleet file; left out: the provider's, or what the SSH agent and ~/.ssh offer"
        ),
    ] = None
    commands: Annotated[
        tuple[Annotated[str, Meta(min_length=1, max_length=20_000)], ...],
        Meta(
            description="of hosts that outlive their machines (Macs), with `ssh`: shell commands "
            "that bring a host to its configuration before it is ready; each must be idempotent, "
            "and none may hold a secret (see the guide)"
        ),
    ] = ()
    broken_on: Annotated[
        int,
        Meta(
            ge=1,
            le=1000,
            description="on how many hosts `commands` must fail, and work on none, to be held to "
            "be at fault themselves: then no host is blamed, and none is claimed",
        ),
    ] = 2
    busy: Annotated[
        str,
        Meta(
            max_length=20_000,
            description="of such hosts, with `ssh`: a shell command that tells whether something "
            "runs there, asked before a ready machine ends, goes into standby or is "
            "brought to a changed script: 0 is busy, 1 is free, anything else is not known; it "
            "is waited for as long as `timers.drain` says (see the guide)",
        ),
    ] = ""


class TimersTable(Struct, frozen=True, kw_only=True):
    """How long things may take."""

    admit: Annotated[
        Positive, Meta(description="bound of *pending*: nothing could be asked of the provider")
    ] = _TIMERS.admit
    start: Annotated[
        Positive, Meta(description="bound of *starting*, over all tries; then *failed*")
    ] = _TIMERS.start
    stop: Annotated[
        Positive, Meta(description="bound of *stopping*; then alarm, and the `stuck` allowance")
    ] = _TIMERS.stop
    drain: Annotated[
        timedelta, Meta(description="bound of *draining*: the wait for what runs on it")
    ] = _TIMERS.drain
    keep_failed: Annotated[
        timedelta, Meta(description="how long a *failed* machine stays, as evidence")
    ] = _TIMERS.keep_failed
    max_age: Annotated[
        Positive | None, Meta(description="greatest age of a ready machine; then it is replaced")
    ] = _TIMERS.max_age
    absence_gap: Annotated[
        timedelta,
        Meta(description="least time between the two observations that confirm an absence"),
    ] = _TIMERS.absence_gap
    observation_limit: Annotated[
        Positive, Meta(description="how old an observation may be that a destructive act rests on")
    ] = _TIMERS.observation_limit
    grace: Annotated[
        timedelta, Meta(description="least age of an orphan before it is reclaimed")
    ] = _TIMERS.grace
    sighting_gap: Annotated[
        timedelta, Meta(description="least time between the two sightings of an orphan")
    ] = _TIMERS.sighting_gap
    stock_memory: Annotated[
        timedelta, Meta(description="how long a type that was out of stock in a zone is passed by")
    ] = _TIMERS.stock_memory
    wave_window: Annotated[
        Positive, Meta(description="the window in which losses count as one wave")
    ] = _TIMERS.wave_window
    probe_every: Annotated[Positive, Meta(description="time between two readiness probes")] = (
        _TIMERS.probe_every
    )
    longest_protection: Annotated[
        Positive, Meta(description="the longest protection that may be asked for")
    ] = _TIMERS.longest_protection
    tries: Annotated[
        tuple[Positive, ...],
        Meta(min_length=1, description="waits between tries; the last one repeats"),
    ] = _TIMERS.tries


class CapsTable(Struct, frozen=True, kw_only=True):
    """Limits on what nobody asked for; they can be set, and cannot be switched off."""

    per_reclaim: Annotated[
        int, Meta(ge=1, le=1000, description="destroyed in one cycle at most")
    ] = _CAPS.per_reclaim
    per_hour: Annotated[int, Meta(ge=1, le=10_000, description="destroyed in an hour at most")] = (
        _CAPS.per_hour
    )
    share: Annotated[
        float,
        Meta(
            ge=0.001,
            le=1,
            description="share of the fleet, but at least one machine, that may "
            "be destroyed in `share_window`",
        ),
    ] = _CAPS.share
    share_window: Annotated[Positive, Meta(description="the window of `share`")] = (
        _CAPS.share_window
    )
    creates: Annotated[
        Annotated[int, Meta(ge=1, le=100_000)] | None,
        Meta(
            description="creation attempts in an hour at most, whatever fails; left out: 6 × "
            "size, at least 30"
        ),
    ] = _CAPS.creates
    stuck: Annotated[
        int,
        Meta(ge=0, le=1000, description="machines stuck in their end that are over the maximum"),
    ] = _CAPS.stuck


class FleetTable(Struct, frozen=True, kw_only=True):
    """What is asked for; the rest of a [fleet.NAME] table belongs to the kind of provider."""

    size: Annotated[int, Meta(ge=0, le=100_000, description="how many machines are to be ready")]
    provider: Annotated[
        str | None,
        Meta(description="the [provider.NAME] that it is bought from; left out: the only one"),
    ] = None
    maximum: Annotated[
        Annotated[int, Meta(ge=0, le=200_000)] | None,
        Meta(
            description="machines of all phases at most; left out: size + half of it, at least 5 "
            "more"
        ),
    ] = None
    surge: Annotated[
        int, Meta(ge=0, le=1000, description="machines over the size while others are replaced")
    ] = 1
    ready: Annotated[
        ReadyTable | None, Meta(description="the readiness probe; left out: up is enough")
    ] = None
    reclaim: Annotated[
        bool | None,
        Meta(
            description="remove orphans with our owner tag, and end machines that nobody asks for "
            "any more; false: only report them; left out: as `reclaim` at the top says"
        ),
    ] = None
    protected: Annotated[
        bool, Meta(description="nothing of this fleet is ended, repaired or replaced")
    ] = False
    renews: Annotated[
        bool,
        Meta(
            description="make up for machines that are lost or too many, up to the size; false: "
            "a frontend (GitLab Runner's) asks for each machine, and `size` is 0"
        ),
    ] = True
    on_remove: Annotated[
        OnRemove,
        Meta(
            description="what becomes of its machines when this table is taken out of the file: "
            "`keep`: they stay as they are, paused, shown everywhere with their cost, until "
            "somebody ends them or puts the table back; `end`: they end as if each was deleted"
        ),
    ] = OnRemove.KEEP
    replace_outdated: Annotated[
        bool,
        Meta(
            description="replace machines that were made from another template, or are of a type "
            "or in a zone that the fleet no longer names"
        ),
    ] = False
    timers: TimersTable = TimersTable()
    caps: CapsTable = CapsTable()
    node: NodeTable | None = None


class ProviderTable(Struct, frozen=True, kw_only=True):
    """An account; the rest of a [provider.NAME] table belongs to its kind."""

    kind: Annotated[
        str | None, Meta(description="the kind of provider; left out: the table's own name")
    ] = None
    rate: Annotated[
        float, Meta(ge=0.01, le=10_000, description="calls a second, in the long run")
    ] = 10.0
    burst: Annotated[int, Meta(ge=1, le=10_000, description="calls that may be made at once")] = 20


class EngineTable(Struct, frozen=True, kw_only=True):
    """How the engine goes about its cycles."""

    lease_ttl: Annotated[
        Positive, Meta(description="how long a lease is good without being renewed")
    ] = 60 * _S
    lease_beat: Annotated[Positive, Meta(description="how often leases are renewed")] = 15 * _S
    quiet: Annotated[
        Positive,
        Meta(description="time between observations when nothing is expected, and none failed"),
    ] = 30 * _S
    busy_first: Annotated[
        Positive,
        Meta(
            description="time to the next one when something is expected, or one failed; it grows"
        ),
    ] = 2 * _S
    busy_last: Annotated[Positive, Meta(description="the longest that it grows to")] = 15 * _S
    rare: Annotated[
        Positive,
        Meta(description="time between lists of addresses and volumes while something is expected"),
    ] = 15 * _S
    poll: Annotated[
        Positive, Meta(description="how often the store is asked whether a request was written")
    ] = timedelta(milliseconds=400)
    remember: Annotated[
        Positive,
        Meta(
            description="how long events, and machines that are deleted, are kept, at least `1d`; "
            "a machine that lives keeps its newest record however old"
        ),
    ] = timedelta(days=90)


class MetricsTable(Struct, frozen=True, kw_only=True):
    """Where metrics and health are served."""

    listen: Annotated[
        str,
        LISTEN,
        Meta(description="address and port for /metrics, /healthz and /readyz; port 0: any"),
    ]


class TopTable(Struct, frozen=True, kw_only=True):
    """The keys at the top of the file that are no tables."""

    store: Annotated[
        Annotated[str, Meta(min_length=1)] | None,
        Meta(
            description="where the records are kept, as a URL: `sqlite:FILE`, seen from the fleet "
            "file, or `sqlite:///FOLDER/FILE`; `kubernetes:NAMESPACE/NAME` is in a cluster; "
            "`memory:` keeps nothing (for trials); left out: a SQLite file beside the fleet file, "
            "with the ending .db",
            extra={"expected": 'a URL, such as "sqlite:web.db"'},
        ),
    ] = None
    reclaim: Annotated[
        bool, Meta(description="what fleets do about orphans that do not say it themselves")
    ] = False
