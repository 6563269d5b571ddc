"""Written by `python -m tests.typing.stubs`."""

from ._namespace.chapters.fft import fft as fft
from ._namespace.chapters.fft import fftfreq as fftfreq
from ._namespace.chapters.fft import fftn as fftn
from ._namespace.chapters.fft import fftshift as fftshift
from ._namespace.chapters.fft import hfft as hfft
from ._namespace.chapters.fft import ifft as ifft
from ._namespace.chapters.fft import ifftn as ifftn
from ._namespace.chapters.fft import ifftshift as ifftshift
from ._namespace.chapters.fft import ihfft as ihfft
from ._namespace.chapters.fft import irfft as irfft
from ._namespace.chapters.fft import irfftn as irfftn
from ._namespace.chapters.fft import rfft as rfft
from ._namespace.chapters.fft import rfftfreq as rfftfreq
from ._namespace.chapters.fft import rfftn as rfftn
from ._namespace.numpy.more_fft import fft2 as fft2
from ._namespace.numpy.more_fft import ifft2 as ifft2
from ._namespace.numpy.more_fft import irfft2 as irfft2
from ._namespace.numpy.more_fft import rfft2 as rfft2

__all__ = [
    "fft",
    "fft2",
    "fftfreq",
    "fftn",
    "fftshift",
    "hfft",
    "ifft",
    "ifft2",
    "ifftn",
    "ifftshift",
    "ihfft",
    "irfft",
    "irfft2",
    "irfftn",
    "rfft",
    "rfft2",
    "rfftfreq",
    "rfftn",
]
