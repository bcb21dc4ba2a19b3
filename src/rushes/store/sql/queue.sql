-- What waits and what runs, by kind.

-- name: queue_depths
-- Walks the two small indexes of what is ready and what runs, never the history.
SELECT kind, CAST(sum(ready) AS integer) AS ready, CAST(sum(running) AS integer) AS running
  FROM (SELECT kind, count(*) AS ready, 0 AS running FROM tasks WHERE state = 'ready' GROUP BY kind
         UNION ALL
        SELECT kind, 0 AS ready, count(*) AS running FROM tasks WHERE state = 'running' AND finished_at IS NULL GROUP BY kind) AS open
 GROUP BY kind
 ORDER BY kind
