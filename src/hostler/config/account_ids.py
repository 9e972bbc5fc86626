"""Account ids: what a file's accounts are outside, so that no fleet is taken to another one."""

from collections.abc import Mapping

from msgspec.structs import replace

from hostler.ports.kind import IdentifiesAccounts

from .load import Kinds
from .values import AccountConfig, Config


def identified(config: Config, kinds: Kinds, environment: Mapping[str, str]) -> Config:
    """Return the file's values with the ids of its accounts, each fleet with that of its own."""
    ids = {account.name: _id(account, kinds, environment) for account in config.accounts}
    fleets = (replace(fleet, account_id=ids.get(fleet.account, "")) for fleet in config.fleets)
    return replace(config, fleets=tuple(fleets), account_ids=ids)


def _id(account: AccountConfig, kinds: Kinds, environment: Mapping[str, str]) -> str:
    """Return the kind and what it says; the kind alone where its accounts have no id."""
    kind = kinds[account.kind]()
    if not isinstance(kind, IdentifiesAccounts):
        return account.kind
    found = kind.account_id(account.settings, environment)
    return f"{account.kind} {found}" if found else ""
