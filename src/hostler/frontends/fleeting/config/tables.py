"""Tables: `plugin_config` as a msgspec Struct; the descriptions are the reference of its keys.

Nothing is required here: what is missing is reported together with what is wrong (see reader.py).
What a value may be in detail, the fleet file's own tables say.
"""

from typing import Annotated

from msgspec import Meta, Struct

from hostler.config.load import A_NAME
from hostler.config.units import A_DURATION
from hostler.ports.kind import refused

_NO_POOL = (
    "take it out; to use addresses that exist, tag them at the provider and name the tag in "
    "address_pool"
)
_RUNNERS = "it belongs into [runners.autoscaler] of the runner's config.toml: move it there"
_CONNECTORS = (
    "it belongs into [runners.autoscaler.connector_config] of the runner's config.toml: move it "
    "there"
)
_SCHEMA = (
    "the schema must be known before plugin_config can be read: see HOSTLER_FLEETING_SCHEMA in "
    "docs/reference/fleeting-schema.md"
)

Text = Annotated[str, Meta(min_length=1)]
Name = Annotated[
    str,
    Meta(pattern=r"^[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?\Z", extra={"expected": A_NAME}),
]
Login = Annotated[
    str,
    Meta(
        pattern=r"^[A-Za-z_][A-Za-z0-9_.-]{0,31}\Z",
        extra={"expected": 'the name of a user, such as "root" or "ubuntu"'},
    ),
]
Installation = Annotated[
    str,
    Meta(
        pattern=r"^[A-Za-z0-9_-]{1,40}\Z",
        extra={"expected": 'the id of an installation, such as "h1f2a3b4c5d6"'},
    ),
]
Uuid = Annotated[str, Meta(min_length=1, extra={"expected": "a UUID"})]
File = Annotated[str, Meta(min_length=1, extra={"expected": "the path of a file"})]
Time = Annotated[str, Meta(min_length=1, extra={"expected": A_DURATION})]
Address = Annotated[
    str, Meta(min_length=1, extra={"expected": 'an address and a port, such as "127.0.0.1:9100"'})
]
Texts = Annotated[tuple[Text, ...], Meta(min_length=1)]
OneOrMore = Annotated[Text | Texts, Meta(extra={"expected": "text, or a list of: text"})]
Port = Annotated[int, Meta(ge=1, le=65535)]
Gigabytes = Annotated[
    Annotated[int, Meta(ge=1, le=10_000)] | str,
    Meta(extra={"expected": 'a size: gigabytes as a whole number, or text such as "20GB"'}),
]
Anything = dict[str, object]


class ReadyKeys(Struct, frozen=True, kw_only=True):
    """How it is known that an instance answers; one of the first three."""

    tcp: Annotated[Port | None, Meta(description="this port accepts a connection")] = None
    ssh: Annotated[Port | None, Meta(description="a login with the group's key succeeds")] = None
    command: Annotated[
        Texts | None,
        Meta(
            description="a program on the runner's host, and its arguments, exits with 0; it has "
            "HOSTLER_ADDRESS, HOSTLER_PORT and HOSTLER_MACHINE in its environment"
        ),
    ] = None
    timeout: Annotated[Time | None, Meta(description="how long one try may take")] = None


