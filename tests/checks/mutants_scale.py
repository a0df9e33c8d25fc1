"""Mutants of what hosts send, which the simulation counts too, for mutants.py: name, file, old text, new text, suite that must fail."""

from __future__ import annotations

SCALE, SPAN, RAGGED = "scale", "src/ranks/hosts/span.c", "src/ranks/ragged/ragged_hosts.c"

RANKS = [
    ("a round of leaders for each host", SPAN, "distance *= 2) {", "distance += 1) {", SCALE),
    ("terms with every brief", RAGGED, "    const bool has_record = !brief || brief->offer == QUERN_RAGGED_LONG;\n",
     "    const bool has_record = true;\n", SCALE),
    ("an empty reason with each vote", RAGGED, "    const bool has_reason = record->verdict.report.fault == QUERN_SLICE_ARGUMENTS;\n",
     "    const bool has_reason = true;\n", SCALE),
    ("other places than are simulated", "src/ranks/hosts/listener.c", "LEAST_PLACES = 32", "LEAST_PLACES = 48", SCALE),
    ("a model without the seal of a vote", "bench/scale/sizes.py", "TERMS, NOTICE, VOTE = 160, 24, 56", "TERMS, NOTICE, VOTE = 160, 24, 48",
     SCALE),
]
