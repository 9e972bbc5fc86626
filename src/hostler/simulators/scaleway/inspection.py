"""What a person or a test sees of the world, and does to it, under `/_sim/`."""

from collections.abc import Callable
from typing import Any, cast

import msgspec

from hostler.ports.http import HttpRequest, Response

from .api.pages import DIGITS
from .faults.rates import LONGEST, PRESETS, BadFaultRates, FaultRates, Rule
from .macs.reach import fingerprint, ssh_of
from .reachable import never
from .routes import ACTIONS, TABLE
from .state.calls import decoded
from .state.errors import Refused
from .state.mac_catalogue import USER
from .state.mac_records import Mac
from .state.options import Stock
from .world import World

Body = dict[str, Any]


def body_of(request: HttpRequest) -> Body:
    """Return the JSON object that was sent; raise ValueError for what is none."""
    try:
        return decoded(request.body)
    except Refused:
        raise ValueError("expected a JSON object") from None


def text_in(body: Body, name: str) -> str:
    """Return a text of a body; raise ValueError for anything else."""
    value = body[name]
    if not isinstance(value, str):
        raise ValueError(f"{name}: expected a text")  # noqa: TRY004 - of whoever sent it
    return value


def spell_in(body: Body) -> float:
    """Return the spell of a body, a minute where it has none; raise ValueError for no span."""
    value = body.get("spell", 60.0)
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not 0 <= value <= LONGEST:
        raise ValueError(f"spell: expected 0 to {LONGEST:.0f} seconds")
    return float(value)


def known(body: Body, *names: str) -> Body:
    """Return a body that has no other keys than these; raise ValueError for one that has."""
    if unknown := sorted(set(body) - set(names)):
        raise ValueError(f"expected {', '.join(names)}, not {', '.join(unknown)}")
    return body


def mac_facts(world: World, mac: Mac) -> Body:
    """Show a Mac, with what no client is told: its disk's number, and its password when sealed."""
    port = world.ssh_port
    return {
        "id": mac.id,
        "zone": mac.zone,
        "name": mac.name,
        "type": mac.type_name,
        "status": mac.status,
        "shown": mac.displayed,
        "os": mac.os.name,
        "ip": mac.ip,
        "installs": mac.installs,
        "deletable": None if mac.deletable is None else world.cloud.zulu(mac.deletable),
        "deletion_scheduled": mac.deletion_scheduled,
        "user": USER,
        "password": mac.password,
        "host_key": fingerprint(mac.disk.seed) if mac.installs else "",
        "reach": ssh_of(world.cloud, mac),
        "ssh": f"{mac.ip}:{port}" if port else "",
    }


def everything(world: World, _request: HttpRequest) -> object:
    """Show every Mac."""
    return {"macs": [mac_facts(world, mac) for mac in world.cloud.macs]}


def id_of(request: HttpRequest) -> str:
    """Return the id that a path ends with."""
    return request.path.rstrip("/").rsplit("/", 1)[1]


def one(world: World, request: HttpRequest) -> object:
    """Show one Mac."""
    return mac_facts(world, world.console.mac(id_of(request)))


def done(world: World, request: HttpRequest) -> object:
    """Do something to a Mac by hand: `do` says what, `name` and `spell` how."""
    body = known(body_of(request), "do", "name", "spell")
    deed, mac_id = text_in(body, "do"), id_of(request)
    if deed == "rename":
        return {"done": world.console.rename(mac_id, text_in(body, "name"))}
    return {"done": world.console.do(deed, mac_id, spell_in(body))}


def bought(world: World, request: HttpRequest) -> object:
    """Add Macs that are delivered and ready."""
    body = known(body_of(request), "count", "type_name", "zone", "prefix")
    asked = msgspec.convert(body, Stock)
    return {"macs": world.stock_macs(asked.count, asked.type_name, asked.zone, asked.prefix)}


def images(world: World, _request: HttpRequest) -> object:
    """Show the images that can be installed."""
    found = world.cloud.os_images
    return {"images": [{"id": one.id, "name": one.name, "family": one.family} for one in found]}


def retired(world: World, request: HttpRequest) -> object:
    """Retire an image: `retire` is its name or id."""
    body = known(body_of(request), "retire")
    return {"done": world.console.retire_image(text_in(body, "retire"))}


def stocked(world: World, request: HttpRequest) -> object:
    """Say how many of a type there are."""
    body = known(body_of(request), "type", "stock", "zone")
    zone = text_in(body, "zone") if "zone" in body else ""
    world.console.set_stock(text_in(body, "type"), text_in(body, "stock"), zone)
    return {"done": True}


View = Callable[[World, HttpRequest], object]


def is_view(request: HttpRequest) -> bool:
    """Tell if a request is about the simulator and not one of the API."""
    return request.path.startswith("/_sim/")


def inspect(world: World, request: HttpRequest) -> Response:
    """Answer a request under `/_sim/`; needs no key."""
    view = view_of(request.method, request.path.rstrip("/"))
    if view is None:
        return encoded(404, {"type": "not_found", "message": "no such view"})
    world.advance()
    try:
        return encoded(200, view(world, request))
    except KeyError as error:
        return encoded(400, {"type": "invalid_arguments", "message": f"there is no {error}"})
    except (BadFaultRates, TypeError, ValueError) as error:
        return encoded(400, {"type": "invalid_arguments", "message": str(error)})


