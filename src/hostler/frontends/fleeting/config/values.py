"""Values: a group once its `plugin_config` is read and found right."""

from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from hostler.config.values import AccountConfig, Config
from hostler.domain.ids import FleetName, InstallationId
from hostler.domain.model.fleet import Fleet
from hostler.frontends.fleeting.ssh_key import KeyPair


class GroupConfig(Struct, frozen=True, kw_only=True):
    """All that a group is made of. Nothing in here shows a secret in its repr.

    `config` is the fleet file that was written into the folder `state`, with one account and one
    fleet of size 0; `environment` is what its account is to be opened with (the secret key is in
    it); `adopt` are installations whose tags are to become ours; `warnings` are for the log.
    """

    config: Config
    state: Path
    environment: Mapping[str, str]
    key: KeyPair
    user: str
    max_size: int
    organization: str = ""
    adopt: tuple[InstallationId, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def fleet(self) -> Fleet:
        """The group as a fleet."""
        return self.config.fleets[0]

    @property
    def name(self) -> FleetName:
        """The group's name."""
        return self.fleet.name

    @property
    def account(self) -> AccountConfig:
        """Where its instances are bought."""
        return self.config.accounts[0]
