"""What becomes of a request on its way through the faults: lost, late, refused, or answered."""

from collections.abc import Callable
from functools import partial

from msgspec import Struct

from hostler.simulators.scaleway.state import errors
from hostler.simulators.scaleway.state.calls import Answer, Call, Fate
from hostler.simulators.scaleway.state.errors import Refused
from hostler.simulators.scaleway.state.inventory import touch
from hostler.simulators.scaleway.state.mac_records import MOVING, Mac, MacStatus
from hostler.simulators.scaleway.state.record import Record
from hostler.simulators.scaleway.state.records import Server

from .fault_injection import BUYS, CHANGES, FaultInjector, is_ambient

Serve = Callable[[Call], Answer]
HTML = b"<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body>502 Bad Gateway</body>\r\n"
NOBODY = "00000000-0000-4000-8000-000000000000"
RESOURCES = {
    "server": "instance_server",
    "user_data": "instance_server",
    "nic": "instance_server",
    "ip": "instance_ip",
    "volume": "volume",
    "local_volume": "instance_volume",
    "mac": "server",
    "mac_network": "server",
    "mac_os": "os",
}


class Delivery(Struct, frozen=True):
    """What the client gets. `late` is how many seconds it takes beyond the usual latency."""

    answer: Answer | None
    fate: Fate = Fate.ANSWERED
    late: float = 0.0


def deliver(injector: FaultInjector, call: Call, serve: Serve) -> Delivery:
    """Carry a request through the faults that strike it."""
    if not call.struck:
        return Delivery(serve(call))
    for step in (lost, dead, limited, failed, refused_on_the_way):
        found = step(injector, call, serve)
        if found is not None:
            return found
    answer = served(call, serve)
    ambient(injector, call, answer)
    if isinstance(answer.subject, Server) and call.takes("made_untagged"):
        answer.subject.tags = []
        touch(injector.cloud, answer.subject)
        return Delivery(None, Fate.RESET)
    return returned(call, answer)


def lost(injector: FaultInjector, call: Call, serve: Serve) -> Delivery | None:
    """Return what happens to requests that get no answer."""
    if call.takes("request_lost"):
        return Delivery(None, Fate.RESET)
    for fault in ("effect_delayed", "effect_too_late"):
        if call.request.method in CHANGES and call.takes(fault):
            injector.cloud.after(call.struck[fault], partial(arrive, call, serve))
            return Delivery(None, injector.rng.choice((Fate.RESET, Fate.HUNG)))
    if call.takes("hung_after") or call.takes("mac_order_lost"):
        serve(call)
        return Delivery(None, Fate.HUNG)
    if call.takes("hung"):
        if injector.rng.random() < 0.5:
            serve(call)
        return Delivery(None, Fate.HUNG)
    return None


def arrive(call: Call, serve: Serve) -> None:
    """Process a request that is late; nobody hears of it."""
    call.struck = {}
    serve(call)


def dead(injector: FaultInjector, call: Call, serve: Serve) -> Delivery | None:
    """Return what dead zones answer, and gateways whose API does not."""
    if call.takes("zone_dead"):
        if injector.rng.random() < 0.3:
            return Delivery(None, Fate.HUNG)
        return Delivery(html(503))
    if call.takes("html_5xx"):
        if injector.rng.random() < 0.5:
            serve(call)
        return Delivery(html(502))
    return None


def limited(_injector: FaultInjector, call: Call, _serve: Serve) -> Delivery | None:
    """Return what gateways answer to too many requests."""
    if call.takes("rate_limited_429"):
        return Delivery(refusal(errors.rate_limited()))
    if call.takes("forbidden_for_rate_limit"):
        return Delivery(refusal(errors.forbidden("any", call.key.split(".")[0])))
    return None


def failed(_injector: FaultInjector, call: Call, serve: Serve) -> Delivery | None:
    """Return what an API answers that has failed, before the effect or after it."""
    if call.takes("failed_500"):
        return Delivery(refusal(errors.failed()))
    if call.takes("failed_500_after"):
        serve(call)
        return Delivery(refusal(errors.failed()))
    return None


def html(status: int) -> Answer:
    """Return a page that no API wrote."""
    return Answer(status, raw=HTML, content_type="text/html")


def refusal(found: Refused) -> Answer:
    """Return a refusal as an answer."""
    if found.body is None:
        kind = "text/plain" if found.text else ""
        return Answer(found.status, None, found.headers, raw=b"", content_type=kind)
    return Answer(found.status, found.body, found.headers)


