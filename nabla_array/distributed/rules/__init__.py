"""How operations are cut: by the labels of their records, or by a rule of their own.

A rule is `(partition, k, eqn) -> number`: it adds what computes equation `k` of the program to the partition,
and returns the number of its result there; None for a literal's.
"""

from __future__ import annotations

from ..._lazy.graph.program import Eqn
from ..._lazy.ops import control, fourier, indexing, linalg, ordering, reduction, structure
from ..._lazy.ops.placement import reshard, transfer
from ..partition import Partition
from . import loops
from .along import gather_rule, index_rule, scan_rule, scatter_rule, search_rule
from .four_steps import fft_rule, irfft_rule
from .local import in_terms
from .moving import concat_rule, reshape_rule, slice_rule, update_slice_rule
from .sorting import sort_rule
from .table import RULES, partition, rule_of
from .tall import tall_rule, values_rule


def _reshard(p: Partition, k: int, eqn: Eqn) -> int:
    (i,) = eqn.ins
    before = p.layout(i)
    if before is None or not before.varies:  # what is left open may be cut as it is welcome
        before = p.wishes[k]
    target = dict(eqn.params)["spec"].layout(eqn.aval.shape, before=before)
    return in_terms(p, i, target)


def _transfer(p: Partition, k: int, eqn: Eqn) -> int | None:
    """Take the value where it is: in the host's memory until a device needs its part."""
    return p.number[eqn.ins[0]]


def _project(p: Partition, k: int, eqn: Eqn) -> int:
    number = p.number[eqn.ins[0]]
    assert number is not None
    return p.part(number, dict(eqn.params)["index"])


RULES |= {
    reshard: _reshard,
    transfer: _transfer,
    structure.project: _project,
    structure.slice_: slice_rule,
    structure.update_slice: update_slice_rule,
    structure.concat: concat_rule,
    structure.reshape: reshape_rule,
    reduction.cumsum: scan_rule,
    reduction.cumprod: scan_rule,
    reduction.argmax: index_rule,
    reduction.argmin: index_rule,
    indexing.gather: gather_rule,
    indexing.scatter: scatter_rule,
    fourier.fft: fft_rule,
    fourier.rfft: fft_rule,
    fourier.irfft: irfft_rule,
    ordering.sort: sort_rule,
    ordering.argsort: sort_rule,
    ordering.searchsorted: search_rule,
    ordering.isin: search_rule,
    linalg.qr: tall_rule,
    linalg.svd: tall_rule,
    linalg.svdvals: values_rule,
    control.scan: loops.scan_rule,
    control.while_: loops.while_rule,
    control.switch: loops.switch_rule,
}

__all__ = ["RULES", "partition", "rule_of"]
