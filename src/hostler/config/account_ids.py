"""Account ids: what a file's accounts and hosts are outside, whatever it calls them."""

from collections.abc import Mapping

from msgspec.structs import replace

from hostler.domain.ids import AccountName
from hostler.ports.kind import IdentifiesAccounts, TellsAddresses

from .load import Kinds
from .values import AccountConfig, Config


def identified(config: Config, kinds: Kinds, environment: Mapping[str, str]) -> Config:
    """Return the file's values with the ids of its accounts, each fleet with that of its own.

    And with the addresses of their hosts.
    """
    ids = {account.name: _id(account, kinds, environment) for account in config.accounts}
    fleets = (replace(fleet, account_id=ids.get(fleet.account, "")) for fleet in config.fleets)
    return replace(
        config, fleets=tuple(fleets), account_ids=ids, host_addresses=_addresses(config, kinds)
    )


def _addresses(config: Config, kinds: Kinds) -> dict[AccountName, Mapping[str, str]]:
    opened = ((account, kinds[account.kind]()) for account in config.accounts)
    return {
        account.name: kind.host_addresses(account.settings)
        for account, kind in opened
        if isinstance(kind, TellsAddresses)
    }


def _id(account: AccountConfig, kinds: Kinds, environment: Mapping[str, str]) -> str:
    """Return the kind and what it says; the kind alone where its accounts have no id."""
    kind = kinds[account.kind]()
    if not isinstance(kind, IdentifiesAccounts):
        return account.kind
    found = kind.account_id(account.settings, environment)
    return f"{account.kind} {found}" if found else ""
