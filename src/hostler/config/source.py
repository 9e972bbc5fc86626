"""Source: the bytes of a fleet file, and the TOML in them; whatever the file turns out to be."""

import tomllib
from pathlib import Path

from hostler.domain.errors import ConfigError
from hostler.ports.files import FOLDER, other_than_file

from .decode import Raw

LARGEST = 1_000_000
"""A fleet file has fewer bytes than this."""


def read_toml(path: Path) -> Raw:
    """Return the tables of a file; ConfigError says why there are none.

    The byte order mark that some editors put before UTF-8 text is passed over.
    """
    return _parse(path, _read(path))


def _read(path: Path) -> bytes:
    try:
        _require_file(path)
        with path.open("rb") as file:
            content = file.read(LARGEST + 1)
    except FileNotFoundError as error:
        raise ConfigError(f"{path}: there is no such file") from error
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise ConfigError(f"{str(path)!r} cannot be the name of a file") from error
    if len(content) > LARGEST:
        raise ConfigError(f"{path}: larger than {LARGEST:,} bytes; this is no fleet file")
    return content


def _require_file(path: Path) -> None:
    """Raise ConfigError where a path is no file: to open a pipe waits for its writer."""
    what = other_than_file(path)
    if what == FOLDER:
        raise ConfigError(f"{path} is a directory; name the fleet file in it")
    if what:
        raise ConfigError(f"{path} is {what} and no file; /dev/stdin reads what is piped in")


def _parse(path: Path, content: bytes) -> Raw:
    try:
        return tomllib.loads(content.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: not UTF-8 text (at byte {error.start})") from error
    except RecursionError as error:
        raise ConfigError(f"{path}: nested too deeply for a fleet file") from error
    except ValueError as error:
        raise ConfigError(f"{path}: not valid TOML: {error}") from error
