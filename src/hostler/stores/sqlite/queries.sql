-- Every query, under its name. Names are used in Python as SQL["name"]; see queries.py.

-- name: installations
SELECT id FROM installations ORDER BY position;

-- name: add_installation
INSERT INTO installations (id) VALUES (:id) ON CONFLICT DO NOTHING;

-- name: found
INSERT INTO installations (position, id) VALUES (0, :id);

-- name: engine
SELECT doc FROM engine;

-- name: save_engine
INSERT INTO engine (row, doc) VALUES (0, :doc)
ON CONFLICT (row) DO UPDATE SET doc = excluded.doc;

-- name: epoch
SELECT epoch FROM leases WHERE name = :name;

-- name: leases
SELECT name, holder, epoch, beat FROM leases ORDER BY name;

-- name: first_lease
INSERT INTO leases (name, holder, epoch, beat) VALUES (:name, :holder, 1, 0)
ON CONFLICT DO NOTHING
RETURNING name, holder, epoch, beat;

-- name: take_lease
UPDATE leases SET holder = :taker, epoch = epoch + 1, beat = 0
WHERE name = :name AND holder = :holder AND epoch = :epoch AND beat = :beat
RETURNING name, holder, epoch, beat;

-- name: renew_lease
UPDATE leases SET beat = beat + 1
WHERE name = :name AND holder = :holder AND epoch = :epoch
RETURNING name, holder, epoch, beat;

-- name: drop_lease
UPDATE leases SET holder = '' WHERE name = :name AND holder = :holder AND epoch = :epoch;

-- name: fleets
SELECT doc FROM fleets ORDER BY name;

-- name: fleet
SELECT doc FROM fleets WHERE name = :name;

-- name: add_fleet
INSERT INTO fleets (name, version, doc) VALUES (:name, 1, :doc) ON CONFLICT DO NOTHING;

-- name: save_fleet
UPDATE fleets SET version = version + 1, doc = :doc WHERE name = :name AND version = :version;

-- name: remove_fleet
DELETE FROM fleets
WHERE name = :name AND version = :version
    AND NOT EXISTS (SELECT 1 FROM machines WHERE fleet = :name);

-- name: machines
SELECT doc FROM machines WHERE fleet = :fleet ORDER BY serial, id;

-- name: machine
SELECT doc FROM machines WHERE id = :id UNION ALL SELECT doc FROM history WHERE id = :id;

-- name: old_machine
SELECT doc FROM history WHERE id = :id;

-- name: issue
INSERT INTO issued (id) VALUES (:id) ON CONFLICT DO NOTHING;

-- name: issued
SELECT id FROM issued WHERE id = :id;

-- name: save_living
UPDATE machines SET fleet = :fleet, serial = :serial, version = version + 1, doc = :doc
WHERE id = :id AND version = :version;

-- name: save_deleted
UPDATE history
SET fleet = :fleet, serial = :serial, version = version + 1, since = :since, doc = :doc
WHERE id = :id AND version = :version;

-- name: leave_living
DELETE FROM machines WHERE id = :id AND version = :version;

-- name: leave_deleted
DELETE FROM history WHERE id = :id AND version = :version;

-- name: enter_living
INSERT INTO machines (id, fleet, serial, version, doc)
VALUES (:id, :fleet, :serial, :version + 1, :doc);

-- name: enter_deleted
INSERT INTO history (id, fleet, serial, version, since, doc)
VALUES (:id, :fleet, :serial, :version + 1, :since, :doc);

-- name: count_spent
INSERT INTO spent (fleet, euros)
SELECT fleet, coalesce(json_extract(doc, '$.billing.spent'), 0.0) FROM history WHERE id = :id
ON CONFLICT (fleet) DO UPDATE SET euros = euros + excluded.euros;

-- name: uncount_spent
UPDATE spent SET euros = euros - coalesce(json_extract(history.doc, '$.billing.spent'), 0.0)
FROM history WHERE history.id = :id AND spent.fleet = history.fleet;

-- name: spent
SELECT euros FROM spent WHERE fleet = :fleet;

-- name: claims
SELECT resource FROM claims WHERE machine = :machine;

