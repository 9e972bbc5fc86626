"""Words: every name by which a method or a field of the schema is known.

The file to look into when a runner speaks other words; beside it stand those of values (spellings)
and those that must never be taken (never). A name here is compared whole, in lower case and without
punctuation. `names` are enough by themselves (*exact*); `also` count only for the
sole field of its type in a request or an answer that can mean one thing (*neutral*), as do the
words of NEUTRAL; `hints` decide nothing: they only order what is proposed to the operator.
"""

from collections.abc import Mapping

from msgspec.structs import replace

from .naming import plain, word_set, words
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
VERDICT_SLOTS = ("ok", "healthy")
"""Fields that say that a call went well: an answer always does, or there is an error instead."""
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

ID_NAMES, ID_ALSO = _list("id instance_id"), _list("instance name")
_ID_HINTS = "uid identifier machine machine_id node node_id server server_id ref handle"
_AN_ID = f"id instance_id instance | instance name | {_ID_HINTS}"
_MANY = "instances ids instance_ids instance"
_MANY_HINTS = "targets victims machines nodes servers members vms hosts"


def _slot(
    name: str, kind: Kind, known_by: str, within: frozenset[str], need: Need = Need.OPTIONAL
) -> Slot:
    """Return a field; what it is known by is written `names | also | hints`."""
    names, also, hints, *_ = (_list(part) for part in f"{known_by} | | ".split("|"))
    spelled = tuple(frozenset(words(one)) for one in known_by.split() if one != "|")
    return Slot(
        name=name,
        kind=kind,
        names=names,
        also=also,
        hints=hints,
        need=need,
        within=within,
        spelled=spelled,
    )


def _connector(*, reply: bool) -> tuple[Slot, ...]:
    """Return the fields of connector_config, which travel in Init and come back in ConnectInfo."""
    within = _CONNECT if reply else _CONNECTOR
    some = Need.EXPECTED
    login = Need.CONVEYED if reply else Need.EXPECTED
    rows = (
        ("os", Kind.WORD, some, "os operating_system"),
        ("arch", Kind.WORD, some, "arch architecture | | cpu cpu_arch"),
        ("protocol", Kind.WORD, some, _PROTOCOL),
        ("protocol_port", Kind.COUNT, some, "protocol_port port connection_port | | ssh_port"),
        ("username", Kind.TEXT, login, "username user user_name | | login ssh_user"),
        ("password", Kind.SECRET, some, "password passwd | | pass pwd"),
        ("key", Kind.SECRET, login, _KEY),
        ("use_static_credentials", Kind.FLAG, some, _STATIC),
        ("keepalive", Kind.OPAQUE, some, "keepalive keep_alive keepalive_interval"),
        ("timeout", Kind.OPAQUE, some, "timeout connect_timeout connection_timeout"),
    )
    return tuple(_slot(name, kind, known_by, within, need) for name, kind, need, known_by in rows)


_PROTOCOL = "protocol proto connector_protocol connection_protocol"
_KEY = "key private_key key_bytes private_key_pem | | pem ssh_private_key key_pem secret_key"
_STATIC = "use_static_credentials static_credentials use_static_creds | | static fixed"

_OK = _slot("ok", Kind.FLAG, "ok success successful", _WRAP)
"""A flag or an enum beside an answer: an unset one would be read as a failure."""

_IDS = _slot("ids", Kind.IDS, f"{_MANY} | instance name | {_MANY_HINTS}", _WRAP, Need.CRITICAL)


def _done(hints: str) -> Slot:
    """Return the list of those of which a call was accepted; `hints`: what they are by it."""
    return _slot(
        "succeeded",
        Kind.IDS,
        "succeeded succeeded_ids succeeded_instances succeeded_instance_ids accepted"
        f" | {_MANY} | done {hints}",
        _WRAP,
        Need.ANSWER,
    )


_WENT_WRONG = word_set("failed failure failures error errors rejected rejection")
_REST = replace(
    _slot("failed", Kind.IDS, "failed failed_ids failed_instances failed_instance_ids", _WRAP),
    allowed=_WENT_WRONG,
)
_REST_COUNT = replace(
    _slot("failed", Kind.COUNT, "failed failed_count num_failed count_failed", _WRAP),
    allowed=_WENT_WRONG,
)
"""What was asked for and not accepted: those that succeeded are told, too, or there are none."""

_ID = _slot("id", Kind.TEXT, _AN_ID, _INSTANCE, Need.CRITICAL)

