"""Selectors: which objects a list or a watch is about, by labels and by fields."""

import re
from collections.abc import Callable, Iterator

from hostler.simulators.kubernetes.kinds.kind import Kind
from hostler.simulators.kubernetes.state.body import Body, mapping, metadata_of, text_at
from hostler.simulators.kubernetes.state.refusals import bad_request

Matches = Callable[[Body], bool]
Labels = dict[str, str]
_SET = re.compile(r"^([^\s!=,()]+)\s+(in|notin)\s*\(([^()]*)\)$")
_EQUAL = re.compile(r"^([^\s!=,()]+)\s*(==|=|!=)\s*([^\s!=,()]*)$")
_EXISTS = re.compile(r"^(!?)\s*([^\s!=,()]+)$")


def selected(kind: Kind, labels: str, fields: str) -> Matches:
    """Return whether an object is chosen; a Refusal where a selector is none."""
    by_labels, by_fields = label_selector(labels), _field_selector(kind, fields)

    def matches(item: Body) -> bool:
        return by_labels(mapping(metadata_of(item).get("labels"))) and by_fields(item)

    return matches


def label_selector(text: str) -> Callable[[Labels], bool]:
    """Return whether labels fit a selector such as `a=b,c in (d,e),!f`."""
    terms = [_term(term) for term in _split(text)]
    return lambda labels: all(term(labels) for term in terms)


def matched_by(selector: object, labels: Labels) -> bool:
    """Tell whether labels fit a LabelSelector object; None fits nothing, an empty one all."""
    if selector is None:
        return False
    wanted = mapping(mapping(selector).get("matchLabels"))
    if any(labels.get(name) != value for name, value in wanted.items()):
        return False
    expressions: list[Body] = mapping(selector).get("matchExpressions") or []
    return all(_expression(expression)(labels) for expression in expressions)


def _expression(expression: Body) -> Callable[[Labels], bool]:
    name, values = str(expression.get("key")), frozenset[str](expression.get("values") or ())
    match expression.get("operator"):
        case "In":
            return lambda labels: labels.get(name) in values
        case "NotIn":
            return lambda labels: labels.get(name) not in values
        case "Exists":
            return lambda labels: name in labels
        case _:
            return lambda labels: name not in labels


def _split(text: str) -> Iterator[str]:
    """Return the terms between commas that stand outside of brackets."""
    for term in re.split(r",(?![^()]*\))", text):
        if term.strip():
            yield term.strip()


def _term(term: str) -> Callable[[Labels], bool]:
    if found := _SET.match(term):
        name, values = found[1], frozenset(part.strip() for part in found[3].split(","))
        if found[2] == "in":
            return lambda labels: labels.get(name) in values
        return lambda labels: labels.get(name) not in values
    if found := _EQUAL.match(term):
        name, value = found[1], found[3]
        if found[2] == "!=":
            return lambda labels: labels.get(name) != value
        return lambda labels: labels.get(name) == value
    if found := _EXISTS.match(term):
        name, absent = found[2], bool(found[1])
        return lambda labels: (name in labels) != absent
    raise bad_request(f"unable to parse requirement: {term}")


def _field_selector(kind: Kind, text: str) -> Matches:
    terms = [_field(kind, term) for term in _split(text)]
    return lambda item: all(term(item) for term in terms)


def _field(kind: Kind, term: str) -> Matches:
    found = _EQUAL.match(term)
    if found is None:
        raise bad_request(f"invalid field selector {term!r}")
    path = kind.selectable().get(found[1])
    if path is None:
        raise bad_request(f"field label not supported: {found[1]}")
    wanted, differs = found[3], found[2] == "!="

    def matches(item: Body) -> bool:
        value = text_at(item, *path)
        if path == ("spec", "unschedulable"):
            value = value or "false"
        return (value == wanted) != differs

    return matches
