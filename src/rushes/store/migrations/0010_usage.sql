-- How busy the machine of a worker was at its last heartbeat, in percent. Display only.
ALTER TABLE workers ADD COLUMN cpu_percent integer CHECK (cpu_percent BETWEEN 0 AND 100);

ALTER TABLE workers ADD COLUMN memory_percent integer CHECK (memory_percent BETWEEN 0 AND 100);
