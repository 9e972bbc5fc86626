"""Adopting: whose parts stand under a fleet's name, and is the wish to take them over meant so?"""

from collections.abc import Iterable

from hostler.domain.errors import WishRefused
from hostler.domain.ids import FleetName, InstallationId
from hostler.domain.model.snapshot import Suspect, SuspectClass


def check_source(
    suspects: Iterable[Suspect], fleet: FleetName, source: InstallationId | None
) -> None:
    """Raise WishRefused where the ledger shows that this adoption would take nothing over.

    An empty ledger proves nothing: an engine may not have looked yet.
    """
    mine = [suspect for suspect in suspects if suspect.fleet == fleet]
    foreign = sorted({str(s.installation) for s in mine if s.cls is SuspectClass.FOREIGN})
    if source is None and foreign and len(foreign) == len({s.installation for s in mine}):
        raise WishRefused(
            f"every part under the name of fleet {fleet} carries the mark of another installation "
            f"({', '.join(foreign)}): say which one is yours, as in --from {foreign[0]}"
        )
    if source is not None and mine and str(source) not in foreign:
        shown = ", ".join(foreign) or "none"
        raise WishRefused(
            f"no part under the name of fleet {fleet} carries the mark of {source}; other "
            f"installations whose marks were seen: {shown} (hostler leaks shows them as owners)"
        )
