"""What is kept of a host's output, byte by byte."""

from hypothesis import given
from hypothesis import strategies as st

from hostler.access.command import Prompt
from hostler.access.output import Tail, line
from hostler.ports.secret import Secret

SECRET = Secret("hunter2-é-hunter2")


def tail(*pieces: bytes, most: int = 10) -> str:
    saved = Tail(SECRET, most)
    for piece in pieces:
        saved.feed(piece)
    return saved.text()


def test_short_output_is_kept_whole() -> None:
    assert tail("añb\n".encode()) == "añb\n"


def test_tail_keeps_the_end_and_little_else() -> None:
    saved = Tail(None)
    for number in range(200):
        saved.feed(b"%d" % number * 100_000)
        assert len(saved._data) <= 16_000
    assert saved.text() == ("199" * 1334)[-4000:]


def test_secret_does_not_come_out_wherever_it_is_cut() -> None:
    """Neither whole nor its end, at each distance from the end, in one piece or in many."""
    secret = SECRET.reveal().encode()
    for behind in range(120):
        whole = b"x" * 300 + secret + b"y" * behind
        for text in (tail(whole), tail(*(bytes([byte]) for byte in whole))):
            assert not set(text) & set("hunter2-é\ufffd")


def test_secret_that_is_printed_over_and_over_does_not_come_out_at_the_cut() -> None:
    """Blotted out, it is short: then what the cut left of the first one would be within reach."""
    secret = SECRET.reveal().encode()
    for before in range(len(secret)):
        whole = b"x" * before + secret * 30
        for text in (tail(whole, most=60), tail(*(bytes([byte]) for byte in whole), most=60)):
            assert set(text) == {"*"}


@given(st.lists(st.sampled_from([b"a", "é".encode(), b"\x00", b"\n", b"\x9f"])), st.integers(1, 9))
def test_tail_is_printable_and_bounded_however_it_is_fed(pieces: list[bytes], most: int) -> None:
    text = tail(*pieces, most=most)
    assert len(text) <= most
    assert all(c.isprintable() or c == "\n" for c in text)
    assert text == tail(b"".join(pieces), most=most)


def test_line_is_one_line_without_the_secret() -> None:
    text = f"a\n\tb \x1b[2J {SECRET.reveal()} " + "z" * 300
    message = line(text, SECRET, 40)
    assert message.startswith("a b \\x1b[2J *** zz")
    assert len(message) == 40
    assert line("short") == "short"


@given(st.integers(0, 60), st.integers(0, 60))
def test_prompt_is_found_however_the_output_is_cut(first: int, second: int) -> None:
    prompt = Prompt(None)
    data = f"before {prompt.words}between {prompt.words[:-1]}".encode()
    low, high = sorted((first, second))
    pieces = (data[:low], data[low:high], data[high:])
    assert [prompt.finds(piece) for piece in pieces].count(True) == 1
    assert prompt.seen == 1
    assert not prompt.finds(prompt.words[-1:].encode())
    assert prompt.seen == 2


def test_prompts_are_never_the_same() -> None:
    assert Prompt(None).words != Prompt(None).words
