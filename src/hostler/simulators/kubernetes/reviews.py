"""Reviews: what may I do, who am I; asked by creating an object that is never stored."""

from .access import Access, Act, User
from .state.body import Body, mapping, text_at


def reviewed(plural: str, body: Body, user: User, access: Access) -> Body | None:
    """Return an answered review, or None where a plural is no review that is answered here."""
    match plural:
        case "selfsubjectaccessreviews":
            status: Body = {"allowed": access.allows(user, _act(body))}
        case "subjectaccessreviews":
            spec = mapping(body.get("spec"))
            asked = User(text_at(spec, "user"), tuple(spec.get("groups") or ()))
            status = {"allowed": access.allows(asked, _act(body))}
        case "selfsubjectreviews":
            status = {"userInfo": {"username": user.name, "groups": list(user.groups)}}
        case "tokenreviews":
            found = access.user(f"Bearer {text_at(body, 'spec', 'token')}")
            status = {"authenticated": found is not None}
            if found is not None:
                status["user"] = {"username": found.name, "groups": list(found.groups)}
        case _:
            return None
    return {**body, "status": status}


def _act(body: Body) -> Act:
    def text(name: str) -> str:
        return text_at(body, "spec", "resourceAttributes", name)

    return Act(
        verb=text("verb"),
        group=text("group"),
        plural=text("resource"),
        subresource=text("subresource"),
        namespace=text("namespace"),
        name=text("name"),
    )
