"""User data of servers: plain text both ways."""

from hostler.simulators.scaleway.api.resource import Route
from hostler.simulators.scaleway.state import errors
from hostler.simulators.scaleway.state.calls import Answer, Call
from hostler.simulators.scaleway.state.inventory import Cloud

PATH = "/instance/v1/zones/*/servers/*/user_data"
PLAIN = "text/plain"
MOST = 127_998  # bytes, as the Terraform provider bounds it


def list_keys(cloud: Cloud, call: Call) -> Answer:
    """Show the keys."""
    server = cloud.server(call)
    return Answer(200, {"user_data": list(server.user_data)}, subject=server)


def get(cloud: Cloud, call: Call) -> Answer:
    """Show what a key holds; a missing key is an empty text, not JSON."""
    server = cloud.server(call)
    content = server.user_data.get(call.names[1])
    if content is None:
        raise errors.key_missing()
    return Answer(200, raw=content, content_type=PLAIN, subject=server)


def put(cloud: Cloud, call: Call) -> Answer:
    """Set a key; how too much is refused is our assumption."""
    server = cloud.server(call)
    if len(call.request.body) > MOST:
        raise errors.invalid(("content", "constraint", f"must be at most {MOST} bytes"))
    server.user_data[call.names[1]] = call.request.body
    return Answer(204, content_type=PLAIN, subject=server)


def delete(cloud: Cloud, call: Call) -> Answer:
    """Remove a key."""
    server = cloud.server(call)
    if server.user_data.pop(call.names[1], None) is None:
        raise errors.key_missing()
    return Answer(204, subject=server)


ROUTES = (
    Route("user_data.list", "GET", PATH, list_keys),
    Route("user_data.get", "GET", PATH + "/*", get),
    Route("user_data.set", "PATCH", PATH + "/*", put),
    Route("user_data.delete", "DELETE", PATH + "/*", delete),
)
