"""Keys: what a provider may offer beside the provider port: a register of public SSH keys."""

from typing import Protocol, runtime_checkable

from msgspec import Struct


class Registered(Struct, frozen=True, kw_only=True):
    """What became of a public key at the provider, in a sentence.

    `there` says that it is known to be registered now; `well`, that it stands as it was asked for.
    """

    well: bool
    there: bool
    text: str


@runtime_checkable
class RegistersKeys(Protocol):
    """A provider that hands the public keys of a project to its machines.

    A key is recognized by itself, never by its name: `public` is its line, type and key at least.
    Neither method raises for what the outside does: that is reported.
    """

    async def register_key(self, public: str, name: str) -> Registered:
        """Register a key once; one that is there under whatever name is left as it is.

        A name that another key has is left to it: ours then gets one that begins with it.
        """
        ...

    async def release_key(self, public: str, name: str) -> Registered:
        """Take out the key if it was registered under this name, or one that begins with it."""
        ...
