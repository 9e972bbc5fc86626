"""Looks at the health of a Mac, which take a moment."""

from hostler.simulators.scaleway.api.checks import text_of
from hostler.simulators.scaleway.api.resource import Route
from hostler.simulators.scaleway.state import errors
from hostler.simulators.scaleway.state.calls import Answer, Call
from hostler.simulators.scaleway.state.inventory import Cloud
from hostler.simulators.scaleway.state.mac_records import Diagnostic, Mac, MacStatus

from .bodies import mac_of
from .images import ZONE
from .reach import Ssh, ssh_of

PATH = ZONE + "/connectivity-diagnostics"


def start(cloud: Cloud, call: Call) -> Answer:
    """Begin to look at a Mac."""
    server = text_of(call.body, "server_id")
    if not server:
        raise errors.invalid(("server_id", "required", "required key not provided"))
    mac = mac_of(cloud, call, server)
    diagnostic = Diagnostic(
        **cloud.born(mac.owner),
        name="",
        mac=mac,
        ready_at=cloud.now + cloud.lasts("mac.diagnostic"),
    )
    cloud.diagnostics.put(diagnostic)
    return Answer(200, {"diagnostic_id": diagnostic.id})


def get(cloud: Cloud, call: Call) -> Answer:
    """Show what was found, once it is."""
    found = cloud.find(cloud.diagnostics, call, call.names[0], "connectivity_diagnostic")
    done = cloud.now >= found.ready_at
    well = done and found.mac.status is MacStatus.READY and found.mac.ended is None
    body = {
        "id": found.id,
        "zone": found.zone,
        "status": "completed" if done else "processing",
        "is_healthy": well,
        "health_details": health(cloud, found.mac, well=well) if done else None,
        "supported_actions": ["reboot_server", "reinstall_server"] if done else [],
        "error_message": "",
    }
    return Answer(200, body)


def health(cloud: Cloud, mac: Mac, *, well: bool) -> dict[str, object]:
    """Return what was looked at in particular; that SSH is silent is not seen."""
    return {
        "last_checkin_date": cloud.zulu(cloud.now) if well else None,
        "is_server_alive": well,
        "is_agent_alive": well,
        "is_mdm_alive": well,
        "is_ssh_port_up": well and ssh_of(cloud, mac) is not Ssh.REFUSED,
        "is_vnc_port_up": well,
    }


ROUTES = (
    Route("mac_diagnostic.start", "POST", PATH, start),
    Route("mac_diagnostic.get", "GET", PATH + "/*", get),
)
