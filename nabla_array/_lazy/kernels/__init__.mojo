"""Elementwise kernels for what MAX's own operations get wrong, or lack."""

from .operations import *
from .rows import *
