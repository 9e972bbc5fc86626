"""What happens to Macs and their images without a request."""

from random import Random

from hostler.simulators.scaleway.estate import Estate
from hostler.simulators.scaleway.records import Record

from . import ending, lifecycle
from .records import AT_REST, Mac, MacStatus, OsImage


def delete(estate: Estate, record: Record, _spell: float, _rng: Random) -> bool:
    """Delete a Mac, whatever was paid."""
    if not isinstance(record, Mac) or record.ended is not None:
        return False
    ending.vanish(estate, record)
    return True


def rename(estate: Estate, record: Record, _spell: float, rng: Random) -> bool:
    """Give a Mac a name of nobody's, or that of another Mac."""
    if not isinstance(record, Mac) or record.ended is not None:
        return False
    others = [mac.name for mac in estate.macs if mac is not record]
    record.name = rng.choice((f"renamed by hand {rng.randrange(1000)}", *others))
    record.modified = estate.now
    return True


def lock(estate: Estate, record: Record, spell: float, _rng: Random) -> bool:
    """Lock a Mac that is at rest, for a spell."""
    if not isinstance(record, Mac) or record.status not in AT_REST or record.ended is not None:
        return False
    lifecycle.lock(estate, record, spell)
    return True


def break_down(estate: Estate, record: Record, _spell: float, _rng: Random) -> bool:
    """Let a Mac that is ready go into error."""
    if not isinstance(record, Mac) or not idle(record):
        return False
    lifecycle.broken(estate, record)
    return True


def occupy(estate: Estate, record: Record, spell: float, rng: Random) -> bool:
    """Let a Mac that is ready be busy or updating, for a spell."""
    if not isinstance(record, Mac) or not idle(record):
        return False
    lifecycle.enter(estate, record, rng.choice((MacStatus.BUSY, MacStatus.UPDATING)))
    lifecycle.hold(estate, record, spell)
    return True


def idle(mac: Mac) -> bool:
    """Tell if a Mac is ready and there."""
    return mac.status is MacStatus.READY and mac.ended is None


def retire(estate: Estate, record: Record, _spell: float, _rng: Random) -> bool:
    """Retire an image: hosts that run it go on, nobody can install it any more."""
    if not isinstance(record, OsImage) or record.ended is not None:
        return False
    estate.os_images.drop(record, estate.now)
    return True
