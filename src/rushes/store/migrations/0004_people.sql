-- People: users, the keys and sessions they come with, and what they did. A `user_id` of NULL is
-- this machine's own. Of every secret but those in `secrets` only a hash is kept.

-- `folded` is what names that read the same have in common.
CREATE TABLE users (
    id          {uuid}   NOT NULL PRIMARY KEY,
    name        text     NOT NULL,
    folded      text     NOT NULL UNIQUE CHECK (folded <> ''),
    role        text     NOT NULL CHECK (role IN ('admin', 'user')),
    password    text,
    created_at  {bigint} NOT NULL,
    disabled_at {bigint}
)
  STRICT  --@sqlite
;

-- `scopes` are words with a space between. The row of a key that was revoked stays: the key of the
-- first run is made once, also when it is gone.
CREATE TABLE keys (
    id         text     NOT NULL PRIMARY KEY CHECK (length(id) = 10),
    kind       text     NOT NULL CHECK (kind IN ('admin', 'user', 'worker')),
    user_id    {uuid}   REFERENCES users (id) ON DELETE CASCADE,
    name       text     NOT NULL,
    scopes     text     NOT NULL,
    hash       text     NOT NULL CHECK (length(hash) = 64),
    created_at {bigint} NOT NULL,
    expires_at {bigint},
    used_at    {bigint},
    revoked_at {bigint},
    CONSTRAINT admin_shape CHECK (kind <> 'admin' OR user_id IS NULL)
)
  STRICT  --@sqlite
;

CREATE UNIQUE INDEX keys_one_admin ON keys (kind) WHERE kind = 'admin';

CREATE INDEX keys_user ON keys (user_id);

CREATE TABLE sessions (
    id         {uuid}   NOT NULL PRIMARY KEY,
    user_id    {uuid}   REFERENCES users (id) ON DELETE CASCADE,
    hash       text     NOT NULL UNIQUE CHECK (length(hash) = 64),
    address    text     NOT NULL,
    agent      text     NOT NULL,
    created_at {bigint} NOT NULL,
    seen_at    {bigint} NOT NULL,
    expires_at {bigint} NOT NULL,
    ended_at   {bigint}
)
  STRICT  --@sqlite
;

CREATE INDEX sessions_user ON sessions (user_id);

CREATE INDEX sessions_expire ON sessions (expires_at);

-- `session_id` is the session that a link was redeemed for; a link has one.
CREATE TABLE login_links (
    hash       text     NOT NULL PRIMARY KEY CHECK (length(hash) = 64),
    user_id    {uuid}   REFERENCES users (id) ON DELETE CASCADE,
    expires_at {bigint} NOT NULL,
    session_id {uuid}
)
  STRICT  --@sqlite
;

-- How often somebody tried a password since a moment. `who` is a hash of address and name: people
-- type passwords where names belong.
CREATE TABLE login_attempts (
    who   text     NOT NULL PRIMARY KEY,
    n     integer  NOT NULL,
    since {bigint} NOT NULL
)
  STRICT  --@sqlite
;

CREATE INDEX login_attempts_since ON login_attempts (since);

-- What this installation signs with.
CREATE TABLE secrets (
    name       text     NOT NULL PRIMARY KEY,
    value      text     NOT NULL CHECK (length(value) = 64),
    created_at {bigint} NOT NULL
)
  STRICT  --@sqlite
;

-- `hash` covers the row and the hash of the row before; ids have no gaps.
CREATE TABLE audit (
    id         {bigint} NOT NULL PRIMARY KEY CHECK (id > 0),
    at         {bigint} NOT NULL,
    actor      text     NOT NULL,
    credential text,
    address    text     NOT NULL,
    action     text     NOT NULL,
    object     text     NOT NULL,
    result     text     NOT NULL CHECK (result IN ('ok', 'refused', 'failed')),
    request_id text,
    hash       text     NOT NULL CHECK (length(hash) = 64)
)
  STRICT  --@sqlite
;

-- The end of the chain, in one row: a row that is cut off at the end is missed as well.
CREATE TABLE audit_end (
    one  integer  NOT NULL PRIMARY KEY CHECK (one = 1),
    n    {bigint} NOT NULL,
    hash text     NOT NULL
)
  STRICT  --@sqlite
;
