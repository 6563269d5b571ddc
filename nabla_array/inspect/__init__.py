"""Looking inside: explain what is pending, report what was done."""

from .explanation import Explanation, Step, explain
from .reporting import Report, report

__all__ = ["Explanation", "Report", "Step", "explain", "report"]
