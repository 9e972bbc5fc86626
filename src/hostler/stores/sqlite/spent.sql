-- Version 3. What the deleted machines of each fleet have cost; it stays when they are forgotten.

CREATE TABLE spent (
    fleet TEXT PRIMARY KEY,
    euros REAL NOT NULL
) WITHOUT ROWID;

INSERT INTO spent
SELECT fleet, sum(coalesce(json_extract(doc, '$.billing.spent'), 0.0)) FROM history GROUP BY fleet;
