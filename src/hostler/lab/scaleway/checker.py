"""What a checker makes of the requests that the simulated Scaleway was asked."""

import re
from abc import abstractmethod

from hostler.domain.model.calls import Outcome
from hostler.lab.checks.checker import S1_BOUND, Checker
from hostler.lab.checks.shadow_store import ShadowStore
from hostler.lab.checks.trace import Trace
from hostler.lab.harness.watched import ANSWERS
from hostler.ports.http import HttpRequest
from hostler.simulators.scaleway.state.ledger import Line

from .listings import Pages
from .world import ScalewayWorld, note_request

_HIDE = frozenset({"empty_list", "list_without_newest", "truncated_page", "pages_shuffled"})
THING = re.compile(r"/(servers|ips|volumes)(?:/([0-9a-f-]{36}))?")


class ScalewayChecker(Checker):
    """All checkers of one run of engines at the simulated Scaleway."""

    def __init__(
        self,
        world: ScalewayWorld,
        trace: Trace,
        consistency_delay: float,
        bound: float = S1_BOUND,
    ) -> None:
        super().__init__(world, trace, consistency_delay, bound)
        self.world = world
        self.pages = Pages(self.known_counts.listings)
        world.observer = self

    @abstractmethod
    def asked(self, shadow: ShadowStore, request: HttpRequest, *, holds_lease: bool) -> None:
        """Check a request at its beginning."""

    @abstractmethod
    def counted(self, process: str, request: HttpRequest) -> None:
        """Check, at its beginning, that a process knows the count that a request rests on (S3)."""

    def answered(self, request: HttpRequest, source: str, line: Line) -> None:
        """Note what became of a request in the world; count the faults that took effect."""
        if request.method != "GET":
            note_answer(request.method, line.status)
            self.changed = True
            self.calls_at_rest.append(line.key)
        elif self.resting and not line.key.endswith(".list") and self._is_tagged(request):
            self.calls_at_rest.append(line.key)
        hides = bool(_HIDE.intersection(note_request(self, request, source, line)))
        if hides or line.key.endswith(".list"):
            self.was_listed(request.path, hides=hides)

    def judged(self, outcome: Outcome) -> str:
        """Return what came of a call: what the world did not refuse is unsure, whoever says so."""
        word, answers = super().judged(outcome), ANSWERS.get()
        if word == "refused" and answers and not is_refusal(*answers[-1]):
            return "unknown"
        return word

    def _is_tagged(self, request: HttpRequest) -> bool:
        """What lost its tags by hand can only be seen by its id: that is no call too many."""
        match = THING.search(request.path)
        things = {thing.id.partition("@")[0]: thing.owner_tag for thing, _ in self.things()}
        return match is None or match[2] is None or things.get(match[2]) is not None


def note_answer(method: str, status: int) -> None:
    """Note how the world answered a change, for the call that asked for it; nobody's apart."""
    answers = ANSWERS.get()
    if answers is not None:
        answers.append((method, status))


def is_refusal(method: str, status: int) -> bool:
    """Tell whether a change that was answered so leaves nothing unsure.

    Refused, it has no effect. A PATCH that was answered has had its own, and prepares what was
    asked for: a Mac is let into private networks before it is attached to one.
    """
    return 400 <= status < 500 or (method == "PATCH" and 200 <= status < 300)
