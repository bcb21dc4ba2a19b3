-- Clips: what was asked for, and what was really cut. The file is an artifact of version 0, which is
-- no version: a clip is cut from the original and stays when the film is made anew.

-- `key` stands for the request: one clip that lives has it. `removed_at`: its time was over and its
-- file is gone; the row stays for a while, to say so.
CREATE TABLE clips (
    id              {uuid}   NOT NULL PRIMARY KEY,
    asset_id        {uuid}   NOT NULL,
    job_id          {uuid}   NOT NULL UNIQUE,
    key             text     NOT NULL,
    mode            text     NOT NULL CHECK (mode IN ('exact', 'fast')),
    title           text     NOT NULL DEFAULT '',
    made_by         text     NOT NULL DEFAULT '',
    t_start         {bigint} NOT NULL CHECK (t_start >= 0),
    t_end           {bigint} NOT NULL,
    padding_ms      integer  NOT NULL CHECK (padding_ms >= 0),
    start_ms        {bigint} NOT NULL CHECK (start_ms >= 0),
    end_ms          {bigint} NOT NULL,
    actual_start    {bigint} NOT NULL,
    actual_end      {bigint},
    made            text,
    created_at      {bigint} NOT NULL,
    ready_at        {bigint},
    expires_at      {bigint} NOT NULL,
    removed_at      {bigint},
    CONSTRAINT range_order CHECK (start_ms <= t_start AND t_start < t_end AND t_end <= end_ms),
    CONSTRAINT ready_shape CHECK ((ready_at IS NULL) = (made IS NULL))
)
  STRICT  --@sqlite
;

CREATE UNIQUE INDEX clips_key ON clips (key) WHERE removed_at IS NULL;

CREATE INDEX clips_asset ON clips (asset_id, id);

CREATE INDEX clips_expiry ON clips (expires_at);
