"""Options of the modelled runner, with the defaults of reference/fleeting.md 3.5."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class RunnerOptions:
    """What `[runners.autoscaler]` says; spans are seconds.

    `removes_stopped`: an instance that is told to be stopped is marked for removal, as the draft
    for such a state has it; otherwise the runner leaves it alone.
    """

    max_instances: int = 5
    capacity_per_instance: int = 1
    max_use_count: int = 0
    idle_count: int = 0
    idle_time: float = 300.0
    update_interval: float = 60.0
    expecting_interval: float = 2.0
    deletion_retry: float = 60.0
    acquire_timeout: float = 900.0
    failure_threshold: int = 3
    heartbeats: bool = False
    state_storage: bool = False
    removes_stopped: bool = True
    forgotten_after: int = 5
