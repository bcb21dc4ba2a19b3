from rushes.client import Client as Client
from rushes.client import Job as Job
from rushes.client import JobFailed as JobFailed
from rushes.client import JobKilled as JobKilled
from rushes.client import WaitTimedOut as WaitTimedOut
from rushes.errors import Conflict as Conflict
from rushes.errors import Invalid as Invalid
from rushes.errors import NotFound as NotFound
from rushes.errors import RushesError as RushesError
from rushes.errors import Unavailable as Unavailable

__version__: str
