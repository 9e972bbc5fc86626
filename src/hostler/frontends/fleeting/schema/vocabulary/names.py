"""Words: every name by which a method or a field of the schema is known.

The file to look into when a runner speaks other words; beside it stand those of values (spellings)
and those that must never be taken (never). A name here is compared whole, in lower case and without
punctuation. `names` are enough by themselves (*exact*); `also` count only for the
sole field of its type in a request or an answer that can mean one thing (*neutral*), as do the
words of NEUTRAL; `hints` decide nothing: they only order what is proposed to the operator.
"""

from collections.abc import Mapping

from .naming import plain, word_set
from .slots import Kind, Need, Slot

CORE_METHODS = (
    "Init",
    "Update",
    "Increase",
    "Decrease",
    "ConnectInfo",
    "Heartbeat",
    "Shutdown",
)
OPTIONAL_METHODS = ("Suspend", "Resume")
METHODS = CORE_METHODS + OPTIONAL_METHODS

REQUEST, REPLY = "request", "reply"
OPAQUE = ("keepalive", "timeout")
"""Fields of connector_config that we hand back as they came."""


def _list(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(plain(name) for name in text.split()))


_WRAP = word_set(
    """
    result results response reply req resp request data payload value item body params parameters
    args arguments message msg content envelope input output answer
    """
)
_INSTANCE = _WRAP | word_set("instance machine server node vm host")
_ENTRY = _INSTANCE | word_set("update report")
_STATUS = _ENTRY | word_set("status")
_CONNECTOR = _WRAP | word_set(
    """
    connector connection connect conn config configuration settings setting info information details
    detail options spec credentials credential creds auth login ssh transport
    """
)
_REACHED = _INSTANCE | word_set("connect info information details detail")
_CONNECT = _INSTANCE | _CONNECTOR
_ADDRESS = _CONNECT | word_set(
    "address addresses addr addrs network net endpoint endpoints access remote"
)
_PLUGIN = _WRAP | word_set("plugin provider")
_PROVIDER = _PLUGIN | word_set("group info information details detail properties")

ID_NAMES = _list("id instance_id")
ID_ALSO = _list("instance name")
_ID_HINTS = _list("uid uuid identifier machine machine_id node node_id server server_id ref handle")
_IDS_NAMES = _list("instances ids instance_ids instance")
_LIST_HINTS = _list("targets victims machines nodes servers members vms hosts group fleet")


def _connector(*, reply: bool) -> tuple[Slot, ...]:
    """Return the fields of connector_config, which travel in Init and come back in ConnectInfo."""

    def slot(name: str, kind: Kind, names: str, hints: str, need: Need) -> Slot:
        return Slot(
            name=name,
            kind=kind,
            names=_list(names),
            hints=_list(hints),
            need=need,
            within=_CONNECT if reply else _CONNECTOR,
        )

    some, may = Need.EXPECTED, Need.OPTIONAL
    return (
        slot("os", Kind.WORD, "os operating_system", "platform guest", some),
        slot("arch", Kind.WORD, "arch architecture", "machine cpu cpu_arch", some),
        slot(
            "protocol",
            Kind.WORD,
            "protocol proto connector_protocol connection_protocol",
            "transport scheme via",
            some,
        ),
        slot("protocol_port", Kind.COUNT, "protocol_port port connection_port", "ssh_port", may),
        slot("username", Kind.TEXT, "username user user_name", "login account ssh_user", some),
        slot("password", Kind.SECRET, "password passwd", "pass pwd secret passphrase", some),
        slot(
            "key",
            Kind.SECRET,
            "key private_key key_bytes private_key_pem",
            "pem identity ssh_key ssh_private_key key_pem secret_key keydata",
            some,
        ),
        slot(
            "use_static_credentials",
            Kind.FLAG,
            "use_static_credentials static_credentials use_static_creds",
            "static fixed",
            may if reply else some,
        ),
        slot("keepalive", Kind.OPAQUE, "keepalive keep_alive keepalive_interval", "", may),
        slot("timeout", Kind.OPAQUE, "timeout connect_timeout connection_timeout", "", may),
    )


_OK = Slot(
    name="ok",
    kind=Kind.FLAG,
    names=_list("ok success successful"),
    within=_WRAP,
)
"""A flag beside an answer: an unset one would be read as a failure."""


def _ids(*, reply: bool) -> Slot:
    if not reply:
        return Slot(
            name="ids",
            kind=Kind.IDS,
            names=_IDS_NAMES,
            also=ID_ALSO,
            hints=_LIST_HINTS,
            need=Need.CRITICAL,
            sole=True,
            within=_WRAP,
        )
    return Slot(
        name="succeeded",
        kind=Kind.IDS,
        names=_list("succeeded succeeded_ids succeeded_instances succeeded_instance_ids accepted"),
        also=_IDS_NAMES,
        hints=(*_LIST_HINTS, *_list("removed deleted done affected suspended resumed stopped")),
        need=Need.ANSWER,
        sole=True,
        within=_WRAP,
    )


def _id() -> Slot:
    return Slot(
        name="id",
        kind=Kind.TEXT,
        names=(*ID_NAMES, "instance"),
        also=ID_ALSO,
        hints=_ID_HINTS,
        need=Need.CRITICAL,
        sole=True,
        within=_INSTANCE,
    )


