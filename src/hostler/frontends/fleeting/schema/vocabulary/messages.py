"""Words that messages and enums of a call may be named by; any other may turn its fields round.

`Shortfall {int64 count}` says the opposite of `IncreaseReply {int64 count}`. No list of such words
would ever be whole, so the list is of those that are known to say nothing else than the call does.
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
    instance instances machine machines server servers node nodes vm vms host hosts id ids name
    names text string number num integer int count n identifier identifiers fleeting plugin provider
    group
    """
)
"""Words that say how a message is built, or what everything here is about."""
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
    "Init": _STRUCTURE | _INIT,
    "Update": _STRUCTURE | _UPDATE,
    "Increase": _STRUCTURE | _INCREASE,
    "Decrease": _STRUCTURE | _DECREASE,
    "Suspend": _STRUCTURE | _SUSPEND,
    "Resume": _STRUCTURE | _RESUME,
    "ConnectInfo": _STRUCTURE | _CONNECT,
    "Heartbeat": _STRUCTURE | _HEARTBEAT,
    "Shutdown": _STRUCTURE | _SHUTDOWN,
}
"""By call, the words of which the names of its messages may be made."""
_GOOGLE = "google.protobuf."


def stranger(kind: Descriptor | EnumDescriptor | None, known: frozenset[str]) -> str:
    """Return the name of a type, or of one that it is written in, that has an unknown word in it.

    Empty where every word is known. Single letters and figures say nothing; google's types are
    what they are, and the entries of a map have no name of their own.
    """
    while kind is not None:
        own = not (isinstance(kind, Descriptor) and kind.GetOptions().map_entry)
        if own and not kind.full_name.startswith(_GOOGLE):
            unknown = (w for w in words(kind.name) if len(w) > 1 and not w.isdigit())
            if any(word not in known for word in unknown):
                return str(kind.name)
        kind = kind.containing_type
    return ""
