"""Looks at the health of a Mac, which take a moment."""

from hostler.simulators.scaleway import errors
from hostler.simulators.scaleway.calls import Answer, Call
from hostler.simulators.scaleway.checks import text_of
from hostler.simulators.scaleway.estate import Estate
from hostler.simulators.scaleway.route import Route

from .find import mac_of
from .images import ZONE
from .records import Diagnostic, MacStatus

PATH = ZONE + "/connectivity-diagnostics"


def start(estate: Estate, call: Call) -> Answer:
    """Begin to look at a Mac."""
    server = text_of(call.body, "server_id")
    if not server:
        raise errors.invalid(("server_id", "required", ""))
    mac = mac_of(estate, call, server)
    diagnostic = Diagnostic(
        id=estate.new_id(),
        zone=mac.zone,
        name="",
        organization=mac.organization,
        project=mac.project,
        created=estate.now,
        modified=estate.now,
        mac=mac,
        ready_at=estate.now + estate.lasts("mac.diagnostic"),
    )
    estate.diagnostics.put(diagnostic)
    return Answer(200, {"diagnostic_id": diagnostic.id})


def get(estate: Estate, call: Call) -> Answer:
    """Show what was found, once it is."""
    found = estate.find(estate.diagnostics, call, call.names[0], "connectivity_diagnostic")
    done = estate.now >= found.ready_at
    well = done and found.mac.status is MacStatus.READY and found.mac.ended is None
    body = {
        "id": found.id,
        "status": "completed" if done else "processing",
        "is_healthy": well,
        "health_details": health(estate, well=well) if done else None,
        "supported_actions": ["reboot_server", "reinstall_server"] if done else [],
        "error_message": "",
    }
    return Answer(200, body)


def health(estate: Estate, *, well: bool) -> dict[str, object]:
    """Return what was looked at in particular."""
    parts = ("server_alive", "agent_alive", "mdm_alive", "ssh_port_up", "vnc_port_up")
    seen = estate.zulu(estate.now) if well else None
    return {"last_checkin_date": seen, **{f"is_{part}": well for part in parts}}


ROUTES = (
    Route("mac_diagnostic.start", "POST", PATH, start),
    Route("mac_diagnostic.get", "GET", PATH + "/*", get),
)
