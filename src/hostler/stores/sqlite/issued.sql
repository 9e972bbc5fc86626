-- Version 2. Every id that this store ever gave to a machine or an order, whatever became of its
-- record: ids are written here by the very save that makes them known, and never go.

CREATE TABLE issued (
    id TEXT PRIMARY KEY
) WITHOUT ROWID;

INSERT INTO issued
SELECT id FROM machines
UNION SELECT id FROM history
UNION SELECT json_extract(placed.value, '$.id') FROM fleets, json_each(doc, '$.orders') AS placed;
