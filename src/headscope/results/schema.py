"""The shape of a results file: one group per measure, and what every group has.

A group of a survey holds ``sum``, ``square`` and ``count`` by ``bucket`` (a fixed number of groups
of documents), and what follows from them: ``mean`` with its interval ``low`` … ``high``,
``deviation`` and ``n``. Its attributes say what it is (``title``, ``unit``, ``source``) and how it
is read (``kind``, ``listed``).
"""

from __future__ import annotations

SCHEMA = 2
"""The version of this layout."""
SUMS = ("sum", "square", "count")
EXACT = "_exact"
"""Ends the names of the exact sums that shards carry until they are merged."""
KEPT = "value"
"""The values of single examples, where a measure keeps them."""
STATISTICS = ("mean", "low", "high", "deviation", "n")
"""What a table shows of every head and label."""