-- name: claim
INSERT INTO claims (resource, machine) VALUES (:resource, :machine) ON CONFLICT DO NOTHING;

-- name: claimed_by
SELECT machine FROM claims WHERE resource = :resource;

-- name: disclaim
DELETE FROM claims WHERE resource = :resource AND machine = :machine;

-- name: add_event
INSERT INTO events (at, fleet, machine, host, doc, image)
VALUES (:at, :fleet, :machine, :host, :doc, :image);

-- name: events
SELECT number, doc, image FROM events WHERE number > :after ORDER BY number LIMIT :limit;

-- name: events_of_fleet
SELECT number, doc, image FROM events WHERE fleet = :fleet AND number > :after
ORDER BY number LIMIT :limit;

-- name: events_of_machine
SELECT number, doc, image FROM events WHERE machine = :machine AND number > :after
ORDER BY number LIMIT :limit;

-- name: events_of_both
SELECT number, doc, image FROM events
WHERE machine = :machine AND +fleet = :fleet AND number > :after ORDER BY number LIMIT :limit;

-- name: events_of_host
SELECT number, doc, image FROM events
WHERE host = :host AND (:fleet IS NULL OR +fleet = :fleet)
    AND (:machine IS NULL OR +machine = :machine) AND number > :after
ORDER BY number LIMIT :limit;

-- name: newest_event
SELECT coalesce(max(number), 0) FROM events;

-- name: images
SELECT image FROM events WHERE number IN (
    SELECT max(number) FROM events
    WHERE fleet = :fleet AND at < :at AND image IS NOT NULL GROUP BY machine
);

-- name: forgettable
SELECT id FROM history
WHERE since < :before
    AND NOT EXISTS (SELECT 1 FROM events WHERE machine = history.id AND at >= :before)
ORDER BY since, id LIMIT :limit;

-- name: forget_events_of
DELETE FROM events WHERE number IN (
    SELECT number FROM events WHERE machine = :machine ORDER BY number LIMIT :limit
);

-- name: forget_machine
DELETE FROM history WHERE id = :machine;

-- name: forget_events
DELETE FROM events WHERE number IN (
    SELECT number FROM events AS old
    WHERE at < :before
        AND (
            EXISTS (
                SELECT 1 FROM events AS later
                WHERE later.fleet = old.fleet AND later.machine = old.machine
                    AND later.number > old.number AND later.at < :before
                    AND later.image IS NOT NULL
            )
            OR image IS NULL
        )
    ORDER BY at, number LIMIT :limit
);

-- name: forgotten
SELECT before FROM forgotten;

-- name: note_forgotten
INSERT INTO forgotten (row, before) VALUES (0, :before)
ON CONFLICT (row) DO UPDATE SET before = max(before, excluded.before);

-- name: hosts
SELECT doc FROM hosts ORDER BY id;

-- name: add_host
INSERT INTO hosts (id, version, doc) VALUES (:id, 1, :doc) ON CONFLICT DO NOTHING;

-- name: save_host
UPDATE hosts SET version = version + 1, doc = :doc WHERE id = :id AND version = :version;

-- name: bind
INSERT INTO bindings (host, machine) VALUES (:host, :machine) ON CONFLICT DO NOTHING;

-- name: all_bindings
SELECT host, machine FROM bindings ORDER BY host;

-- name: bindings
SELECT host, machine FROM bindings WHERE host = :host OR machine = :machine;

-- name: unbind
DELETE FROM bindings WHERE host = :host AND machine = :machine;

-- name: orphans
SELECT doc FROM orphans ORDER BY resource;

-- name: save_orphan
INSERT INTO orphans (resource, doc) VALUES (:resource, :doc)
ON CONFLICT (resource) DO UPDATE SET doc = excluded.doc;

-- name: clear_orphan
DELETE FROM orphans WHERE resource = :resource;

-- name: add_request
INSERT INTO requests (doc) VALUES (:doc);

-- name: requests
SELECT number, doc FROM requests ORDER BY number;

-- name: take_request
DELETE FROM requests WHERE number = :number;

-- name: data_version
PRAGMA data_version;
