"""Words that messages and enums of a call may be named by; any other may turn its fields round.

`Shortfall {int64 count}` says the opposite of `IncreaseReply {int64 count}`. No list of such words
would ever be whole, so the list is of those that are known to say nothing else than the call does.
What a message is counts as well: the `count` of a `Group` is its size, and its `id` no instance's.
"""

from collections.abc import Mapping

from google.protobuf.descriptor import Descriptor, EnumDescriptor

from .naming import word_set, words

_STRUCTURE = word_set(
    """
    request requests response responses reply replies req resp rsp result results answer query rpc
    grpc api call calls message messages msg input output in out arg args argument arguments param
    params parameter parameters data payload body envelope content contents container wrapper box
    value values item items element elements entry entries record records row object tuple pair one
    ref refs reference list listing set map collection info information detail details spec type
    kind enum empty void nothing ack pb proto protobuf dto the a an of for by to with and which
    id ids name names text string number num integer int count n identifier identifiers fleeting
    """
)
"""Words that say how a message is built."""
_MACHINES = word_set(
    """
    instance instances machine machines server servers node nodes vm vms host hosts
    """
)
"""Words for what everything here is about."""
_WHOLES = word_set("plugin provider group")
"""Words for what instances are of: it has an id, a count and instances of its own."""
_MANY = word_set("list listing set map collection")
"""Words for several of a thing: a count of theirs is how many there are."""
_INIT = word_set(
    """
    init initialize initialise initialization begin beginning begun start started open opened setup
    configure config configuration properties
    """
)
_UPDATE = word_set(
    "update updates list listing census snapshot report reports inventory state states status"
    " statuses event events"
)
_INCREASE = word_set(
    "increase increased increment delta amount more grow grown growth add added create created done"
    " accepted succeeded"
)
_DECREASE = word_set(
    "decrease decreased fewer less shrink shrunk remove removed delete deleted done accepted"
    " succeeded"
)
_SUSPEND = word_set("suspend suspended decrease done accepted succeeded")
_RESUME = word_set("resume resumed suspend decrease done accepted succeeded")
_CONNECT = word_set(
    "connect connection connector reach reached door access endpoint address addresses login"
)
_HEARTBEAT = word_set("heartbeat heart beat pulse ping pong alive health healthy status")
_SHUTDOWN = word_set("shutdown shut down stop stopped end ended close closed finish finished")

OF_CALLS: Mapping[str, frozenset[str]] = {
    "Init": _STRUCTURE | _MACHINES | _WHOLES | _INIT,
    "Update": _STRUCTURE | _MACHINES | _WHOLES | _UPDATE,
    "Increase": (_STRUCTURE - _MANY) | _MACHINES | _INCREASE,
    "Decrease": _STRUCTURE | _MACHINES | _DECREASE,
    "Suspend": _STRUCTURE | _MACHINES | _SUSPEND,
    "Resume": _STRUCTURE | _MACHINES | _RESUME,
    "ConnectInfo": _STRUCTURE | _MACHINES | _CONNECT,
    "Heartbeat": _STRUCTURE | _MACHINES | _HEARTBEAT,
    "Shutdown": _STRUCTURE | _MACHINES | _SHUTDOWN,
}
"""By call, the words of which the names of its messages may be made."""
_GOOGLE = "google.protobuf."


def stranger(kind: Descriptor | EnumDescriptor | None, known: frozenset[str]) -> str:
    """Return the name of a type, or of one that it is written in, that has an unknown word in it.

    Empty where every word is known. Single letters and figures say nothing; google's types are
    what they are, and the entries of a map have no name of their own.
    """
    after: tuple[str, ...] = ()
    while kind is not None:
        own = not (isinstance(kind, Descriptor) and kind.GetOptions().map_entry)
        if own and not kind.full_name.startswith(_GOOGLE):
            after = (*words(kind.name), *after)
            if not all(_known(after, at, known) for at in range(len(words(kind.name)))):
                return str(kind.name)
        kind = kind.containing_type
    return ""


def _known(parts: tuple[str, ...], at: int, known: frozenset[str]) -> bool:
    """Tell whether a word of a name is known, or is what a known thing behind it belongs to.

    A `PluginHeartbeat` and a `GroupInstance` are no plugin and no group; `GroupRef` is of one.
    """
    word = parts[at]
    if len(word) == 1 or word.isdigit() or word in known:
        return True
    of = word in _WHOLES or word in _MANY
    return of and any(len(one) > 1 and one in known - _STRUCTURE for one in parts[at + 1 :])
