-- Statements on `users`, `keys`, `sessions`, `login_links`, `login_attempts`, `secrets` and `audit`.
-- An :owner of NULL is everybody, '' this machine's own, else the id of a user.

-- fragment: user_columns
users.id, users.name, users.role, users.password IS NOT NULL AS has_password, users.created_at, users.disabled_at

-- fragment: key_columns
keys.id, keys.kind, keys.name, keys.scopes, keys.user_id, users.name AS user_name, users.role, keys.created_at, keys.expires_at,
keys.used_at, keys.revoked_at

-- fragment: session_columns
sessions.id, sessions.user_id, users.name AS user_name, users.role, sessions.address, sessions.agent, sessions.created_at,
sessions.seen_at, sessions.expires_at

-- fragment: session_is_live
(sessions.ended_at IS NULL AND sessions.expires_at > {now} AND sessions.seen_at > {now} - :idle_ms AND users.disabled_at IS NULL)

-- fragment: key_is_live
(keys.revoked_at IS NULL AND (keys.expires_at IS NULL OR keys.expires_at > {now}) AND users.disabled_at IS NULL)

-- name: add_user
-- No row back: somebody has this name, or it was this very call, whose answer was lost.
INSERT INTO users (id, name, folded, role, password, created_at)
VALUES (:id, :name, :folded, :role, :password, {now})
    ON CONFLICT DO NOTHING
RETURNING id

-- name: list_users
SELECT {user_columns} FROM users ORDER BY users.folded

-- name: find_user
-- By the id, else by the name: nobody can take the place of another by calling himself like an id.
SELECT {user_columns}
  FROM users
 WHERE CAST(users.id AS text) = :text
    OR users.folded = :folded
 ORDER BY CASE WHEN CAST(users.id AS text) = :text THEN 0 ELSE 1 END
 LIMIT 1

-- name: user_to_log_in
SELECT id, name, password FROM users WHERE folded = :folded AND disabled_at IS NULL

-- name: lock_user
-- Held while a session begins: a change of password that comes meanwhile waits, and then ends it.
SELECT password, disabled_at
  FROM users
 WHERE id = :id
   FOR UPDATE  --@postgres

-- name: lock_admins
-- Two admins who disable each other at once stand in line.
SELECT id
  FROM users
 WHERE role = 'admin'
   AND disabled_at IS NULL
 ORDER BY id
   FOR UPDATE  --@postgres

-- name: disable_user
UPDATE users SET disabled_at = {now} WHERE id = :id AND disabled_at IS NULL RETURNING id

-- name: enable_user
UPDATE users SET disabled_at = NULL WHERE id = :id AND disabled_at IS NOT NULL RETURNING id

-- name: set_password
UPDATE users SET password = :password WHERE id = :id

-- name: count_login
-- One try more within the window, which begins with the first; the row lets parallel tries stand in line.
INSERT INTO login_attempts (who, n, since) VALUES (:who, 1, {now})
    ON CONFLICT (who) DO UPDATE
   SET n = CASE WHEN login_attempts.since <= {now} - :window_ms THEN 1 ELSE login_attempts.n + 1 END,
       since = CASE WHEN login_attempts.since <= {now} - :window_ms THEN {now} ELSE login_attempts.since END
RETURNING n, since + :window_ms - {now} AS left_ms

-- name: forget_login
DELETE FROM login_attempts WHERE who = :who

-- name: drop_logins
DELETE FROM login_attempts
 WHERE who IN (SELECT who
                 FROM login_attempts
                WHERE since <= {now} - :window_ms
                ORDER BY since
                LIMIT 100
                  FOR UPDATE SKIP LOCKED  --@postgres
              )

-- name: add_key
-- No row back: the key of the first run is there, or it was this very call, whose answer was lost.
INSERT INTO keys (id, kind, user_id, name, scopes, hash, created_at, expires_at)
VALUES (:id, :kind, :user_id, :name, :scopes, :hash, {now}, {now} + CAST(:lifetime_ms AS {bigint}))
    ON CONFLICT DO NOTHING
RETURNING id

-- name: first_key
SELECT id FROM keys WHERE kind = 'admin'

-- name: admin_key
SELECT id FROM keys WHERE id = :id AND kind = 'admin' AND revoked_at IS NULL

-- name: key_to_check
SELECT {key_columns}, keys.hash, {key_is_live} AS is_live,
       (keys.used_at IS NULL OR keys.used_at <= {now} - :every_ms) AS is_due
  FROM keys
  LEFT JOIN users ON users.id = keys.user_id
 WHERE keys.id = :id

-- name: touch_key
UPDATE keys SET used_at = {now} WHERE id = :id AND (used_at IS NULL OR used_at <= {now} - :every_ms)

-- name: key
SELECT {key_columns}
  FROM keys
  LEFT JOIN users ON users.id = keys.user_id
 WHERE keys.id = :id
   AND keys.kind <> 'worker'
   AND (CAST(:owner AS text) IS NULL OR coalesce(CAST(keys.user_id AS text), '') = :owner)

