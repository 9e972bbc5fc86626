"""Beside: the file beside the objects of a cluster, at the start and whenever it is read again."""

from collections.abc import Callable, Mapping
from pathlib import Path

from hostler.app.lending import Own, own_in
from hostler.app.provider_registry import KINDS
from hostler.app.store_registry import STORES
from hostler.config.decode import Raw
from hostler.config.frontends import allowed
from hostler.config.load import Reading
from hostler.config.source import read_toml
from hostler.config.values import Config, WrongFile
from hostler.domain.errors import ConfigError
from hostler.frontends.cli.context import ClusterOptions
from hostler.frontends.kubernetes.fleets.judging import Base
from hostler.frontends.kubernetes.fleets.source import Source
from hostler.stores.kubernetes.opening import ClusterPlace


def base_of(options: ClusterOptions, namespace: str, environment: Mapping[str, str]) -> Base:
    """Return the file beside the objects; where none is named, one that says where records are.

    Those are in the cluster too, or in SQLite in the folder that `--state` names.
    """
    if options.file is not None:
        return base_of_file(options.file)
    folder = options.state or _state_folder(environment)
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        text = f"{folder} cannot be made: {error.strerror}; name another --state"
        raise ConfigError(text) from error
    raw: Raw = {} if options.state is not None else {"store": _records(options, namespace)}
    return Base(path=folder / f"{namespace}.toml", raw=raw, kinds=KINDS, stores=STORES)


def base_of_file(path: Path) -> Base:
    """Return the file at a path. ConfigError where it cannot be read."""
    raw = read_toml(path)
    return Base(path=path, raw=raw, kinds=KINDS, stores=STORES, allow=allowed(raw), written=True)


def _records(options: ClusterOptions, namespace: str) -> str:
    """Return the store that is the cluster itself, in the namespace whose objects are run."""
    kubeconfig = options.kubeconfig.resolve() if options.kubeconfig is not None else ""
    place = ClusterPlace(
        namespace=namespace, context=options.context or "", kubeconfig=str(kubeconfig)
    )
    return f"kubernetes:{place}"


def _state_folder(environment: Mapping[str, str]) -> Path:
    state = environment.get("XDG_STATE_HOME")
    home = Path(environment.get("HOME", "/var/lib"))
    return (Path(state) if state else home / ".local" / "state") / "hostler"


class Beside:
    """The file beside objects, read again on demand. Implements `engine_process.Reads`."""

    def __init__(self, base: Base, source: Source, lend: Callable[[Own], None]) -> None:
        """Begin with the file as it was read; `lend` hears what stands in each later one."""
        self._base, self._source, self._lend = base, source, lend
        self._undo: tuple[Callable[[], None], Base] | None = None

    async def read(self, *, file: bool) -> Config:
        """Return what is in force, after the file was read anew."""
        self._undo = None
        if file and self._base.written:
            base = base_of_file(self._base.path)
            alone(base)
            self._undo = (await self._source.take(base), self._base)
            self._take(base)
        return self._source.config()

    def refuse(self) -> None:
        """Go on with the file of before; what the objects say is tried again before long."""
        self._source.tell_again()
        if self._undo is not None:
            undo, base = self._undo
            undo()
            self._take(base)
            self._undo = None

    async def began(self, config: Config) -> None:
        """Remove what Secrets were before, which an engine used that has ended."""
        await self._source.forget_secrets(config)

    def objects(self) -> tuple[str, ...]:
        """Return the paths of the tables that are objects."""
        return self._source.paths()

    def home(self) -> str:
        """Return the namespace whose objects have their own names."""
        return self._source.namespaces.home

    def _take(self, base: Base) -> None:
        self._base = base
        self._lend(own_in(base.raw))


def alone(base: Base) -> Config:
    """Return what the file says without any object; WrongFile has all that is wrong with it."""
    reading = Reading(path=base.path, kinds=base.kinds, stores=base.stores, partial=True)
    config = reading.read(base.raw)
    if config is None or reading.faults.found:
        raise WrongFile(base.path, tuple(dict.fromkeys(reading.faults.found)))
    return config
