-- What a job has to say of work that is complete, though not all as it should be: code and message.
-- Optional tasks that failed are counted apart, in `warnings`.
ALTER TABLE jobs ADD COLUMN reported text NOT NULL DEFAULT '[]';
