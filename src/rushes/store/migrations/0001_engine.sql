-- The engine: jobs, tasks and what happened to them. Times are integer milliseconds (UTC).

CREATE TABLE jobs (
    id               {uuid}   NOT NULL PRIMARY KEY,
    kind             text     NOT NULL,
    label            text,
    owner            text,
    priority         integer  NOT NULL CHECK (priority BETWEEN 0 AND 10),
    status           text     NOT NULL CHECK (status IN ('queued', 'running', 'completed', 'failed', 'killed')),
    open_tasks       integer  NOT NULL CHECK (open_tasks >= 0),
    failed_tasks     integer  NOT NULL DEFAULT 0 CHECK (failed_tasks >= 0),
    warnings         integer  NOT NULL DEFAULT 0 CHECK (warnings >= 0),
    version          integer  NOT NULL DEFAULT 1,
    plan             text     NOT NULL,
    spec             text     NOT NULL,
    dedupe_key       text,
    request_hash     text     NOT NULL,
    failure          text,
    killed_by        text     CHECK (killed_by IN ('user', 'system', 'timeout', 'worker_crash', 'oom')),
    killed_by_name   text,
    killed_at        {bigint},
    killed_reason    text,
    progress_at_kill text,
    created_at       {bigint} NOT NULL,
    updated_at       {bigint} NOT NULL,
    started_at       {bigint},
    finished_at      {bigint},
    CONSTRAINT finished_shape CHECK ((status IN ('completed', 'failed', 'killed')) = (finished_at IS NOT NULL)),
    CONSTRAINT closed_shape CHECK ((finished_at IS NOT NULL) = (open_tasks = 0)),
    CONSTRAINT killed_shape CHECK ((status = 'killed') = (killed_at IS NOT NULL AND killed_by IS NOT NULL)),
    CONSTRAINT failed_shape CHECK (status <> 'failed' OR failure IS NOT NULL),
    CONSTRAINT time_order CHECK (started_at <= finished_at)
)
  WITH (fillfactor = 80)  --@postgres
  STRICT  --@sqlite
;

CREATE UNIQUE INDEX jobs_one_active ON jobs (dedupe_key) WHERE status IN ('queued', 'running') AND dedupe_key IS NOT NULL;

CREATE INDEX jobs_status ON jobs (status, id);

CREATE INDEX jobs_finished ON jobs (finished_at) WHERE finished_at IS NOT NULL;

CREATE INDEX jobs_owner ON jobs (owner, id) WHERE owner IS NOT NULL;

CREATE TABLE idempotency_keys (
    owner        text     NOT NULL,
    key          text     NOT NULL,
    request_hash text     NOT NULL,
    job_id       {uuid}   NOT NULL,
    created_at   {bigint} NOT NULL,
    PRIMARY KEY (owner, key)
)
  STRICT  --@sqlite
;

-- `wait_ms` is what a task waits behind a priority of 10: due_at = the time it became ready + wait_ms.
-- `each` is set until the task has fanned out, `fed` counts the values that its parents brought
-- so far; `feeds` lists the fan-outs that read the task's own result.
CREATE TABLE tasks (
    id               {identity},
    job_id           {uuid}   NOT NULL,
    step             text     NOT NULL,
    item             integer  NOT NULL DEFAULT 0,
    kind             text     NOT NULL,
    lane             text     NOT NULL,
    state            text     NOT NULL CHECK (state IN ('new', 'ready', 'running', 'done', 'error', 'killed', 'skipped')),
    due_at           {bigint},
    open_parents     integer  NOT NULL DEFAULT 0 CHECK (open_parents >= 0),
    run_at           {bigint} NOT NULL,
    attempt          integer  NOT NULL DEFAULT 0,
    max_attempts     integer  NOT NULL CHECK (max_attempts >= 1),
    losses           integer  NOT NULL DEFAULT 0,
    lease_epoch      integer  NOT NULL DEFAULT 0,
    lease_owner      text,
    lease_expires_at {bigint},
    lease_ms         {bigint} NOT NULL DEFAULT 60000,
    ready_at         {bigint},
    claimed_at       {bigint},
    progress_at      {bigint},
    finished_at      {bigint},
    progress         integer  NOT NULL DEFAULT 0 CHECK (progress BETWEEN 0 AND 100),
    last_owner       text,
    phase            text,
    message          text,
    optional         {flag}   NOT NULL DEFAULT FALSE,
    priority         integer  NOT NULL CHECK (priority BETWEEN 0 AND 10),
    wait_ms          {bigint} NOT NULL,
    stall_ms         {bigint} NOT NULL,
    hard_ms          {bigint} NOT NULL,
    needs            {json}   NOT NULL,
    prefers          {json}   NOT NULL,
    has_children     {flag}   NOT NULL DEFAULT FALSE,
    each             text,
    fed              integer  NOT NULL DEFAULT 0,
    feeds            text,
    skip_reason      text     CHECK (skip_reason IN ('not_applicable', 'upstream_failed')),
    created_at       {bigint} NOT NULL,
    params           text     NOT NULL,
    checkpoint       text,
    result           text,
    failure          text,
    UNIQUE (job_id, step, item),
    CONSTRAINT lease_shape CHECK ((state = 'running') = (lease_owner IS NOT NULL)
                              AND (state = 'running') = (lease_expires_at IS NOT NULL)),
    CONSTRAINT claim_shape CHECK (lease_epoch > 0 OR state <> 'running'),
    CONSTRAINT ready_shape CHECK (state NOT IN ('ready', 'running') OR (open_parents = 0 AND due_at IS NOT NULL AND each IS NULL)),
    CONSTRAINT final_shape CHECK ((state IN ('done', 'error', 'killed', 'skipped')) = (finished_at IS NOT NULL)),
    CONSTRAINT skip_shape CHECK ((state = 'skipped') = (skip_reason IS NOT NULL)),
    CONSTRAINT error_shape CHECK (state <> 'error' OR failure IS NOT NULL),
    CONSTRAINT attempt_shape CHECK (attempt BETWEEN 0 AND max_attempts)
)
  WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0, autovacuum_analyze_scale_factor = 0.05)  --@postgres
  STRICT  --@sqlite
