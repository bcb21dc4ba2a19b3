-- Statements on `replies`: what was answered to requests with an Idempotency-Key.

-- name: begin_reply
-- A row that comes back is ours. One whose first request died at work is taken over.
INSERT INTO replies (principal, method, path, key, fingerprint, created_at)
VALUES (:principal, :method, :path, :key, :fingerprint, {now})
    ON CONFLICT (principal, method, path, key) DO UPDATE
   SET created_at = excluded.created_at
 WHERE replies.fingerprint = excluded.fingerprint
   AND replies.status IS NULL
   AND replies.created_at <= {now} - :abandoned_ms
RETURNING key

-- name: reply
SELECT fingerprint, status, body
  FROM replies
 WHERE principal = :principal AND method = :method AND path = :path AND key = :key

-- name: end_reply
UPDATE replies
   SET status = :status, body = :body
 WHERE principal = :principal AND method = :method AND path = :path AND key = :key

-- name: drop_reply
DELETE FROM replies
 WHERE principal = :principal AND method = :method AND path = :path AND key = :key AND status IS NULL

-- name: drop_old_replies
DELETE FROM replies WHERE created_at <= {now} - :keep_ms
