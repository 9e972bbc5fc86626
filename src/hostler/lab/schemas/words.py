"""Words for schemas that are drawn: what a stranger could call things.

None is taken from a list of the plugin's: what was written down twice proves nothing.
"""

UNKNOWN = (
    *("zebra", "handle", "victims", "targets", "granted", "by", "login", "platform", "cpu", "via"),
    *("pwd", "pem", "wan", "lan", "ceiling", "boxes", "crew", "outcome_list", "payload", "things"),
    *("reached", "how_many", "ref", "uid", "label_set", "stamp", "weight", "kindred", "upper"),
    *("quota", "who", "census", "blob", "until", "valid_until", "member", "extent", "slots"),
)
"""Names that may mean what they stand for, and that nobody can know to."""
CONTAINERS = ("result", "data", "info", "payload", "response", "details", "value")
ODD_CONTAINERS = (
    *("bastion", "previous", "fallback", "spare", "shadow", "alternate", "probe", "outer"),
    *("legacy", "candidate", "mirror", "draft"),
)
MESSAGES = (
    *("Alpha", "Tender", "Verdict", "Ledger", "Offering", "Bundle", "Parcel", "Manifest"),
    *("Sketch", "Ticket", "Roster", "Batch", "Draft", "Tally"),
)
TURNED_MESSAGES = {
    "count": ("SetTargetSize", "DesiredCapacity", "ScaleTo", "WantedTotal", "AbsoluteSize"),
    "accepted_count": ("Shortfall", "Unfulfilled", "Deficit", "IncreaseFailures", "StillMissing"),
    "ids": ("KeepList", "Survivors", "AllButThese", "ProtectedInstances", "Exemptions"),
    "accepted_ids": ("DecreaseFailures", "Leftovers", "Undeleted", "NotRemoved", "StillThere"),
}
"""Names of messages that turn round what their fields say."""
TURNED_FIELDS = {
    "count": ("desired", "target_size", "new_total", "size", "capacity", "until_size"),
    "accepted_count": ("failed", "shortfall", "missing", "not_started", "lacking", "rejected"),
    "ids": ("keep", "survivors", "protected", "all_but", "except", "spared"),
    "accepted_ids": ("failed", "remaining", "not_deleted", "survivors", "left", "undeleted"),
    "use_static_credentials": ("use_dynamic_credentials", "no_static_credentials", "rotate"),
}
VERDICTS = ("ok", "success", "found", "ready", "initialized", "done", "accepted", "valid", "fresh")
SPEAKS = (
    "zone_count",
    "rank",
    "alpha",
    "region_kind",
    "generation",
    "status_text",
    "mood",
    "flavor",
)
SOME = ("partial", "throttled", "limited", "incomplete")
"""Flags that are set where less was accepted than was asked for."""
ENDS = ("end", "last_one", "over", "synced", "no_more")
"""Marks that a stream ends with."""
HARMLESS = ("error", "message", "note", "trace_id", "description")
ASKS = (
    "dry_run",
    "zone",
    "filter",
    "desired_zone",
    "force",
    "limit",
    "priority",
    "only",
    "hint_id",
    "request_id",
)
HARMLESS_ASKS = ("trace_id", "user_agent", "locale")
RIVALS = {
    "accepted_ids": ("instances", "ids", "succeeded", "accepted", "removed", "instance_ids"),
    "ids": ("instances", "ids", "instance_ids", "targets"),
    "capabilities": ("features", "capabilities"),
}
LISTS = ("instances", "states", "machines", "statuses", "nodes", "fleet", "seen")
METHODS = {
    "Init": ("Initialize", "Setup", "PluginInit"),
    "Update": ("GetUpdate", "List", "UpdateInstances"),
    "Increase": ("ScaleUp", "IncreaseInstances", "Grow"),
    "Decrease": ("ScaleDown", "DecreaseInstances", "Remove"),
    "ConnectInfo": ("GetConnectInfo", "Connect", "ConnectInfoV2"),
    "Heartbeat": ("Ping", "CheckHeartbeat"),
    "Shutdown": ("Close", "ShutdownPlugin"),
}
STATES = {
    "creating": ("PROVISIONING", "STARTING", "PENDING", "BEING_BORN"),
    "running": ("ACTIVE", "READY", "UP", "NOT_DEAD"),
    "deleting": ("TERMINATING", "REMOVING", "STOPPING", "ON_ITS_WAY_OUT"),
}
