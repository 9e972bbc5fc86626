"""Events: what the server takes is written, however long and in whatever letters."""

from dataclasses import dataclass, field

import pytest

from hostler.frontends.kubernetes.fleets.events import EventRecorder, Happened
from hostler.frontends.kubernetes.fleets.status import Condition
from hostler.frontends.kubernetes.objects.models import FLEETS, Written
from hostler.kubernetes.objects import Metadata
from hostler.testing.time.clock import RigClock


@dataclass
class Client:
    """Notes the Events that are made."""

    made: list[Happened] = field(default_factory=list[Happened])

    async def create(self, resource: object, item: Happened) -> None:
        del resource
        self.made.append(item)


@pytest.mark.parametrize("letter", ["a", "ü", "…", "\N{ROCKET}"])
@pytest.mark.parametrize("count", [10, 255, 256, 257, 1023, 1024, 1025, 4096])
async def test_a_note_has_no_more_bytes_than_the_server_takes(letter: str, count: int) -> None:
    """It counts bytes: a longer one in other letters than English was refused, and never seen."""
    client = Client()
    recorder = EventRecorder(client, RigClock(), "x")  # pyright: ignore[reportArgumentType] - what events need of it
    about = Condition(type="Accepted", holds=False, reason="Invalid", message=letter * count)
    one = Written(metadata=Metadata(name="web", namespace="home", uid="u"))
    await recorder.record(FLEETS, one, about)
    (note,) = (made.note for made in client.made)
    assert len(note.encode()) <= 1024
    assert set(note) == {letter}
    assert len(note) == min(count, 1024 // len(letter.encode()))
