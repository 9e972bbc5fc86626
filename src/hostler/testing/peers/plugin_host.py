"""GoHost: a go-plugin host that launches a plugin as GitLab Runner does, and does as it is told.

The programs are in tests/hosts; each speaks one invented schema, and all answer in the same words.
"""

import json
import os
import select
import signal
import subprocess
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

import msgspec
from msgspec import Struct, field

PATIENCE = 90.0
"""Seconds that a host may take for one answer: a little more than it gives a plugin."""
_NANOSECONDS = 1_000_000_000

T = TypeVar("T")


class HostError(Exception):
    """A call failed; the text and the code are what gRPC gave the host."""

    def __init__(self, text: str, code: str) -> None:
        super().__init__(text)
        self.text = text
        self.code = code


class HostGone(Exception):
    """The host ended, or was silent for too long."""


class Reply(msgspec.Struct, frozen=True, kw_only=True):
    """One answer of the host, as it stands on its line."""

    ok: bool
    ms: float
    error: str = ""
    code: str = ""
    value: msgspec.Raw = msgspec.Raw(b"null")


class Launched(msgspec.Struct, frozen=True, kw_only=True):
    """A plugin runs: the process that was launched, and the app protocol version agreed upon."""

    pid: int
    version: int


class Ended(msgspec.Struct, frozen=True, kw_only=True):
    """How the launched process ended: its exit code, or the signal that it took."""

    exit: int
    signal: str


class Reported(msgspec.Struct, frozen=True, kw_only=True):
    """One instance as Update told it; a state that no schema should have starts with `?`."""

    id: str
    state: str


class Info(msgspec.Struct, frozen=True, kw_only=True):
    """What Init answered; what the schema cannot say is empty."""

    id: str
    max_size: int
    version: str
    build_info: str
    capabilities: tuple[str, ...]


class Reached(msgspec.Struct, frozen=True, kw_only=True):
    """What ConnectInfo answered, durations in nanoseconds."""

    id: str
    os: str
    arch: str
    protocol: str
    protocol_port: int
    username: str
    password: str
    key: str
    use_static_credentials: bool
    keepalive_ns: int
    timeout_ns: int
    external: str
    internal: str
    expires: datetime | None = None


class Storm(msgspec.Struct, frozen=True, kw_only=True):
    """What came of many calls at once: those answered, those that the host itself cut off."""

    answered: int
    cut: int
    errors: dict[str, int]


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """What `bench` measured in one life of a plugin; Ping and Init count from the launch."""

    ping_ms: float
    init_ms: float
    rss_kib: int
    instances: int
    update_first_ms: float
    update_median_ms: float
    update_worst_ms: float
    increase_ms: float
    increased: int
    kill_ms: float


class Launch(Struct, frozen=True, kw_only=True):
    """How a plugin is launched: never with arguments. The environment adds to the host's own."""

    plugin: Path
    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    auto_mtls: bool = False
    multiplex: bool = False
    start_timeout: float = 60.0

    def order(self) -> dict[str, object]:
        """Return what the host reads."""
        added = {**os.environ, **self.environment}
        return {
            "plugin": str(self.plugin),
            "environment": [f"{name}={value}" for name, value in added.items()],
            "auto_mtls": self.auto_mtls,
            "multiplex": self.multiplex,
            "start_timeout_ns": int(self.start_timeout * _NANOSECONDS),
        }


