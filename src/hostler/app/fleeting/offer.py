"""Offering: what the plugin serves: the runner's own schema, on a group that is made meanwhile.

Imported after the handshake; the engine is imported later still, in a thread.
"""

import os
from collections.abc import Mapping
from pathlib import Path

from hostler.frontends.fleeting.goplugin.logging.hostlog import HostLog, Now
from hostler.frontends.fleeting.goplugin.offer import Offer
from hostler.frontends.fleeting.group.threaded import Reporting, Spawn, ThreadedGroup
from hostler.frontends.fleeting.schema.learn import learn, usual


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
    from hostler.frontends.fleeting.goplugin.logging.events import send_events

    send_events(log)
    from hostler.frontends.fleeting.group.group import EngineGroup

    from .group import GroupOpener

    return EngineGroup(GroupOpener(environment, Path.cwd()), spawn)
