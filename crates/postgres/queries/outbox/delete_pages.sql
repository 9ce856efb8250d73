-- Pages that were settled before everything that is kept.
DELETE FROM onefold_relay_pages AS p
USING (SELECT ctid FROM onefold_relay_pages WHERE settled_at < $1 ORDER BY settled_at LIMIT $2) AS old
WHERE p.ctid = old.ctid
