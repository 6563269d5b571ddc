"""Kernels for what MAX's own operations get wrong, lack, or are slow at."""

from .columns import *
from .operations import *
from .rows import *
