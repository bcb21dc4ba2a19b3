-- Tokens with which a machine registers as a worker, once each and for a short time. `worker` is who
-- used it: the same machine may use it again, because the answer to the first time may be lost.
-- `kinds` are words with a space between, '' for all.
CREATE TABLE join_tokens (
    hash       text     NOT NULL PRIMARY KEY CHECK (length(hash) = 64),
    kinds      text     NOT NULL,
    worker     text,
    key_id     text,
    created_at {bigint} NOT NULL,
    expires_at {bigint} NOT NULL
)
  STRICT  --@sqlite
;

-- The keys of a worker: `keys.name` is its name.
CREATE INDEX keys_worker ON keys (name) WHERE kind = 'worker';
