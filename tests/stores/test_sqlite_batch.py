"""Shared commits: who asks while the database is busy shares a transaction, and nothing else."""

import asyncio
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from hostler.domain.errors import Conflict, StoreBusy, StoreError
from hostler.stores.sqlite.worker import Database, Job, Threaded

Work = Callable[[sqlite3.Connection], int]


class Book:
    """A database of one table, and what was executed on it."""

    def __init__(self, path: Path) -> None:
        self.connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        self.connection.execute("PRAGMA journal_mode = WAL")
        self.connection.execute("CREATE TABLE notes (text UNIQUE)")
        self.statements = list[str]()
        self.connection.set_trace_callback(self.statements.append)
        self.database = Database(self.connection, path)

    def notes(self) -> list[str]:
        return [row[0] for row in self.connection.execute("SELECT text FROM notes ORDER BY 1")]

    def commits(self) -> int:
        return self.statements.count("COMMIT")


@pytest.fixture
def book(tmp_path: Path) -> Book:
    return Book(tmp_path / "book.db")


def note(text: str) -> Work:
    def work(db: sqlite3.Connection) -> int:
        return db.execute("INSERT INTO notes VALUES (?)", (text,)).rowcount

    return work


def refusing(text: str) -> Work:
    def work(db: sqlite3.Connection) -> int:
        note(text)(db)
        raise Conflict(text)

    return work


def failing(db: sqlite3.Connection) -> int:
    note("never")(db)
    return db.execute("SELECT no_such_column FROM notes").rowcount


def counting(db: sqlite3.Connection) -> int:
    (count,) = db.execute("SELECT count(*) FROM notes").fetchone()
    return count


def writes(*works: Work) -> tuple[Job[int], ...]:
    return tuple(Job(work, writes=True) for work in works)


def test_neighbours_share_one_commit(book: Book):
    jobs = writes(*(note(str(number)) for number in range(5)))
    book.database.perform(jobs)
    assert [job.answer() for job in jobs] == [1] * 5
    assert book.commits() == 1
    assert book.notes() == ["0", "1", "2", "3", "4"]
    book.database.close()


def test_a_refusal_takes_back_its_own_changes_only(book: Book):
    jobs = writes(note("a"), refusing("b"), note("c"))
    book.database.perform(jobs)
    assert jobs[0].answer() == jobs[2].answer() == 1
    with pytest.raises(Conflict):
        jobs[1].answer()
    assert book.notes() == ["a", "c"]
    assert book.commits() == 1
    book.database.close()


def test_when_the_database_fails_each_is_tried_alone(book: Book):
    jobs = writes(note("a"), failing, refusing("b"), note("c"))
    book.database.perform(jobs)
    assert jobs[0].answer() == jobs[3].answer() == 1
    with pytest.raises(StoreError, match="no_such_column"):
        jobs[1].answer()
    with pytest.raises(Conflict):
        jobs[2].answer()
    assert book.notes() == ["a", "c"]
    book.database.close()


def test_a_commit_that_fails_answers_nobody_with_yes(book: Book):
    """Deferred constraints are found at the commit: then each is tried alone and told."""
    book.connection.execute("PRAGMA foreign_keys = ON")
    book.connection.execute(
        "CREATE TABLE replies (text REFERENCES notes (text) DEFERRABLE INITIALLY DEFERRED)"
    )

    def reply(text: str) -> Work:
        def work(db: sqlite3.Connection) -> int:
            return db.execute("INSERT INTO replies VALUES (?)", (text,)).rowcount

        return work

    jobs = writes(note("a"), reply("a"), reply("nothing"))
    book.database.perform(jobs)
    assert jobs[0].answer() == jobs[1].answer() == 1
    with pytest.raises(StoreError, match="FOREIGN KEY"):
        jobs[2].answer()
    assert book.connection.execute("SELECT text FROM replies").fetchall() == [("a",)]
    book.database.close()


def test_reads_see_what_was_asked_before_them_and_no_more(book: Book):
    jobs = (
        Job(counting, writes=False),
        Job(note("a"), writes=True),
        Job(counting, writes=False),
        Job(note("b"), writes=True),
    )
    book.database.perform(jobs)
    assert [job.answer() for job in jobs] == [0, 1, 1, 1]
    assert book.commits() == 2
    book.database.close()


def test_a_defect_in_the_work_leaves_no_transaction_open(book: Book):
    def wrong(db: sqlite3.Connection) -> int:
        note("half")(db)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        book.database.perform(writes(note("a"), wrong))
    assert not book.connection.in_transaction
    assert book.notes() == []
    book.database.close()


def test_a_file_that_is_locked_in_between_refuses_the_rest(book: Book, tmp_path: Path):
    """What was kept alone before the lock stays answered; nobody waits for the lock twice."""
    other = sqlite3.connect(tmp_path / "book.db", isolation_level=None, timeout=0)
    book.connection.execute("PRAGMA busy_timeout = 0")
    failed = list[int]()

    def locking(db: sqlite3.Connection) -> int:
        """Fail in the shared transaction, and alone too; then somebody else locks the file."""
        failed.append(1)
        if len(failed) == 2:
            db.execute("COMMIT")
            other.execute("BEGIN IMMEDIATE")
        return failing(db)

    jobs = writes(note("a"), locking, note("b"), note("c"))
    book.database.perform(jobs)
    assert jobs[0].answer() == 1
    for job in jobs[2:]:
        with pytest.raises(StoreBusy):
            job.answer()
    other.close()
    assert "a" in book.notes()
    assert not {"b", "c"} & set(book.notes())
    book.database.close()


async def test_the_thread_answers_all_who_asked_together_after_one_commit(book: Book):
    runner = Threaded(book.database)
    first = [runner.run(note(f"a{number}"), writes=True) for number in range(100)]
    assert await asyncio.gather(*first) == [1] * 100
    assert book.commits() <= 2
    assert len(book.notes()) == 100
    await runner.close()


async def test_who_gives_up_waiting_disturbs_nobody(book: Book):
    runner = Threaded(book.database)
    async with asyncio.TaskGroup() as group:
        tasks = [
            group.create_task(runner.run(note(f"a{number}"), writes=True)) for number in range(9)
        ]
        await asyncio.sleep(0)
        tasks[0].cancel()
        tasks[5].cancel()
    assert [task.cancelled() for task in tasks].count(True) == 2
    assert await runner.run(counting, writes=False) == 9
    await runner.close()


async def test_closing_finishes_what_was_asked_before(book: Book):
    runner = Threaded(book.database)
    async with asyncio.TaskGroup() as group:
        tasks = [
            group.create_task(runner.run(note(f"a{number}"), writes=True)) for number in range(9)
        ]
        await asyncio.sleep(0)
        await runner.close()
    assert [task.result() for task in tasks] == [1] * 9
    with pytest.raises(StoreError, match="closed"):
        await runner.run(counting, writes=False)
    await runner.close()
    with pytest.raises(sqlite3.ProgrammingError):
        book.notes()


async def test_a_defect_in_the_work_reaches_its_caller_and_the_thread_goes_on(book: Book):
    def wrong(_: sqlite3.Connection) -> int:
        raise ZeroDivisionError

    runner = Threaded(book.database)
    with pytest.raises(ZeroDivisionError):
        await runner.run(wrong, writes=True)
    assert await runner.run(note("a"), writes=True) == 1
    await runner.close()
