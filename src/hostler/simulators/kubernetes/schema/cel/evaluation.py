"""Evaluation: what an expression is over some variables; an error where it is nothing."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from hostler.simulators.kubernetes.state.body import is_list, is_mapping, same

from .functions import FUNCTIONS, METHODS
from .syntax import (
    BadExpression,
    Collection,
    Index,
    Invocation,
    Literal,
    Name,
    Node,
    Operation,
    Select,
)

Scope = Mapping[str, Any]


class Failed(Exception):
    """An expression that has no value: a field that is not there, a type that does not fit."""


def value_of(node: Node, scope: Scope) -> Any:  # noqa: PLR0911 - one for each sort of node
    """Return the value of an expression, or raise Failed."""
    match node:
        case Literal(value):
            return value
        case Name(name):
            if name not in scope:
                raise BadExpression(f"undeclared reference to '{name}'")
            return scope[name]
        case Select(target, name):
            return _field(value_of(target, scope), name)
        case Index(target, index):
            return _item(value_of(target, scope), value_of(index, scope))
        case Collection():
            return _collection(node, scope)
        case Operation(sign, operands):
            return _operation(sign, operands, scope)
        case Invocation():
            return _invocation(node, scope)


def _field(value: Any, name: str) -> Any:
    if not is_mapping(value):
        raise Failed(f"no such overload: .{name} of something that has no fields")
    if name not in value:
        raise Failed(f"no such key: {name}")
    return value[name]


def _item(value: Any, index: Any) -> Any:
    if is_list(value) and isinstance(index, int):
        if not 0 <= index < len(value):
            raise Failed(f"index out of bounds: {index}")
        return value[index]
    return _field(value, str(index))


def _collection(node: Collection, scope: Scope) -> Any:
    values = [value_of(item, scope) for item in node.items]
    return dict(zip(values[::2], values[1::2], strict=True)) if node.is_map else values


def _operation(sign: str, operands: tuple[Node, ...], scope: Scope) -> Any:
    match sign, operands:
        case "?", (condition, yes, no):
            return value_of(yes if _truth(value_of(condition, scope)) else no, scope)
        case "&&" | "||", (left, right):
            return _either(left, right, scope, decided=sign == "||")
        case "!", (one,):
            return not _truth(value_of(one, scope))
        case "-", (one,):
            return -value_of(one, scope)
        case _, (left, right):
            return _binary(sign, value_of(left, scope), value_of(right, scope))
        case _:
            raise BadExpression(f"the operator {sign}")


def _either(left: Node, right: Node, scope: Scope, *, decided: bool) -> bool:
    """Return `||` or `&&`; a side that fails does not matter where the other decides."""
    failures: list[Failed] = []
    for node in (left, right):
        try:
            if _truth(value_of(node, scope)) == decided:
                return decided
        except Failed as failed:
            failures.append(failed)
    if failures:
        raise failures[0]
    return not decided


def _truth(value: Any) -> bool:
    if not isinstance(value, bool):
        raise Failed("no such overload: it is no bool")
    return value


def _binary(sign: str, left: Any, right: Any) -> Any:
    match sign:
        case "==":
            return same(left, right)
        case "!=":
            return not same(left, right)
        case "in":
            return any(same(left, each) for each in right)
        case _:
            pass
    if isinstance(left, bool) or type(left) is not type(right):
        raise Failed(f"no such overload: {type(left).__name__} {sign} {type(right).__name__}")
    try:
        return _ARITHMETIC[sign](left, right)
    except (TypeError, ZeroDivisionError) as error:
        raise Failed(str(error)) from None


def _divided(left: Any, right: Any) -> Any:
    return int(left / right) if isinstance(left, int) else left / right


_ARITHMETIC: Mapping[str, Callable[[Any, Any], Any]] = {
    "<": lambda left, right: left < right,
    "<=": lambda left, right: left <= right,
    ">": lambda left, right: left > right,
    ">=": lambda left, right: left >= right,
    "+": lambda left, right: left + right,
    "-": lambda left, right: left - right,
    "*": lambda left, right: left * right,
    "/": _divided,
    "%": lambda left, right: left - right * int(left / right),
}


def _invocation(node: Invocation, scope: Scope) -> Any:
    match node:
        case Invocation("has", None, (Select(target, name),)):
            value = value_of(target, scope)
            return is_mapping(value) and name in value
        case Invocation(name, None, arguments) if name in FUNCTIONS:
            values = [value_of(each, scope) for each in arguments]
            return _done(FUNCTIONS[name], values)
        case Invocation(name, target, (Name(variable), *bodies)) if target and name in _MACROS:
            items = list(value_of(target, scope))
            return _MACROS[name](items, variable, bodies, scope)
        case Invocation(name, target, arguments) if target and name in METHODS:
            values = [value_of(each, scope) for each in (target, *arguments)]
            return _done(METHODS[name], values)
        case _:
            raise BadExpression(f"undeclared reference to '{node.name}'")


def _done(function: Callable[..., Any], values: list[Any]) -> Any:
    try:
        return function(*values)
    except (TypeError, ValueError, LookupError) as error:
        raise Failed(f"no such overload: {error}") from None


Bodies = list[Node]


def _values(items: list[Any], variable: str, body: Node, scope: Scope) -> Iterator[Any]:
    for item in items:
        yield value_of(body, {**scope, variable: item})


def _all(items: list[Any], variable: str, bodies: Bodies, scope: Scope) -> bool:
    return all(_values(items, variable, bodies[0], scope))


def _exists(items: list[Any], variable: str, bodies: Bodies, scope: Scope) -> bool:
    return any(_values(items, variable, bodies[0], scope))


def _exists_one(items: list[Any], variable: str, bodies: Bodies, scope: Scope) -> bool:
    return sum(_values(items, variable, bodies[0], scope)) == 1


def _filter(items: list[Any], variable: str, bodies: Bodies, scope: Scope) -> list[Any]:
    fits = _values(items, variable, bodies[0], scope)
    return [item for item, fit in zip(items, fits, strict=True) if fit]


def _map(items: list[Any], variable: str, bodies: Bodies, scope: Scope) -> list[Any]:
    if len(bodies) == 2:
        items = _filter(items, variable, bodies, scope)
    return list(_values(items, variable, bodies[-1], scope))


_MACROS: Mapping[str, Callable[[list[Any], str, Bodies, Scope], Any]] = {
    "all": _all,
    "exists": _exists,
    "exists_one": _exists_one,
    "existsOne": _exists_one,
    "filter": _filter,
    "map": _map,
}