;

-- The claim walks tasks_ready only: neither history nor future work stands in its way.
-- lease_expires_at is in no index, so that a heartbeat stays a cheap update in place.
-- tasks_running has a second condition that recovery repeats and the statements on claims
-- do not: they must find their rows by id, not join their batch with all that runs.
CREATE INDEX tasks_ready ON tasks (lane, due_at, id) WHERE state = 'ready';

CREATE INDEX tasks_later ON tasks (run_at) WHERE state = 'new' AND open_parents = 0;

CREATE INDEX tasks_running ON tasks (id) WHERE state = 'running' AND finished_at IS NULL;

CREATE INDEX tasks_error ON tasks (finished_at) WHERE state = 'error';

CREATE TABLE edges (
    parent_id {bigint} NOT NULL,
    child_id  {bigint} NOT NULL,
    PRIMARY KEY (parent_id, child_id)
)
  STRICT, WITHOUT ROWID  --@sqlite
;

CREATE INDEX edges_child ON edges (child_id);

CREATE TABLE attempts (
    task_id    {bigint} NOT NULL,
    epoch      integer  NOT NULL,
    attempt    integer  NOT NULL,
    job_id     {uuid}   NOT NULL,
    owner      text     NOT NULL,
    claimed_at {bigint} NOT NULL,
    ended_at   {bigint} NOT NULL,
    outcome    text     NOT NULL CHECK (outcome IN ('done', 'retried', 'failed', 'handed_back', 'expired', 'timed_out', 'exhausted', 'restarted', 'killed')),
    killed_by  text     CHECK (killed_by IN ('user', 'system', 'timeout', 'worker_crash', 'oom')),
    failure    text,
    PRIMARY KEY (task_id, epoch)
)
  STRICT, WITHOUT ROWID  --@sqlite
;

CREATE TABLE events (
    id     {identity},
    job_id {uuid},
    type   text     NOT NULL,
    at     {bigint} NOT NULL,
    data   text     NOT NULL
    , xid  xid8     NOT NULL DEFAULT pg_current_xact_id()  --@postgres
)
  STRICT  --@sqlite
;

CREATE INDEX events_job ON events (job_id, id);

CREATE INDEX events_feed ON events (xid, id);  --@postgres

-- One row per program that a stage started.
CREATE TABLE executions (
    id          {identity},
    job_id      {uuid}   NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
    task_id     {bigint} NOT NULL,
    epoch       integer  NOT NULL,
    type        text     NOT NULL,
    command     text     NOT NULL,
    started_at  {bigint} NOT NULL,
    duration_ms {bigint} NOT NULL,
    exit_code   integer,
    stdout      text     NOT NULL,
    stderr      text     NOT NULL,
    error       text
)
  STRICT  --@sqlite
;

CREATE INDEX executions_job ON executions (job_id, id);

CREATE TABLE logs (
    id       {identity},
    job_id   {uuid}   NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
    task_id  {bigint} NOT NULL,
    epoch    integer  NOT NULL,
    at       {bigint} NOT NULL,
    level    text     NOT NULL CHECK (level IN ('debug', 'info', 'warn', 'error')),
    stage    text     NOT NULL,
    message  text     NOT NULL,
    metadata text
)
  STRICT  --@sqlite
;

CREATE INDEX logs_job ON logs (job_id, id);

-- `owner` names the process that runs the worker now; a new start makes a new one.
-- `offers` is everything a task may need: its stages (`stage:…`) and its capabilities.
CREATE TABLE workers (
    id             {uuid}   NOT NULL PRIMARY KEY,
    name           text     NOT NULL UNIQUE,
    owner          text     NOT NULL UNIQUE,
    type           text     NOT NULL CHECK (type IN ('local', 'remote')),
    mode           text     NOT NULL CHECK (mode IN ('active', 'draining', 'disabled', 'stopped')),
    hostname       text     NOT NULL,
    version        text     NOT NULL,
    lanes          {json}   NOT NULL,
    offers         {json}   NOT NULL,
    capabilities   text     NOT NULL,
    kinds          text     NOT NULL,
    metadata       text     NOT NULL,
    registered_at  {bigint} NOT NULL,
    started_at     {bigint} NOT NULL,
    last_heartbeat {bigint} NOT NULL,
    offline_at     {bigint},
    tasks_done     {bigint} NOT NULL DEFAULT 0,
    tasks_failed   {bigint} NOT NULL DEFAULT 0
)
  WITH (fillfactor = 50)  --@postgres
  STRICT  --@sqlite
;

CREATE TABLE pauses (
    kind      text     NOT NULL PRIMARY KEY,
    paused_by text     NOT NULL,
    reason    text,
    at        {bigint} NOT NULL
)
  STRICT  --@sqlite
;

-- One row per maintenance loop: who runs it, when it last ran, and the grace after a standstill.
CREATE TABLE loops (
    name        text     NOT NULL PRIMARY KEY,
    holder      text,
    held_until  {bigint},
    ran_at      {bigint},
    grace_until {bigint}
)
  STRICT  --@sqlite
;
