-- Films on their way in, and the files of watched folders that were looked at.

-- `received` bytes are on the disk for certain; there may be more in the file, which nobody counted.
-- A failed upload has lost its bytes and says why; `asset_id` is then the film that it repeats, if any.
CREATE TABLE uploads (
    id              {uuid}   NOT NULL PRIMARY KEY,
    owner           text     NOT NULL,
    state           text     NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'finished', 'failed')),
    size            {bigint} NOT NULL CHECK (size > 0),
    received        {bigint} NOT NULL DEFAULT 0,
    filename        text     NOT NULL,
    title           text,
    tags            {json}   NOT NULL,
    priority        integer  NOT NULL,
    options         text     NOT NULL,
    sha256          text     CHECK (length(sha256) = 64),
    duplicate       text     NOT NULL CHECK (duplicate IN ('refuse', 'allow')),
    idempotency_key text,
    asset_id        {uuid},
    job_id          {uuid},
    error_code      text,
    error           text,
    created_at      {bigint} NOT NULL,
    expires_at      {bigint} NOT NULL,
    CONSTRAINT received_shape CHECK (received BETWEEN 0 AND size),
    CONSTRAINT finished_shape CHECK ((state = 'finished') = (job_id IS NOT NULL)),
    CONSTRAINT whole_shape CHECK (state <> 'finished' OR (asset_id IS NOT NULL AND received = size)),
    CONSTRAINT failed_shape CHECK ((state = 'failed') = (error_code IS NOT NULL AND error IS NOT NULL))
)
  WITH (fillfactor = 70)  --@postgres
  STRICT  --@sqlite
;

CREATE UNIQUE INDEX uploads_key ON uploads (owner, idempotency_key) WHERE idempotency_key IS NOT NULL;

CREATE INDEX uploads_open ON uploads (owner) WHERE state = 'open';

CREATE INDEX uploads_expiry ON uploads (expires_at);

-- A file that is known with this size and time was taken, or refused for good: it is not read again.
-- `path` is percent-encoded: the name of a file need not be text.
CREATE TABLE inbox (
    owner      text     NOT NULL,
    path       text     NOT NULL,
    size       {bigint} NOT NULL,
    mtime_ns   {bigint} NOT NULL,
    asset_id   {uuid},
    error_code text,
    at         {bigint} NOT NULL,
    PRIMARY KEY (owner, path)
)
  STRICT, WITHOUT ROWID  --@sqlite
;
