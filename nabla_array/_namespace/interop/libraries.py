"""All that other libraries are told by functions of ours: imported before the first of them (`KNOWN`) is."""

from . import doors as doors
from . import mixed as mixed
from . import registered as registered
from . import rows as rows
from . import tables as tables
from . import threaded as threaded