_INIT_REQUEST = (
    Slot(
        name="config",
        kind=Kind.CONFIG,
        names=_list(
            "config config_json json_config plugin_config plugin_config_json configuration"
            " plugin_configuration cfg"
        ),
        also=_list("json raw raw_config blob document"),
        hints=_list("settings options params spec"),
        need=Need.CRITICAL,
        sole=True,
        within=_PLUGIN,
    ),
    *_connector(reply=False),
)
_INIT_REPLY = (
    Slot(
        name="id",
        kind=Kind.TEXT,
        names=_list("id provider_id group_id instance_group_id"),
        hints=_list("name identifier uid"),
        need=Need.EXPECTED,
        within=_PROVIDER,
    ),
    Slot(
        name="max_size",
        kind=Kind.COUNT,
        names=_list("max_size max maximum max_instances maximum_size maximum_instances"),
        hints=_list("capacity size ceiling upper cap most"),
        need=Need.EXPECTED,
        within=_PROVIDER,
    ),
    Slot(
        name="version", kind=Kind.TEXT, names=_list("version ver plugin_version"), within=_PROVIDER
    ),
    Slot(
        name="build_info",
        kind=Kind.TEXT,
        names=_list("build_info buildinfo build build_information"),
        within=_PROVIDER,
    ),
    Slot(
        name="capabilities",
        kind=Kind.TEXTS,
        names=_list("capabilities"),
        hints=_list("caps features"),
        within=_PROVIDER,
    ),
    _OK,
)
_INCREASE_REQUEST = Slot(
    name="count",
    kind=Kind.COUNT,
    names=_list("n delta count num increment"),
    also=_list("number amount"),
    hints=_list("by quantity how_many add more extra additional instances size"),
    need=Need.CRITICAL,
    sole=True,
    within=_WRAP,
)
_INCREASE_REPLY = Slot(
    name="succeeded",
    kind=Kind.COUNT,
    names=_list("succeeded succeeded_count num_succeeded accepted accepted_count"),
    also=_list("n num count delta number amount"),
    hints=_list("granted given added got made started created instances increase"),
    need=Need.ANSWER,
    sole=True,
    within=_WRAP,
)
_CONNECT_REPLY = (
    Slot(
        name="id",
        kind=Kind.TEXT,
        names=ID_NAMES,
        hints=("instance", *_ID_HINTS),
        need=Need.EXPECTED,
        within=_REACHED,
    ),
    *_connector(reply=True),
    Slot(
        name="external",
        kind=Kind.TEXT,
        names=_list(
            "external external_addr external_address external_ip external_host"
            " public_addr public_address public_ip public_host"
        ),
        hints=_list("public wan outside outer addr address ip host reachable hostname public_ipv4"),
        need=Need.EXPECTED,
        within=_ADDRESS,
    ),
    Slot(
        name="internal",
        kind=Kind.TEXT,
        names=_list(
            "internal internal_addr internal_address internal_ip internal_host"
            " private_addr private_address private_ip private_host"
        ),
        hints=_list("private lan inside inner local private_ipv4"),
        need=Need.EXPECTED,
        within=_ADDRESS,
    ),
    Slot(
        name="expires",
        kind=Kind.TIME,
        names=_list("expires expires_at expiry expiration expire_time expires_on"),
        within=_CONNECT,
    ),
    _OK,
)
_HEALTHY = Slot(
    name="healthy",
    kind=Kind.FLAG,
    names=_list("healthy ok alive success well"),
    hints=_list("up good running"),
    need=Need.EXPECTED,
    within=_INSTANCE,
)

UPDATE_LIST = Slot(
    name="instances",
    kind=Kind.IDS,
    names=_list("instances instance instance_states"),
    also=_list("machines servers nodes states statuses updates"),
    hints=_LIST_HINTS,
    need=Need.CRITICAL,
    sole=True,
    within=_WRAP,
)
"""The list in Update's answer, or for a stream the message of one instance."""
UPDATE_ID = Slot(
    name="id",
    kind=Kind.TEXT,
    names=(*ID_NAMES, "instance"),
    also=ID_ALSO,
    hints=_ID_HINTS,
    need=Need.CRITICAL,
    sole=True,
    within=_ENTRY,
)
UPDATE_STATE = Slot(
    name="state",
    kind=Kind.STATE,
    names=_list("state instance_state"),
    also=_list("status phase"),
    hints=_list("condition stage lifecycle mode st"),
    need=Need.CRITICAL,
    sole=True,
    within=_STATUS,
)

SLOTS: Mapping[tuple[str, str], tuple[Slot, ...]] = {
    ("Init", REQUEST): _INIT_REQUEST,
    ("Init", REPLY): _INIT_REPLY,
    ("Update", REQUEST): (),
    ("Update", REPLY): (UPDATE_LIST, UPDATE_ID, UPDATE_STATE),
    ("Increase", REQUEST): (_INCREASE_REQUEST,),
    ("Increase", REPLY): (_INCREASE_REPLY, _OK),
    ("Decrease", REQUEST): (_ids(reply=False),),
    ("Decrease", REPLY): (_ids(reply=True), _OK),
    ("Suspend", REQUEST): (_ids(reply=False),),
    ("Suspend", REPLY): (_ids(reply=True), _OK),
    ("Resume", REQUEST): (_ids(reply=False),),
    ("Resume", REPLY): (_ids(reply=True), _OK),
    ("ConnectInfo", REQUEST): (_id(),),
    ("ConnectInfo", REPLY): _CONNECT_REPLY,
    ("Heartbeat", REQUEST): (_id(),),
    ("Heartbeat", REPLY): (_HEALTHY,),
    ("Shutdown", REQUEST): (),
    ("Shutdown", REPLY): (_OK,),
}
"""Every logical field of every call."""
