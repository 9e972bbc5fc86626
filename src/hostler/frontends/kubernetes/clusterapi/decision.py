"""Decision: what becomes of one HostlerMachine now, from what is known of it. Pure.

One act at a time, and each safe to repeat: the object is looked at again after each. What is asked
of the engine is asked under an id that was written into the object before.
"""

import msgspec

from . import deletion, provision
from .acts import NOTHING, Decision
from .conditions import merged, paused
from .pausing import is_externally_managed, is_paused
from .standing import View


def decide(view: View) -> Decision:
    """Return what is done next about this object."""
    metadata = view.item.metadata
    if is_externally_managed(metadata):
        return NOTHING
    if is_paused(metadata, view.cluster):
        return _paused(view)
    if metadata.deletion_timestamp is not None:
        return deletion.decide(view)
    if view.owner is None or view.cluster is None:
        return NOTHING
    return provision.decide(view)


def _paused(view: View) -> Decision:
    """Return that the object is left alone, and says so."""
    before = view.status
    conditions = merged(before.conditions, (paused(holds=True),), view.now)
    return Decision(status=msgspec.structs.replace(before, conditions=conditions))
