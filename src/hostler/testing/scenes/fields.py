"""Fields: records for tables of tests, whose fields are given by name, whatever value has them."""

from dataclasses import fields, is_dataclass, replace

from hostler.domain.model.subject import SubjectT


def with_fields(subject: SubjectT, **changes: object) -> SubjectT:
    """Return the record with these fields, its own or those of the values that it is made of."""
    own = {field.name for field in fields(subject)}
    for name, value in changes.items():
        subject = replace(
            subject, **(_in_its_value(subject, name, value) if name not in own else {name: value})
        )
    return subject


def _in_its_value(subject: SubjectT, name: str, value: object) -> dict[str, object]:
    for field in fields(subject):
        part: object = getattr(subject, field.name)
        if is_dataclass(part) and not isinstance(part, type) and hasattr(part, name):
            return {field.name: replace(part, **{name: value})}
    raise TypeError(f"{type(subject).__name__} has no field {name!r}")
