"""Elementwise kernels for what MAX's own operations get wrong, or lack."""

from .columns import *
from .operations import *
from .rows import *
