"""Looking inside: evaluate on demand, explain what is pending, report what was done."""

from .explanation import Explanation, Step, eval, explain
from .reporting import Report, report

__all__ = ["Explanation", "Report", "Step", "eval", "explain", "report"]
