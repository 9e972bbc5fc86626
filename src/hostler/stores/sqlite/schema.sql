-- Version 1. A record is a JSON document, with the columns that queries need beside it.
-- Steps forward are files of their own (see migrate.py); this one is never changed.

CREATE TABLE installations (
    position INTEGER PRIMARY KEY,   -- 0 is our own
    id TEXT NOT NULL UNIQUE
);

-- Which fleet file the newest engine runs; one row.
CREATE TABLE engine (
    row INTEGER PRIMARY KEY CHECK (row = 0),
    doc TEXT NOT NULL
);

CREATE TABLE leases (
    name TEXT PRIMARY KEY,
    holder TEXT NOT NULL,           -- empty: given back; the row stays, so that epochs only grow
    epoch INTEGER NOT NULL,
    beat INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE fleets (
    name TEXT PRIMARY KEY,
    version INTEGER NOT NULL,
    doc TEXT NOT NULL
);

-- The living machines; those that are gone are in the history.
CREATE TABLE machines (
    id TEXT PRIMARY KEY,
    fleet TEXT NOT NULL,
    serial INTEGER NOT NULL,
    version INTEGER NOT NULL,
    doc TEXT NOT NULL
);
CREATE INDEX machines_of_fleet ON machines (fleet, serial, id);

CREATE TABLE history (
    id TEXT PRIMARY KEY,
    fleet TEXT NOT NULL,
    serial INTEGER NOT NULL,
    version INTEGER NOT NULL,
    since INTEGER NOT NULL,         -- when it went: microseconds since 1970, UTC
    doc TEXT NOT NULL
);
CREATE INDEX history_by_time ON history (since, id);

-- Which resource is whose: every id that a living machine has and that is not confirmed gone.
CREATE TABLE claims (
    resource TEXT PRIMARY KEY,
    machine TEXT NOT NULL REFERENCES machines (id) ON DELETE CASCADE
) WITHOUT ROWID;
CREATE INDEX claims_of_machine ON claims (machine);

CREATE TABLE events (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    at INTEGER NOT NULL,            -- microseconds since 1970, UTC
    fleet TEXT NOT NULL,
    machine TEXT,
    host TEXT,
    doc TEXT NOT NULL,
    image TEXT                      -- the machine after the change
);
CREATE INDEX events_of_fleet ON events (fleet, number);
CREATE INDEX events_of_machine ON events (machine, number, at) WHERE machine IS NOT NULL;
CREATE INDEX events_of_host ON events (host, number) WHERE host IS NOT NULL;
CREATE INDEX images ON events (fleet, machine, number, at) WHERE image IS NOT NULL;

CREATE INDEX events_by_time ON events (at, number, fleet, machine);

CREATE TABLE forgotten (
    row INTEGER PRIMARY KEY CHECK (row = 0),
    before INTEGER NOT NULL         -- what was over by then is not whole: microseconds since 1970
);

CREATE TABLE hosts (
    id TEXT PRIMARY KEY,
    version INTEGER NOT NULL,
    doc TEXT NOT NULL
);

CREATE TABLE bindings (
    host TEXT PRIMARY KEY,
    machine TEXT NOT NULL UNIQUE
) WITHOUT ROWID;

CREATE TABLE orphans (
    resource TEXT PRIMARY KEY,
    doc TEXT NOT NULL
);

CREATE TABLE requests (
    number INTEGER PRIMARY KEY AUTOINCREMENT,   -- never given twice
    doc TEXT NOT NULL
);