-- name: list_keys
SELECT {key_columns}
  FROM keys
  LEFT JOIN users ON users.id = keys.user_id
 WHERE keys.kind <> 'worker'
   AND keys.revoked_at IS NULL
   AND (CAST(:owner AS text) IS NULL OR coalesce(CAST(keys.user_id AS text), '') = :owner)
 ORDER BY keys.created_at DESC, keys.id

-- name: revoke_key
UPDATE keys SET revoked_at = {now} WHERE id = :id AND revoked_at IS NULL RETURNING id

-- name: has_credentials
-- Whether anybody can come in from another machine.
SELECT keys.id
  FROM keys
  LEFT JOIN users ON users.id = keys.user_id
 WHERE keys.kind <> 'worker'
   AND {key_is_live}
 UNION ALL
SELECT users.name
  FROM users
 WHERE users.password IS NOT NULL
   AND users.disabled_at IS NULL
 LIMIT 1

-- name: add_session
INSERT INTO sessions (id, user_id, hash, address, agent, created_at, seen_at, expires_at)
VALUES (:id, :user_id, :hash, :address, :agent, {now}, {now}, {now} + :life_ms)
    ON CONFLICT DO NOTHING
RETURNING id

-- name: session
SELECT {session_columns}, sessions.seen_at <= {now} - :every_ms AS is_due
  FROM sessions
  LEFT JOIN users ON users.id = sessions.user_id
 WHERE sessions.hash = :hash
   AND {session_is_live}

-- name: list_sessions
SELECT {session_columns}
  FROM sessions
  LEFT JOIN users ON users.id = sessions.user_id
 WHERE coalesce(CAST(sessions.user_id AS text), '') = :owner
   AND {session_is_live}
 ORDER BY sessions.id DESC
 LIMIT :n

-- name: touch_session
UPDATE sessions SET seen_at = {now} WHERE id = :id AND seen_at <= {now} - :every_ms

-- name: session_of
SELECT id
  FROM sessions
 WHERE CAST(id AS text) = :id
   AND (CAST(:owner AS text) IS NULL OR coalesce(CAST(user_id AS text), '') = :owner)

-- name: end_session
UPDATE sessions SET ended_at = {now} WHERE id = :id AND ended_at IS NULL RETURNING id

-- name: end_sessions
-- All of one owner, but the one to :keep.
UPDATE sessions
   SET ended_at = {now}
 WHERE coalesce(CAST(user_id AS text), '') = :owner
   AND ended_at IS NULL
   AND (CAST(:keep AS {uuid}) IS NULL OR id <> :keep)
RETURNING id

-- name: drop_sessions
DELETE FROM sessions
 WHERE id IN (SELECT id
                FROM sessions
               WHERE expires_at <= {now}
               ORDER BY expires_at
               LIMIT 100
                 FOR UPDATE SKIP LOCKED  --@postgres
             )

-- name: add_link
INSERT INTO login_links (hash, user_id, expires_at) VALUES (:hash, :user_id, {now} + :life_ms)
    ON CONFLICT DO NOTHING
RETURNING hash

-- name: use_link
-- Once; for the same session again, should the answer be lost.
UPDATE login_links
   SET session_id = :session_id
 WHERE hash = :hash
   AND expires_at > {now}
   AND (session_id IS NULL OR session_id = :session_id)
RETURNING user_id

-- name: drop_links
DELETE FROM login_links WHERE coalesce(CAST(user_id AS text), '') = :owner

-- name: drop_old_links
DELETE FROM login_links WHERE expires_at <= {now}

-- name: add_secret
INSERT INTO secrets (name, value, created_at) VALUES (:name, :value, {now}) ON CONFLICT DO NOTHING

-- name: secret
SELECT value FROM secrets WHERE name = :name

-- name: hold_audit_end
-- The end of the chain, held until the transaction ends, so that rows follow one another.
INSERT INTO audit_end (one, n, hash) VALUES (1, 0, '')
    ON CONFLICT (one) DO UPDATE SET n = audit_end.n
RETURNING n, hash, {now} AS now

-- name: add_audit
INSERT INTO audit (id, at, actor, credential, address, action, object, result, request_id, hash)
VALUES (:id, :at, :actor, :credential, :address, :action, :object, :result, :request_id, :hash)

-- name: move_audit_end
UPDATE audit_end SET n = :n, hash = :hash WHERE one = 1

-- name: audit_end
SELECT n, hash FROM audit_end WHERE one = 1

-- name: audit_page
-- Newest first; :before is the id of the last one of the page before.
SELECT id, at, actor, credential, address, action, object, result, request_id
  FROM audit
 WHERE CAST(:before AS {bigint}) IS NULL OR id < :before
 ORDER BY id DESC
 LIMIT :n

-- name: audit_rows
-- Oldest first, for whoever checks the chain.
SELECT id, at, actor, credential, address, action, object, result, request_id, hash
  FROM audit
 WHERE id > :after
 ORDER BY id
 LIMIT :n