class GoHost:
    """A running host. Use it as a context: at the end it stops its plugin, and is gone.

    What the plugin logs stands in `log`, a JSON object in each line, also after the host is killed.
    """

    def __init__(self, program: Path, log: Path) -> None:
        self._log = log
        self._unread = b""
        with log.open("ab") as errors:
            self._process = subprocess.Popen(  # noqa: S603 - a program of tests/hosts
                [program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, bufsize=0
            )

    def __enter__(self) -> Self:
        """Return the host, which runs since it was made."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End the input, at which a host stops its plugin; kill the host where it does not."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        try:
            self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self.murder()
        self._process.stdout.close()

    @property
    def pid(self) -> int:
        """The host's own process."""
        return self._process.pid

    def murder(self) -> None:
        """End the host by SIGKILL: its plugin learns nothing but that its parent is gone."""
        self._process.send_signal(signal.SIGKILL)
        self._process.wait(timeout=10)

    def launch(self, how: Launch) -> Launched:
        """Launch the plugin and connect to it."""
        return self._ask(Launched, do="launch", launch=how.order())

    def ping(self) -> float:
        """Ask for the plugin's health; return the milliseconds that it took."""
        return self.order(do="ping").ms

    def init(self, config: Mapping[str, object], **settings: object) -> Info:
        """Call Init with a `plugin_config` and what the runner's `connector_config` says."""
        return self._ask(Info, do="init", config=config, settings=settings)

    def update(self) -> tuple[Reported, ...]:
        """Call Update; return every instance told of, in the order told."""
        return self._ask(tuple[Reported, ...], do="update")

    def states(self) -> dict[str, str]:
        """Call Update; return the state of each instance, none of which may be told twice."""
        reports = self.update()
        states = {one.id: one.state for one in reports}
        assert len(states) == len(reports), reports
        return states

    def increase(self, count: int) -> int:
        """Call Increase; return how many were accepted."""
        return self._ask(int, do="increase", count=count)

    def decrease(self, ids: Sequence[str]) -> tuple[str, ...]:
        """Call Decrease; return those accepted."""
        return self._accepted("decrease", ids)

    def suspend(self, ids: Sequence[str]) -> tuple[str, ...]:
        """Call Suspend; return those accepted."""
        return self._accepted("suspend", ids)

    def resume(self, ids: Sequence[str]) -> tuple[str, ...]:
        """Call Resume; return those accepted."""
        return self._accepted("resume", ids)

    def connect_info(self, instance: str) -> Reached:
        """Call ConnectInfo for one instance."""
        return self._ask(Reached, do="connect_info", ids=[instance])

    def heartbeat(self, instance: str) -> None:
        """Call Heartbeat for one instance; HostError if it is not well."""
        self.order(do="heartbeat", ids=[instance])

    def storm(self, callers: int, instance: str, seconds: float) -> Storm:
        """Let many call at once, about one instance, a third of them with too little time."""
        within = int(seconds * _NANOSECONDS)
        return self._ask(Storm, do="storm", count=callers, ids=[instance], within_ns=within)

    def shutdown(self) -> None:
        """Call Shutdown."""
        self.order(do="shutdown")

    def exited(self) -> bool:
        """Tell whether go-plugin has seen the plugin's process end."""
        return self._ask(bool, do="exited")

    def kill(self) -> tuple[Ended, float]:
        """Stop the plugin as go-plugin does; return how it ended, and the milliseconds."""
        reply = self.order(do="kill")
        return msgspec.json.decode(reply.value, type=Ended), reply.ms

    def bench(
        self, how: Launch, config: Mapping[str, object], *, instances: int, updates: int, more: int
    ) -> Measured:
        """Measure one life: Update over so many instances so often, then Increase by `more`."""
        plan = {"instances": instances, "updates": updates, "increase": more}
        order: dict[str, object] = {"launch": how.order(), "config": config, "bench": plan}
        return self._ask(Measured, 600.0, do="bench", **order)

    def logs(self) -> list[dict[str, Any]]:
        """Return what the host logged until now: its own lines, and those of its plugin."""
        return [json.loads(line) for line in self._log.read_text().splitlines() if line]

    def order(self, patience: float = PATIENCE, **order: object) -> Reply:
        """Give one order and return the answer; HostError if that is an error."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(order).encode() + b"\n")
        except BrokenPipeError as error:
            raise HostGone(self._last_words()) from error
        reply = msgspec.json.decode(self._line(patience), type=Reply)
        if not reply.ok:
            raise HostError(reply.error, reply.code)
        return reply

    def _ask(self, kind: type[T], patience: float = PATIENCE, /, **order: object) -> T:
        return msgspec.json.decode(self.order(patience, **order).value, type=kind)

    def _accepted(self, do: str, ids: Sequence[str]) -> tuple[str, ...]:
        return self._ask(tuple[str, ...], do=do, ids=list(ids))

    def _line(self, patience: float) -> bytes:
        assert self._process.stdout is not None
        while b"\n" not in self._unread:
            if not select.select([self._process.stdout], [], [], patience)[0]:
                raise HostGone(f"no answer in {patience:g} s; {self._last_words()}")
            more = os.read(self._process.stdout.fileno(), 1 << 20)
            if not more:
                raise HostGone(self._last_words())
            self._unread += more
        line, _, self._unread = self._unread.partition(b"\n")
        return line

    def _last_words(self) -> str:
        return f"the host's last lines: {self._log.read_text()[-3000:]}"
