"""Offering: what the plugin serves: the runner's own schema, on a group that is made meanwhile.

Imported after the handshake; the engine is imported later still, in a thread.
"""

import os
from collections.abc import Mapping
from pathlib import Path

from hostler.doors.fleeting.goplugin.hostlog import HostLog, Now
from hostler.doors.fleeting.goplugin.offer import Offer
from hostler.doors.fleeting.late import Closing, LateGroup
from hostler.doors.fleeting.schema.around import usual
from hostler.doors.fleeting.schema.learn import learn


def offer(log: HostLog, environment: Mapping[str, str], now: Now) -> Offer:
    """Learn the schema, say so in the log, and offer its methods."""
    learnt = learn(usual(environment, pid=os.getpid(), root=os.geteuid() == 0, now=now))
    for line in learnt.log:
        log.event(line.level, line.text)
    group = LateGroup(lambda: engine_group(log, environment))
    methods = learnt.methods(group)
    return Offer(methods=methods, refusal=learnt.refusal, warm=group.warm, end=group.close)


def engine_group(log: HostLog, environment: Mapping[str, str]) -> Closing:
    """Return the group on its engine, in a thread of its own, with its events in the host's log."""
    from hostler.doors.fleeting.goplugin.events import send_events

    send_events(log)
    from hostler.doors.fleeting.group import EngineGroup
    from hostler.doors.fleeting.threaded import ThreadedGroup

    from .grouped import GroupOpener

    opener = GroupOpener(environment, Path.cwd())
    return ThreadedGroup(lambda spawn: EngineGroup(opener, spawn))