def refused_on_the_way(injector: FaultInjector, call: Call, _serve: Serve) -> Delivery | None:
    """Return the refusals that faults make up, as far as they can be true."""
    for refuse in (refused_purchase, refused_change):
        found = refuse(injector, call)
        if found is not None:
            return Delivery(refusal(found))
    return None


def refused_purchase(injector: FaultInjector, call: Call) -> Refused | None:
    """Refuse what is being made."""
    cloud = injector.cloud
    of_server = call.key in BUYS
    sort = sold(call) if of_server else "ips"
    if of_server and call.takes("out_of_stock_create"):
        return errors.out_of_stock(cloud.generation(), sort)
    if (of_server or call.key == "ip.create") and call.takes("quota_exceeded"):
        current = cloud.count(call.organization, sort)
        name = sort if sort == "ips" else "cp_servers_type_" + sort.replace("-", "_")
        return errors.quota(cloud.generation(), name, current, current, call.organization)
    return None


def sold(call: Call) -> str:
    """Return the type that is bought; other requests may have bodies that are no JSON."""
    return str(call.body.get("commercial_type") or call.body.get("type"))


def refused_change(injector: FaultInjector, call: Call) -> Refused | None:
    """Refuse what is asked of a resource that exists."""
    subject = injector.subject(call)
    if subject is None:
        return None
    resource = RESOURCES[call.key.split(".", 1)[0]]
    if call.takes("not_found_flicker"):
        other = call.says.get("not_found_flicker")
        return errors.not_found(other or resource, NOBODY if other else subject.id)
    if call.request.method not in CHANGES:
        return None
    if call.takes("locked_423"):
        return errors.locked(resource, subject.id)
    if call.takes("transient_409"):
        state = call.says.get("transient_409") or state_of(subject)
        return errors.transient(resource, subject.id, state)
    of_mac = refused_mac(injector, call, subject) if isinstance(subject, Mac) else None
    return of_mac or refused_for_state(call)


def refused_mac(injector: FaultInjector, call: Call, mac: Mac) -> Refused | None:
    """Refuse what is asked of a Mac, in the ways of its API."""
    words = "this server is not in the right state"
    if call.takes("mac_transient_409"):
        state = injector.rng.choice([one for one in MOVING if one is not MacStatus.REINSTALLING])
        return errors.transient("server", mac.id, state.value)
    if call.takes("mac_precondition_412"):
        return Refused(412, errors.precondition("2026", "unknown_precondition", words).body)
    if call.takes("mac_precondition_untyped"):
        message = f"precondition failed: unknown precondition, {words}"
        return Refused(412, {"message": message})
    return None


def refused_for_state(call: Call) -> Refused | None:
    """Refuse with a precondition."""
    words = "resource is not in the right state"
    if call.takes("precondition_400"):
        return errors.precondition("2026", "resource_not_usable", words)
    if call.takes("precondition_412"):
        return errors.precondition("2025", "", words)
    if call.key.endswith("volume.delete") and call.takes("volume_delete_refused"):
        words = "volume must not be in the in_use status"
        return errors.precondition("2026", "resource_still_in_use", words)
    return None


def state_of(subject: Record) -> str:
    """Return the state that a refusal names."""
    if isinstance(subject, Mac):
        return subject.status.value
    return str(subject.state) if isinstance(subject, Server) else "updating"


def served(call: Call, serve: Serve) -> Answer:
    """Process a request, or twice."""
    answer = serve(call)
    if call.request.method in CHANGES and call.takes("duplicate_delivery"):
        serve(call)
    return answer


def ambient(injector: FaultInjector, call: Call, answer: Answer) -> None:
    """Let scripted ambient faults happen to what the request was about."""
    if answer.subject is None:
        return
    for fault in [name for name in call.struck if is_ambient(name)]:
        if injector.happen(fault, answer.subject, call.struck[fault]):
            call.noted(fault)


def returned(call: Call, answer: Answer) -> Delivery:
    """Return an answer to the client, or a part of it, or late."""
    if call.takes("reply_lost"):
        return Delivery(None, Fate.RESET)
    if answer.status != 204 and answer.body is not None and call.takes("truncated_json"):
        return Delivery(answer, Fate.TRUNCATED)
    return Delivery(answer, late=call.struck["slow"] if call.takes("slow") else 0.0)
