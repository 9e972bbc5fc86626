"""Offering: what the plugin serves: the runner's own schema, on a group that is made meanwhile.

Imported after the handshake; the engine is imported later still, in a thread.
"""

import os
from collections.abc import Mapping
from pathlib import Path

from hostler.doors.fleeting.goplugin.hostlog import HostLog, Now
from hostler.doors.fleeting.goplugin.offer import Offer
from hostler.doors.fleeting.schema.around import usual
from hostler.doors.fleeting.schema.learn import learn
from hostler.doors.fleeting.threaded import Reporting, Spawn, ThreadedGroup


def offer(log: HostLog, environment: Mapping[str, str], now: Now) -> Offer:
    """Learn the schema, say so in the log, and offer its methods."""
    learnt = learn(usual(environment, pid=os.getpid(), root=os.geteuid() == 0, now=now))
    for line in learnt.log:
        log.event(line.level, line.text)
    group = ThreadedGroup(lambda spawn: engine_group(log, environment, spawn))
    methods = learnt.methods(group)
    return Offer(methods=methods, refusal=learnt.refusal, warm=group.warm, end=group.close)


def engine_group(log: HostLog, environment: Mapping[str, str], spawn: Spawn) -> Reporting:
    """Return the group on its engine, with its events in the host's log."""
    from hostler.doors.fleeting.goplugin.events import send_events

    send_events(log)
    from hostler.doors.fleeting.group import EngineGroup

    from .grouped import GroupOpener

    return EngineGroup(GroupOpener(environment, Path.cwd()), spawn)
