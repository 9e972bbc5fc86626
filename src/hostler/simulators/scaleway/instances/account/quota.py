"""Quotas as IAM lists them: those that are set, under the names that refusals give them."""

from hostler.simulators.scaleway.api.pages import NEWER, page_of
from hostler.simulators.scaleway.api.route import Route
from hostler.simulators.scaleway.state import errors
from hostler.simulators.scaleway.state.calls import Answer, Call
from hostler.simulators.scaleway.state.catalogue import quota_name
from hostler.simulators.scaleway.state.inventory import Estate
from hostler.simulators.scaleway.state.mac_catalogue import TYPES, mac_quota_name

PATH = "/iam/v1alpha1/quota"


def list_all(estate: Estate, call: Call) -> Answer:
    """List the quotas of the key's organisation."""
    organization = call.text("organization_id")
    if not organization:
        raise errors.invalid(("organization_id", "required", ""))
    if organization != call.organization:
        raise errors.forbidden("read", "organization")
    quotas = sorted(estate.options.quotas.items())
    return page_of(estate, call, quotas, quotum_body, NEWER.of("quota"))


def quotum_body(quotum: tuple[str, int]) -> dict[str, object]:
    """Return the body of a quota: a limit of the whole organisation, as it is counted here."""
    key, limit = quotum
    return {
        "name": mac_quota_name(key) if key in TYPES else quota_name(key),
        "limit": limit,
        "locality_type": "global",
        "limits": [{"global": True, "limit": limit}],
    }


ROUTES = (Route("quota.list", "GET", PATH, list_all),)
