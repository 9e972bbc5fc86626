"""Collector: Python's collector of garbage, and how seldom it runs in our processes."""

import gc


def collect_seldom() -> None:
    """Let the collector run less, and pass over all that there is by now.

    Its full passes cost a third of a large fleet's observation, a third of reading its records, and
    a tenth of importing a command. Records and resources are trees, which go when nobody has them;
    only cycles wait for the collector.
    """
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)


def collect_left() -> None:
    """Collect what an engine that ended left behind, before `collect_seldom` passes over that too.

    An engine and its parts know each other: passed over once, its records would stay for ever.
    """
    gc.unfreeze()
    gc.collect()