def view_of(method: str, path: str) -> View | None:
    """Return the view of a path, which may end with the id of a Mac."""
    of_mac = path.startswith("/_sim/macs/")
    return VIEWS.get((method, "/_sim/macs/*" if of_mac else path))


def encoded(status: int, body: object) -> Response:
    """Return a JSON answer."""
    headers = (("Content-Type", "application/json"),)
    return Response(status=status, headers=headers, body=msgspec.json.encode(body))


def leaks(world: World, _request: HttpRequest) -> object:
    """Show every billable resource that exists, and the cost of everything."""
    found = world.leaks()
    return {"leaks": found, "count": len(found), "cost": round(world.cost(), 6), "currency": "EUR"}


def journal(world: World, request: HttpRequest) -> object:
    """Show the last requests, the newest last."""
    text = dict(request.query).get("limit", "100")
    if not text.isdecimal() or len(text) > DIGITS:
        raise ValueError("limit: expected a number")
    limit = int(text)
    return {"journal": list(world.journal)[-limit:] if limit > 0 else []}


def state(world: World, _request: HttpRequest) -> object:
    """Show a summary: the clock, how many of what, requests by route, faults so far."""
    cloud = world.cloud
    servers = list(cloud.servers)
    states: dict[str, int] = {}
    for server in servers:
        states[server.state] = states.get(server.state, 0) + 1
    return {
        "now": cloud.now,
        "date": cloud.date(cloud.now),
        "servers": states,
        "addresses": len(cloud.addresses),
        "volumes": len(cloud.volumes) + len(cloud.locals),
        "guests": len(cloud.guests),
        "calls": world.calls,
        "faults": world.faults,
        "cost": round(world.cost(), 6),
    }


def faults(world: World, _request: HttpRequest) -> object:
    """Show how often each fault took effect, the present rates, and the rules that are armed."""
    rules = [
        {**msgspec.to_builtins(script.rule), "matched": script.matched} for script in world.armed
    ]
    return {"faults": world.faults, "rates": world.fault_rates.rates, "rules": rules}


def all_routes(_world: World, _request: HttpRequest) -> object:
    """Show every route by its key, as rules name them."""
    found = [{"key": route.key, "method": route.method, "path": route.path} for route in TABLE]
    return {"routes": found, "actions": ACTIONS}


def rule_in(body: object) -> Rule:
    """Return the rule that a body is; raise ValueError for none, and for unknown keys."""
    rule = msgspec.convert(body, Rule)
    known(cast("Body", body), *Rule.__struct_fields__)
    return rule


def rates_in(body: Body) -> FaultRates:
    """Return the rates of a body; raise ValueError for what are none."""
    rates = msgspec.convert(body.get("rates", {}), dict[str, float])
    spells = msgspec.convert(body.get("spells", {}), dict[str, tuple[float, float]])
    return FaultRates(rates, spells)


def preset_of(name: str) -> FaultRates:
    """Return the preset of this name; raise BadFaultRates, with their names, where none has it."""
    if name not in PRESETS:
        raise BadFaultRates(f"there is no preset {name!r}: expected one of {', '.join(PRESETS)}")
    return PRESETS[name]


def set_faults(world: World, request: HttpRequest) -> object:
    """Script a fault (`rule`), set `rates` and `spells`, name a `preset`, or `clear`."""
    body = body_of(request)
    unknown = set(body) - {"rule", "rates", "spells", "preset", "clear"}
    if unknown or not body:
        raise ValueError(f"expected rule, rates, spells, preset or clear, not {sorted(unknown)}")
    rule = rule_in(body["rule"]) if "rule" in body else None
    rates = rates_in(body) if "rates" in body or "spells" in body else None
    preset = preset_of(text_in(body, "preset")) if "preset" in body else None
    if rule and (why := never(rule, world.options.zones)):
        raise BadFaultRates(why)
    if body.get("clear"):
        world.clear_fault_rates()
    for chosen in (preset, rates):
        if chosen:
            world.set_fault_rates(chosen)
    if rule:
        world.script(rule)
    return faults(world, request)


def act(world: World, request: HttpRequest) -> object:
    """Do something by hand: `act` is the name of an ambient fault, `id` whom it happens to."""
    body = body_of(request)
    done = world.act(text_in(body, "act"), text_in(body, "id"), spell_in(body))
    return {"done": done}


VIEWS: dict[tuple[str, str], View] = {
    ("GET", "/_sim/leaks"): leaks,
    ("GET", "/_sim/journal"): journal,
    ("GET", "/_sim/state"): state,
    ("GET", "/_sim/macs"): everything,
    ("POST", "/_sim/macs"): bought,
    ("GET", "/_sim/macs/*"): one,
    ("POST", "/_sim/macs/*"): done,
    ("GET", "/_sim/images"): images,
    ("POST", "/_sim/images"): retired,
    ("POST", "/_sim/stock"): stocked,
    ("GET", "/_sim/routes"): all_routes,
    ("GET", "/_sim/faults"): faults,
    ("POST", "/_sim/faults"): set_faults,
    ("POST", "/_sim/act"): act,
}
