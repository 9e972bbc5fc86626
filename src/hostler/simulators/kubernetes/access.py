"""Access: who asks, by bearer token, and what the roles that are stored let them do."""

from collections.abc import Iterator, Mapping

from msgspec import Struct

from .state.body import Body, sequence, text_at
from .state.cluster import Cluster
from .state.refusals import About, Refusal

MASTERS = "system:masters"
_GROUP = "rbac.authorization.k8s.io"


class User(Struct, frozen=True):
    """Who asks: a name and groups."""

    name: str
    groups: tuple[str, ...] = ()


class Act(Struct, frozen=True, kw_only=True):
    """What is asked for, in the words of rules."""

    verb: str
    group: str
    plural: str
    subresource: str = ""
    namespace: str = ""
    name: str = ""

    @property
    def resource(self) -> str:
        """Return the resource as a rule names it."""
        return f"{self.plural}/{self.subresource}" if self.subresource else self.plural


class Access:
    """Tokens and their users. Without any token everybody may do everything."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._tokens: dict[str, User] = {}

    def grant(self, token: str, user: User) -> None:
        """Let a token stand for a user from now on."""
        self._tokens[token] = user

    def revoke(self, token: str) -> None:
        """Let a token stand for nobody: it has expired."""
        self._tokens.pop(token, None)

    def user(self, authorization: str) -> User | None:
        """Return who shows this header, or None for nobody that is known."""
        if not self._tokens:
            return User("system:anonymous", (MASTERS,))
        if not authorization.partition(" ")[2].strip():
            return User("system:anonymous", ("system:unauthenticated",))
        scheme, _, token = authorization.partition(" ")
        user = self._tokens.get(token.strip()) if scheme.lower() == "bearer" else None
        if user is None:
            return None
        return User(user.name, (*user.groups, "system:authenticated"))

    def check(self, user: User, act: Act) -> None:
        """Refuse what no role allows."""
        if not self.allows(user, act):
            raise _forbidden(user, act)

    def allows(self, user: User, act: Act) -> bool:
        """Tell whether a user may do something."""
        if MASTERS in user.groups:
            return True
        return any(_covers(rule, act) for rule in self._rules(user, act.namespace))

    def _rules(self, user: User, namespace: str) -> Iterator[Body]:
        storage = self._cluster.storage
        for binding in storage.everything(f"clusterrolebindings.{_GROUP}"):
            if _binds(binding, user):
                yield from self._role(binding, "")
        if namespace:
            for binding in storage.everything(f"rolebindings.{_GROUP}", namespace):
                if _binds(binding, user):
                    yield from self._role(binding, namespace)

    def _role(self, binding: Body, namespace: str) -> Iterator[Body]:
        kind, name = text_at(binding, "roleRef", "kind"), text_at(binding, "roleRef", "name")
        store, place = (f"clusterroles.{_GROUP}", ("", name))
        if kind == "Role":
            store, place = f"roles.{_GROUP}", (namespace, name)
        role = self._cluster.storage.find(store, place)
        yield from sequence((role or {}).get("rules"))


def _binds(binding: Body, user: User) -> bool:
    return any(_is(subject, user) for subject in sequence(binding.get("subjects")))


def _is(subject: Body, user: User) -> bool:
    name = text_at(subject, "name")
    match text_at(subject, "kind"):
        case "User":
            return name == user.name
        case "Group":
            return name in user.groups
        case _:
            namespace = text_at(subject, "namespace")
            return user.name == f"system:serviceaccount:{namespace}:{name}"


def _covers(rule: Mapping[str, object], act: Act) -> bool:
    def has(field: str, *values: str) -> bool:
        return bool({"*", *values} & set(map(str, sequence(rule.get(field)))))

    names = sequence(rule.get("resourceNames"))
    below = (f"*/{act.subresource}",) if act.subresource else ()
    return (
        has("verbs", act.verb)
        and has("apiGroups", act.group)
        and has("resources", act.resource, *below)
        and (not names or act.name in names)
    )


def _forbidden(user: User, act: Act) -> Refusal:
    resource = f"{act.plural}.{act.group}" if act.group else act.plural
    name = f' "{act.name}"' if act.name else ""
    place = f'in the namespace "{act.namespace}"' if act.namespace else "at the cluster scope"
    text = (
        f'{resource}{name} is forbidden: User "{user.name}" cannot {act.verb} resource '
        f'"{act.resource}" in API group "{act.group}" {place}'
    )
    about = About(act.group, act.plural, act.plural, act.name)
    return Refusal(403, "Forbidden", text, about.details())
