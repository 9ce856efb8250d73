-- Events that another database wrote are the oldest ones here: no relay that begins now wants them, one that begins with
-- the oldest does.
UPDATE onefold_events SET txid = '3'::xid8
WHERE lane = ANY(SELECT n.lane::smallint FROM generate_series(0, 63) AS n (lane))
    AND txid >= pg_snapshot_xmax(pg_current_snapshot())
