"""Adopting: whose parts stand under a fleet's name, and is the wish to take them over meant so?"""

from collections.abc import Iterable

from hostler.domain.errors import RequestRefused
from hostler.domain.ids import FleetName, InstallationId
from hostler.domain.model.snapshot import Orphan, OrphanClass


def check_source(
    orphans: Iterable[Orphan], fleet: FleetName, source: InstallationId | None
) -> None:
    """Raise WishRefused where the ledger shows that this adoption would take nothing over.

    An empty ledger proves nothing: an engine may not have looked yet.
    """
    mine = [orphan for orphan in orphans if orphan.fleet == fleet]
    foreign = sorted({str(s.installation) for s in mine if s.cls is OrphanClass.FOREIGN})
    if source is None and foreign and len(foreign) == len({s.installation for s in mine}):
        raise RequestRefused(
            f"every part under the name of fleet {fleet} carries the mark of another installation "
            f"({', '.join(foreign)}): say which one is yours, as in --from {foreign[0]}"
        )
    if source is not None and mine and str(source) not in foreign:
        shown = ", ".join(foreign) or "none"
        raise RequestRefused(
            f"no part under the name of fleet {fleet} carries the mark of {source}; other "
            f"installations whose marks were seen: {shown} (hostler orphans shows them as owners)"
        )
