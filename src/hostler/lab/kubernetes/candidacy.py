"""Candidacy: whether a process was elected to write on objects, in each of its runs."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from random import Random

from hostler.frontends.kubernetes.leading import ALONE, Election, elected
from hostler.kubernetes.client import Client
from hostler.kubernetes.election import Candidate
from hostler.lab.harness.process import Incarnation, Process

_NOBODYS = Election(leads=lambda: False, yields=lambda: False)
"""The election as it stands to a process that has not asked yet."""


@dataclass(slots=True)
class Candidacy:
    """A process's; its engine leaves to another one what that one was elected for."""

    process: Process
    namespace: str
    election: Election = _NOBODYS

    def __post_init__(self) -> None:
        """Have the engine of the process ask here."""
        self.process.yields = self._is_to_yield

    def _is_to_yield(self) -> bool:
        return self.election.yields()

    @property
    def is_leading(self) -> bool:
        """Whether the run that lives believes that it was elected, and could act on it."""
        return self.process.alive and self.election.leads()

    @asynccontextmanager
    async def stands(
        self, run: Incarnation, client: Client, random: Random
    ) -> AsyncGenerator[Election]:
        """Give a run's election while the block lasts; a process that is alone needs none."""
        self.election = _NOBODYS
        if self.process.home.replicas == 1:
            self.election = ALONE
            yield ALONE
            return
        candidate = Candidate(identity=run.process.name, namespace=self.namespace)
        clock, draw = run.ports.clock, Random(random.getrandbits(64)).random
        async with elected(client, candidate, clock, draw) as self.election:
            yield self.election