_CONFIG = _slot(
    "config",
    Kind.CONFIG,
    "config config_json json_config plugin_config plugin_config_json configuration"
    " plugin_configuration cfg | json raw raw_config blob document | settings options params spec",
    _PLUGIN,
    Need.CRITICAL,
)
_INIT_REPLY = (
    _slot(
        "id",
        Kind.TEXT,
        "id provider_id group_id instance_group_id | | identifier uid",
        _PROVIDER,
        Need.EXPECTED,
    ),
    _slot(
        "max_size",
        Kind.COUNT,
        "max_size max maximum max_instances maximum_size maximum_instances"
        " | | ceiling upper cap most",
        _PROVIDER,
        Need.EXPECTED,
    ),
    _slot("version", Kind.TEXT, "version ver plugin_version", _PROVIDER, Need.EXPECTED),
    _slot(
        "build_info",
        Kind.TEXT,
        "build_info buildinfo build build_information",
        _PROVIDER,
        Need.EXPECTED,
    ),
    _slot("capabilities", Kind.TEXTS, "capabilities | | caps features", _PROVIDER, Need.EXPECTED),
    _OK,
)
_INCREASE_REQUEST = _slot(
    "count",
    Kind.COUNT,
    "n delta count num increment | number amount | by quantity how_many add more extra additional",
    _WRAP,
    Need.CRITICAL,
)
_INCREASE_REPLY = _slot(
    "succeeded",
    Kind.COUNT,
    "succeeded succeeded_count num_succeeded accepted accepted_count"
    " | n num count delta number amount"
    " | granted given added got made started created",
    _WRAP,
    Need.ANSWER,
)
_CONNECT_REPLY = (
    _slot("id", Kind.TEXT, f"id instance_id | | instance {_ID_HINTS}", _REACHED, Need.EXPECTED),
    *_connector(reply=True),
    _slot(
        "external",
        Kind.TEXT,
        "external external_addr external_address external_ip external_host"
        " public_addr public_address public_ip public_host"
        " | | wan outside outer public_ipv4",
        _ADDRESS,
        Need.EXPECTED,
    ),
    _slot(
        "internal",
        Kind.TEXT,
        "internal internal_addr internal_address internal_ip internal_host"
        " private_addr private_address private_ip private_host"
        " | | lan inside inner private_ipv4",
        _ADDRESS,
        Need.EXPECTED,
    ),
    _slot(
        "expires",
        Kind.TIME,
        "expires expires_at expiry expiration expire_time expires_on",
        _CONNECT,
    ),
    _OK,
)
_HEALTHY = _slot(
    "healthy",
    Kind.FLAG,
    "healthy ok alive success well | | up good running",
    _INSTANCE,
)

UPDATE_LIST = _slot(
    "instances",
    Kind.IDS,
    "instances instance instance_states"
    f" | machines servers nodes states statuses updates | {_MANY_HINTS}",
    _WRAP,
    Need.CRITICAL,
)
"""The list in Update's answer, or for a stream the message of one instance."""
UPDATE_ID = _slot("id", Kind.TEXT, _AN_ID, _ENTRY, Need.CRITICAL)
UPDATE_STATE = _slot(
    "state",
    Kind.STATE,
    "state instance_state | status phase | condition stage mode st",
    _STATUS,
    Need.CRITICAL,
)
UPDATE_TOTAL = _slot(
    "total",
    Kind.COUNT,
    "total count total_count size length num_instances instance_count total_instances",
    _WRAP,
)
"""How many instances an answer tells of."""
UPDATE_ENTRY = (UPDATE_LIST, UPDATE_ID, UPDATE_STATE)
UPDATE_BESIDE = (_OK, UPDATE_TOTAL)

SLOTS: Mapping[tuple[str, str], tuple[Slot, ...]] = {
    ("Init", REQUEST): (_CONFIG, *_connector(reply=False)),
    ("Init", REPLY): _INIT_REPLY,
    ("Update", REQUEST): (),
    ("Update", REPLY): (*UPDATE_ENTRY, *UPDATE_BESIDE),
    ("Increase", REQUEST): (_INCREASE_REQUEST,),
    ("Increase", REPLY): (_INCREASE_REPLY, _REST_COUNT, _OK),
    ("Decrease", REQUEST): (_IDS,),
    ("Decrease", REPLY): (_done("victims removed deleted terminated"), _REST, _OK),
    ("Suspend", REQUEST): (_IDS,),
    ("Suspend", REPLY): (_done("suspended"), _REST, _OK),
    ("Resume", REQUEST): (_IDS,),
    ("Resume", REPLY): (_done("resumed"), _REST, _OK),
    ("ConnectInfo", REQUEST): (_ID,),
    ("ConnectInfo", REPLY): _CONNECT_REPLY,
    ("Heartbeat", REQUEST): (_ID,),
    ("Heartbeat", REPLY): (_HEALTHY,),
    ("Shutdown", REQUEST): (),
    ("Shutdown", REPLY): (_OK,),
}
"""Every logical field of every call."""
