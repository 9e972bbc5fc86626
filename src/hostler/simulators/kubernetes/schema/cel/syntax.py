"""Syntax: the text of an expression as a tree."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

_TOKEN = re.compile(
    r"""\s*(?:
    (?P<number>\d+\.\d+(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+|0x[0-9a-fA-F]+|\d+)u?
  | (?P<string>[rR]?(?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'))
  | (?P<name>[A-Za-z_]\w*)
  | (?P<sign>\|\||&&|==|!=|<=|>=|[-+*/%!<>?:.,()\[\]{}])
    )""",
    re.VERBOSE,
)
_LEVELS: Sequence[frozenset[str]] = (
    frozenset({"||"}),
    frozenset({"&&"}),
    frozenset({"==", "!=", "<", "<=", ">", ">=", "in"}),
    frozenset({"+", "-"}),
    frozenset({"*", "/", "%"}),
)
_CONSTANTS: Mapping[str, Any] = {"true": True, "false": False, "null": None}


class BadExpression(Exception):
    """A text that is no expression, or one that is not understood here."""


class Literal(Struct, frozen=True):
    """A value."""

    value: Any


class Name(Struct, frozen=True):
    """A variable."""

    name: str


class Select(Struct, frozen=True):
    """A field of something."""

    target: "Node"
    name: str


class Index(Struct, frozen=True):
    """An item of something."""

    target: "Node"
    index: "Node"


class Invocation(Struct, frozen=True):
    """A function, or a method of a target."""

    name: str
    target: "Node | None"
    arguments: "tuple[Node, ...]"


class Operation(Struct, frozen=True):
    """A sign between two, or before one, or the choice of `a ? b : c`."""

    sign: str
    operands: "tuple[Node, ...]"


class Collection(Struct, frozen=True):
    """A list, or a map as its keys and values in turn."""

    items: "tuple[Node, ...]"
    is_map: bool = False


Node = Literal | Name | Select | Index | Invocation | Operation | Collection


def parsed(text: str) -> Node:
    """Return the tree of an expression, or raise BadExpression."""
    parser = _Parser(_tokens(text))
    node = parser.expression()
    if parser.sign():
        raise BadExpression(f"more than one expression, at {parser.sign()!r}")
    return node


Token = tuple[str, str]


def _tokens(text: str) -> list[Token]:
    found: list[Token] = []
    position, text = 0, text.rstrip()
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise BadExpression(f"token recognition error at: {text[position : position + 10]!r}")
        kind = str(match.lastgroup)
        found.append((kind, match[kind]))
        position = match.end()
    return found


class _Parser:
    """Reads tokens from the left; each method one level of precedence."""

    def __init__(self, tokens: list[Token]) -> None:
        self._tokens, self._at = tokens, 0

    def sign(self) -> str:
        """Return the text of the next token that is no string, or nothing at the end."""
        if self._at >= len(self._tokens):
            return ""
        kind, text = self._tokens[self._at]
        return "" if kind == "string" else text

    def expression(self) -> Node:
        condition = self._level(0)
        if not self._takes("?"):
            return condition
        yes = self._level(0)
        self._needs(":")
        return Operation("?", (condition, yes, self.expression()))

    def _level(self, level: int) -> Node:
        if level == len(_LEVELS):
            return self._unary()
        node = self._level(level + 1)
        while (sign := self.sign()) in _LEVELS[level]:
            self._at += 1
            node = Operation(sign, (node, self._level(level + 1)))
        return node

    def _unary(self) -> Node:
        for sign in ("!", "-"):
            if self._takes(sign):
                return Operation(sign, (self._unary(),))
        return self._member(self._primary())

    def _member(self, node: Node) -> Node:
        while True:
            if self._takes("."):
                name = self._name()
                arguments = self._arguments()
                if arguments is None:
                    node = Select(node, name)
                else:
                    node = Invocation(name, node, arguments)
            elif self._takes("["):
                node = Index(node, self.expression())
                self._needs("]")
            else:
                return node

    def _arguments(self) -> tuple[Node, ...] | None:
        return self._until(")") if self._takes("(") else None

    def _until(self, end: str) -> tuple[Node, ...]:
        found: list[Node] = []
        while not self._takes(end):
            if found:
                self._needs(",")
            found.append(self.expression())
        return tuple(found)

    def _primary(self) -> Node:
        if self._takes("("):
            node = self.expression()
            self._needs(")")
            return node
        if self._takes("["):
            return Collection(self._until("]"))
        if self._takes("{"):
            return self._map()
        return self._word()

    def _word(self) -> Node:
        """Return a literal, a variable or a function."""
        if self._at >= len(self._tokens):
            raise BadExpression("the expression ends too early")
        kind, text = self._tokens[self._at]
        self._at += 1
        if kind == "number":
            return Literal(int(text, 0) if "x" in text or text.isdigit() else float(text))
        if kind == "string":
            return Literal(_unquoted(text))
        if kind != "name":
            raise BadExpression(f"mismatched input {text!r}")
        if text in _CONSTANTS:
            return Literal(_CONSTANTS[text])
        arguments = self._arguments()
        return Name(text) if arguments is None else Invocation(text, None, arguments)

    def _map(self) -> Node:
        found: list[Node] = []
        while not self._takes("}"):
            if found:
                self._needs(",")
            found.append(self.expression())
            self._needs(":")
            found.append(self.expression())
        return Collection(tuple(found), is_map=True)

    def _name(self) -> str:
        kind, text = self._tokens[self._at] if self._at < len(self._tokens) else ("", "")
        if kind != "name":
            raise BadExpression(f"a name is missing at {text!r}")
        self._at += 1
        return text

    def _takes(self, sign: str) -> bool:
        found = self._at < len(self._tokens) and self._tokens[self._at] == ("sign", sign)
        self._at += found
        return found

    def _needs(self, sign: str) -> None:
        if not self._takes(sign):
            raise BadExpression(f"missing {sign!r} at {self.sign()!r}")


_ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}


def _unquoted(text: str) -> str:
    if text[0] in "rR":
        return text[2:-1]
    return re.sub(r"\\(.)", lambda found: _ESCAPES.get(found[1], found[1]), text[1:-1])
