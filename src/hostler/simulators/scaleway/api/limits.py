"""Who is let in: the gateway's rate limit, the secret key, and the zones there are."""

from hostler.simulators.scaleway.state import errors
from hostler.simulators.scaleway.state.calls import UUID, Call
from hostler.simulators.scaleway.state.options import Options

from .resource import Route


class Bucket:
    """A bucket of tokens: so many requests a second, and a burst."""

    def __init__(self, rate: float, burst: int) -> None:
        self._rate, self._burst = rate, float(burst)
        self._tokens, self._since = float(burst), 0.0

    def take(self, now: float) -> None:
        """Take a token, or refuse as the gateway does."""
        if not self._rate:
            return
        self._tokens = min(self._burst, self._tokens + (now - self._since) * self._rate)
        self._since = now
        if self._tokens < 1:
            raise errors.rate_limited()
        self._tokens -= 1


class Doorman:
    """Knows the secret keys and the zones."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._accounts = {account.secret_key: account for account in options.accounts}
        self._known: set[str] = set()
        regions = frozenset(zone.rsplit("-", 1)[0] for zone in options.zones)
        self._places = {"zone": frozenset(options.zones), "region": regions}

    def let_in(self, route: Route, call: Call) -> None:
        """Note whose a request is; refuse a bad key and a zone that there is not."""
        options = self._options
        call.organization, call.project = options.organization, options.project
        if route.public:
            return
        secret = header(call, "x-auth-token")
        if secret not in self._known:
            if not UUID.fullmatch(secret):
                raise errors.denied("invalid_argument")
            if self._accounts and secret not in self._accounts:
                raise errors.denied("not_found")
            self._known.add(secret)
        if account := self._accounts.get(secret):
            call.organization, call.project = account.organization, account.project
        self._check_place(route, call)

    def _check_place(self, route: Route, call: Call) -> None:
        for name, known in self._places.items():
            if f"/{name}s/*" in route.path and call.place not in known:
                raise errors.invalid((name, "constraint", "not a valid value"))


def header(call: Call, name: str) -> str:
    """Return the first header of this name, or nothing."""
    for key, value in call.request.headers:
        if key.lower() == name:
            return value
    return ""
