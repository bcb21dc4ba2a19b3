-- Statements on `join_tokens`, and on `keys` that are a worker's.

-- name: add_join_token
INSERT INTO join_tokens (hash, kinds, created_at, expires_at) VALUES (:hash, :kinds, {now}, {now} + :life_ms)
    ON CONFLICT DO NOTHING
RETURNING hash

-- name: drop_old_join_tokens
DELETE FROM join_tokens WHERE expires_at <= {now}

-- name: use_join_token
-- No row back: it is unknown, too old, or another machine's.
UPDATE join_tokens
   SET worker = :worker
 WHERE hash = :hash
   AND expires_at > {now}
   AND (worker IS NULL OR worker = :worker)
RETURNING kinds, key_id

-- name: join_token_made
UPDATE join_tokens SET key_id = :key_id WHERE hash = :hash

-- name: worker_key
-- The key that a worker brings, whether or not it is good.
SELECT keys.id, keys.name, keys.scopes AS kinds, keys.hash,
       (keys.revoked_at IS NULL AND (keys.expires_at IS NULL OR keys.expires_at > {now})) AS is_live,
       (keys.used_at IS NULL OR keys.used_at <= {now} - :every_ms) AS is_due
  FROM keys
 WHERE keys.id = :id
   AND keys.kind = 'worker'

-- name: worker_keys
SELECT id, name, scopes AS kinds, created_at, expires_at, used_at, revoked_at
  FROM keys
 WHERE kind = 'worker'
   AND name = :name
   AND revoked_at IS NULL
 ORDER BY created_at DESC, id

-- name: enlist
-- A worker that has registered and not started yet. One that is known stays as it is.
INSERT INTO workers (id, name, owner, type, mode, hostname, version, lanes, offers, capabilities, kinds, metadata,
                     registered_at, started_at, last_heartbeat)
VALUES (:id, :name, :owner, 'remote', 'active', :hostname, :version, :lanes, :offers, :capabilities, :kinds, :metadata,
        {now}, {now}, {now})
    ON CONFLICT (name) DO NOTHING

-- name: worker_named
SELECT id, name, mode FROM workers WHERE name = :name

-- name: held_task
-- A task that a worker holds now, by all that it says of it.
SELECT tasks.id, tasks.job_id, tasks.kind, tasks.step, tasks.item, tasks.params, tasks.lease_epoch AS epoch
  FROM tasks
 WHERE tasks.id = :id
   AND tasks.state = 'running'
   AND tasks.lease_owner = :owner
   AND tasks.lease_epoch = :epoch

-- name: is_ahead_of
-- Whether a task is there at all, for whoever does not hold it.
SELECT lease_epoch AS epoch, lease_owner AS owner, state FROM tasks WHERE id = :id

-- name: worker_of
SELECT offers, mode FROM workers WHERE owner = :owner
