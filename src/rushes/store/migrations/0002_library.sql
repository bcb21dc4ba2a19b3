-- The library: assets, the versions made of each, and the files and texts that belong to them.

-- `version` is the one that is published: the one pointer that a switch moves; 0 before the first.
-- `filename` is what a person called the file: text to be shown, never part of a path.
CREATE TABLE assets (
    id            {uuid}   NOT NULL PRIMARY KEY,
    owner         text     NOT NULL DEFAULT '',
    title         text     NOT NULL,
    tags          {json}   NOT NULL,
    filename      text     NOT NULL,
    source_key    text     NOT NULL,
    bytes         {bigint} NOT NULL CHECK (bytes > 0),
    sha256        text     NOT NULL CHECK (length(sha256) = 64),
    source        text,
    duration_ms   {bigint},
    version       integer  NOT NULL DEFAULT 0 CHECK (version >= 0),
    revision      integer  NOT NULL DEFAULT 1,
    created_at    {bigint} NOT NULL,
    updated_at    {bigint} NOT NULL,
    playable_at   {bigint},
    ready_at      {bigint},
    searchable_at {bigint},
    deleted_at    {bigint},
    CONSTRAINT published_shape CHECK ((version > 0) = (ready_at IS NOT NULL))
)
  STRICT  --@sqlite
;

CREATE INDEX assets_content ON assets (owner, sha256);

CREATE INDEX assets_deleted ON assets (deleted_at) WHERE deleted_at IS NOT NULL;

-- `changes` counts what was committed to a version; `laid_out` is the count that the files under
-- assets/ show, so that nothing is forgotten when the process that lays them out dies.
CREATE TABLE versions (
    asset_id      {uuid}   NOT NULL,
    n             integer  NOT NULL CHECK (n > 0),
    job_id        {uuid}   NOT NULL UNIQUE,
    grid          text,
    options       text     NOT NULL,
    changes       integer  NOT NULL DEFAULT 0,
    laid_out      integer  NOT NULL DEFAULT 0,
    created_at    {bigint} NOT NULL,
    closed_at     {bigint},
    published_at  {bigint},
    superseded_at {bigint},
    PRIMARY KEY (asset_id, n),
    CONSTRAINT publish_order CHECK (published_at IS NULL OR closed_at IS NOT NULL)
)
  STRICT, WITHOUT ROWID  --@sqlite
;

CREATE INDEX versions_superseded ON versions (superseded_at) WHERE superseded_at IS NOT NULL;

-- A quality, or a sound track (channels > 0). `codecs` and `init_sha256` are known with its first
-- chunk and then the same for all: no player could go from one init to another.
CREATE TABLE renditions (
    asset_id           {uuid}   NOT NULL,
    version            integer  NOT NULL,
    name               text     NOT NULL,
    width              integer  NOT NULL,
    height             integer  NOT NULL,
    channels           integer  NOT NULL,
    language           text,
    maxrate_bps        integer  NOT NULL,
    required           {flag}   NOT NULL,
    codecs             text,
    init_sha256        text,
    status             text     NOT NULL CHECK (status IN ('pending', 'in_progress', 'completed', 'failed', 'skipped')),
    segments_total     integer  NOT NULL CHECK (segments_total >= 0),
    segments_completed integer  NOT NULL DEFAULT 0 CHECK (segments_completed BETWEEN 0 AND segments_total),
    started_at         {bigint},
    completed_at       {bigint},
    error              text,
    PRIMARY KEY (asset_id, version, name),
    CONSTRAINT completed_shape CHECK ((status = 'completed') = (completed_at IS NOT NULL)),
    CONSTRAINT failed_shape CHECK (status <> 'failed' OR error IS NOT NULL)
)
  STRICT, WITHOUT ROWID  --@sqlite
;

-- A file is there when its row is: `name` is what readers ask for, `key` is where it lies.
CREATE TABLE artifacts (
    name       text     NOT NULL PRIMARY KEY,
    asset_id   {uuid}   NOT NULL,
    version    integer  NOT NULL,
    key        text     NOT NULL,
    bytes      {bigint} NOT NULL CHECK (bytes > 0),
    sha256     text     NOT NULL CHECK (length(sha256) = 64),
    task_id    {bigint} NOT NULL,
    epoch      integer  NOT NULL,
    created_at {bigint} NOT NULL
)
  STRICT  --@sqlite
;

CREATE INDEX artifacts_version ON artifacts (asset_id, version, name);

CREATE INDEX artifacts_key ON artifacts (key);

CREATE TABLE spans (
    id         {identity},
    asset_id   {uuid}   NOT NULL,
    start_ms   {bigint} NOT NULL CHECK (start_ms >= 0),
    end_ms     {bigint} NOT NULL,
    text       text     NOT NULL,
    normalized text     NOT NULL,
    hash       text     NOT NULL,
    confidence {real}   NOT NULL CHECK (confidence BETWEEN 0 AND 1),
    x          integer  NOT NULL,
    y          integer  NOT NULL,
    width      integer  NOT NULL,
    height     integer  NOT NULL,
    language   text     NOT NULL,
    CONSTRAINT time_order CHECK (start_ms < end_ms)
)
  STRICT  --@sqlite
;

CREATE INDEX spans_asset ON spans (asset_id, start_ms);

-- `begins` and `ends` are offsets of characters in the text of the span.
CREATE TABLE entities (
    id         {identity},
    span_id    {bigint} NOT NULL REFERENCES spans (id) ON DELETE CASCADE,
    asset_id   {uuid}   NOT NULL,
    kind       text     NOT NULL CHECK (kind IN ('mention', 'hashtag', 'url', 'emoji', 'number', 'phone')),
    value      text     NOT NULL,
    normalized text     NOT NULL,
    begins     integer  NOT NULL,
    ends       integer  NOT NULL
)
  STRICT  --@sqlite
;

CREATE INDEX entities_value ON entities (kind, normalized);

CREATE INDEX entities_span ON entities (span_id);