class PluginTable(Struct, frozen=True, kw_only=True):
    """The keys of [runners.autoscaler.plugin_config]."""

    name: Annotated[
        Name | None,
        Meta(description="**needed**: the group's name; one runner, one group"),
    ] = None
    server_type: Annotated[
        OneOrMore | None,
        Meta(
            description="**needed**: type of server, or several: the next one is tried where one "
            "is out of stock"
        ),
    ] = None
    zone: Annotated[
        OneOrMore | None,
        Meta(
            description="zone, or several, in order of preference; left out: SCW_DEFAULT_ZONE, or "
            "`fr-par-1`"
        ),
    ] = None
    location: Annotated[OneOrMore | None, Meta(description="another name for `zone`")] = None
    image: Annotated[
        Text | None,
        Meta(description="label of the marketplace, or id; left out: `ubuntu_noble`"),
    ] = None
    max_size: Annotated[
        Annotated[int, Meta(ge=1, le=100_000)],
        Meta(description="instances at most, whatever the runner asks for"),
    ] = 100
    cloud_init: Annotated[
        Text | None, Meta(description="user data for cloud-init; the group's key is added to it")
    ] = None
    cloud_init_file: Annotated[File | None, Meta(description="a file that holds it")] = None
    user_data: Annotated[Text | None, Meta(description="another name for `cloud_init`")] = None
    user_data_file: Annotated[
        File | None, Meta(description="another name for `cloud_init_file`")
    ] = None
    volume_size: Annotated[
        Gigabytes | None, Meta(description="size of the root disk; left out: 20 GB")
    ] = None
    public_ipv4_disabled: Annotated[
        bool, Meta(description="give instances no public IPv4 address")
    ] = False
    public_ipv6_disabled: Annotated[
        bool, Meta(description="give instances no public IPv6 address")
    ] = False
    private_networks: Annotated[
        tuple[Uuid, ...], Meta(description="ids of private networks that instances join")
    ] = ()
    security_group: Annotated[
        Uuid | None, Meta(description="its id; left out: the project's default")
    ] = None
    placement_group: Annotated[Uuid | None, Meta(description="its id")] = None
    tags: Annotated[tuple[Text, ...], Meta(description="tags beside our own")] = ()
    labels: Annotated[
        dict[str, str],
        Meta(
            description="more tags, written `key=value`", extra={"expected": "an object of texts"}
        ),
    ] = {}
    address_pool: Annotated[
        Text | None,
        Meta(description="use free IPv4 addresses with this tag, and release them afterwards"),
    ] = None
    user: Annotated[
        Login | None,
        Meta(
            description="the login on instances; left out: `username` of the runner's "
            "connector_config, or `root`"
        ),
    ] = None
    ssh_key_file: Annotated[
        File | None,
        Meta(
            description="a private key without a passphrase; left out: the runner's `key_path`, "
            "or one that is made for the group and stored in its state folder"
        ),
    ] = None
    ready: Annotated[
        Text | ReadyKeys,
        Meta(
            description="when an instance counts as Running: `tcp` (the SSH port answers), `ssh` "
            "(a login succeeds), `api` (the provider says so), or an object, see below",
            extra={"expected": 'one of "tcp", "ssh", "api", or an object with tcp, ssh or command'},
        ),
    ] = "tcp"
    access_key: Annotated[
        Text | None, Meta(description="SCW_ACCESS_KEY; checked, and not needed for anything")
    ] = None
    access_key_file: Annotated[File | None, Meta(description="a file that holds it")] = None
    secret_key: Annotated[
        Text | None, Meta(description="**needed**, here or as SCW_SECRET_KEY: the API key's secret")
    ] = None
    secret_key_file: Annotated[File | None, Meta(description="a file that holds it")] = None
    project: Annotated[
        Uuid | None,
        Meta(
            description="**needed**, here or as SCW_DEFAULT_PROJECT_ID or SCW_PROJECT_ID: the "
            "project's id"
        ),
    ] = None
    project_file: Annotated[File | None, Meta(description="a file that holds it")] = None
    organization: Annotated[
        Uuid | None,
        Meta(
            description="SCW_DEFAULT_ORGANIZATION_ID or SCW_ORGANIZATION_ID; `doctor` reads its "
            "quotas"
        ),
    ] = None
    organization_file: Annotated[File | None, Meta(description="a file that holds it")] = None
    endpoint: Annotated[
        Text | None,
        Meta(description="SCW_API_URL; left out: `https://api.scaleway.com`"),
    ] = None
    endpoint_file: Annotated[File | None, Meta(description="a file that holds it")] = None
    ca_file: Annotated[
        File | None, Meta(description="certificates (PEM) to trust instead of the system's")
    ] = None
    state_dir: Annotated[
        Text | None,
        Meta(
            description="where records and keys are stored, in `fleeting/NAME`; left out: "
            "HOSTLER_STATE_DIR, or `/var/lib/hostler` for root, or the user's state folder"
        ),
    ] = None
    adopt: Annotated[
        tuple[Installation, ...],
        Meta(description="installations of lost state folders, whose instances become ours"),
    ] = ()
    reclaim: Annotated[
        bool,
        Meta(description="delete resources with our tag that no record explains"),
    ] = True
    rate: Annotated[
        Annotated[float, Meta(ge=0.01, le=10_000)],
        Meta(description="calls a second to the provider, in the long run"),
    ] = 10.0
    burst: Annotated[
        Annotated[int, Meta(ge=1, le=10_000)], Meta(description="calls that may be made at once")
    ] = 20
    consistency_delay: Annotated[
        Time | None, Meta(description="how long effects and listings may lag; left out: `1m`")
    ] = None
    metrics: Annotated[
        Address | None, Meta(description="address and port where our metrics are served")
    ] = None
    timers: Annotated[
        Anything,
        Meta(
            description="as in [the fleet file](settings.md#fleetnametimers)",
            extra={"expected": "an object"},
        ),
    ] = {}
    caps: Annotated[
        Anything,
        Meta(
            description="as in [the fleet file](settings.md#fleetnamecaps), but what failed goes "
            "sooner: `share` is 0.5 of `max_size`, and `per_hour` twice `max_size`, at least 20",
            extra={"expected": "an object"},
        ),
    ] = {}
    engine: Annotated[
        Anything,
        Meta(
            description="as in [the fleet file](settings.md#engine)",
            extra={"expected": "an object"},
        ),
    ] = {}
    token: Annotated[object, refused("Scaleway has secret keys: use secret_key")] = None
    project_id: Annotated[object, refused("it is called project")] = None
    organization_id: Annotated[object, refused("it is called organization")] = None
    os_id: Annotated[object, refused("name an image")] = None
    public_ip_pool_enabled: Annotated[object, refused(_NO_POOL)] = None
    public_ip_pool_selector: Annotated[object, refused(_NO_POOL)] = None
    max_instances: Annotated[object, refused(_RUNNERS)] = None
    capacity_per_instance: Annotated[object, refused(_RUNNERS)] = None
    max_use_count: Annotated[object, refused(_RUNNERS)] = None
    username: Annotated[object, refused(_CONNECTORS)] = None
    key_path: Annotated[object, refused(_CONNECTORS)] = None
    use_external_addr: Annotated[object, refused(_CONNECTORS)] = None
    schema: Annotated[object, refused(_SCHEMA)] = None
