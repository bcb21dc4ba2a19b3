"""One client for two worlds: a server over HTTP, and the library of this machine.

    from rushes import Client

    client = Client("https://films.example", key="rsh_…")      # or Client(): this machine's own
    job = client.videos.add("holiday.mp4", title="A day")
    job.wait()

Both answer with the same models and raise the same errors; `protocol.py` says what they can do.
"""

from rushes.client.client import Client
from rushes.client.job import Job, JobFailed, JobKilled, WaitTimedOut

__all__ = ["Client", "Job", "JobFailed", "JobKilled", "WaitTimedOut"]
