-- All jobs that are about the same thing, the finished ones as well.
CREATE INDEX jobs_alike ON jobs (dedupe_key) WHERE dedupe_key IS NOT NULL;
