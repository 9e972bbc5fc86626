"""Fields: records for tables of tests, whose fields are given by name, whatever value has them."""

from msgspec import Struct
from msgspec.structs import replace

from hostler.domain.model.subject import SubjectT


def with_fields(subject: SubjectT, **changes: object) -> SubjectT:
    """Return the record with these fields, its own or those of the values that it is made of."""
    own = subject.__struct_fields__
    for name, value in changes.items():
        subject = replace(
            subject, **(_in_its_value(subject, name, value) if name not in own else {name: value})
        )
    return subject


def _in_its_value(subject: SubjectT, name: str, value: object) -> dict[str, object]:
    for field in subject.__struct_fields__:
        part: object = getattr(subject, field)
        if isinstance(part, Struct) and hasattr(part, name):
            return {field: replace(part, **{name: value})}
    raise TypeError(f"{type(subject).__name__} has no field {name!r}")
