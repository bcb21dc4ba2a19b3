-- What was answered to requests that carry an Idempotency-Key, so that a repetition is answered the
-- same. `status` is NULL while the first of them is at work.
CREATE TABLE replies (
    principal   text     NOT NULL,
    method      text     NOT NULL,
    path        text     NOT NULL,
    key         text     NOT NULL,
    fingerprint text     NOT NULL,
    status      integer,
    body        text,
    created_at  {bigint} NOT NULL,
    PRIMARY KEY (principal, method, path, key)
);
CREATE INDEX replies_created ON replies (created_at);
