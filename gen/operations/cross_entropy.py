"""Softmax cross-entropy: the kernels that touch logits, and the stages around them."""

from __future__ import annotations

from collections.abc import Iterator

from gen.operation import INT64_MAX, Key, Operation, Shared, Target, Task
from gen.spec import DTYPES, FLOATS, GPU_PART_BYTES, Geometry, GpuTarget

# "resident" keeps the row in shared memory, of one block or a cluster, and so reads it once.  It divides rows by columns, in
# vectors of 16 bytes; its blocks, or clusters of blocks, take rows in turns.  So does "streamed" without options: it keeps as many
# columns as fit in all the shared memory of a multiprocessor, and reads the others twice.  "short" keeps several rows in the shared
# memory of a block of one warp.  "upstream" multiplies a gradient that is there already, part by part.  "portable" does all of a
# row with portable bits, and "portable_combine" joins those of shards.  "columns" finds further columns of a row before the others,
# "log_probs" their log-probabilities after them, and "listed" the gradient of those with soft targets.  "soft" finds divergences
# from soft targets of all columns; "wide" is a GPU's gradient with these, and in fp32.
ROWS_THREADS = {"short": 32, "resident": 128, "streamed": 256}  # QUERN_SHORT_ROWS_THREADS of src/kernels/problem.h
ROWS_CLUSTER = 8  # blocks: as many as any generation has
# With options "streamed" reads a row twice; both take any vocab.  "stats" and "gradient" are its two passes for one part of a row;
# the others are the stages around them.  All that sum parts of rows have the same number of threads, on which the bits of the sums
# depend.
SUMMING_THREADS = 512
SHORT_ROWS = 4  # of a block: QUERN_SHORT_ROWS of src/kernels/problem.h
# The longest row that is short.  From about 2,500 bf16 columns on the warps of a block are as good, and more rows are in flight.
SHORT_ROW_BYTES = 6144
GEOMETRY = {
    "short": Geometry(ROWS_THREADS["short"], keeps="columns"),
    "resident": Geometry(ROWS_THREADS["resident"], keeps="columns"),
    "streamed": Geometry(SUMMING_THREADS, keeps="part", sums=8),     # MERGED_AT_ONCE
    "stats": Geometry(SUMMING_THREADS, sums=1),
    "gradient": Geometry(SUMMING_THREADS),
    "upstream": Geometry(threads=256),
    "portable": Geometry(threads=256),
    "portable_combine": Geometry(threads=32),  # one of them takes a row
    "combine": Geometry(threads=256),  # a warp for each row
    "labels": Geometry(threads=512),  # a label with its class weight takes more registers than a loss
    "reduce": Geometry(threads=1024),
    "columns": Geometry(threads=512),  # a block for each row
    "log_probs": Geometry(threads=256),  # a warp for each row, as the next one
    "listed": Geometry(threads=128),
    "soft": Geometry(threads=256),  # a block for each part of each row, as the next one
    "wide": Geometry(threads=256),
}

# Variants of CPU kernels.
CPU_VARIANTS = ("rows", "stats", "gradient", "upstream", "soft")

# Variants of GPU kernels of which one serves all dtypes and options.  "columns", "soft" and "wide" read logits, of a type that the
# call names.
STAGES_OF_ALL_LOGITS = ("portable_combine", "combine", "labels", "reduce", "columns", "log_probs", "listed", "soft", "wide")

# Variants that know all options as they are, and those with a source of their own.
WITH_ALL_OPTIONS = ("upstream", "portable", "soft")
ALONE = ("upstream", "portable")
OF_ALL_COLUMNS = ("soft", "wide")  # they share one on a GPU

ROWS = Task("QUERN_STAGE_ROWS", 0)

# Bytes of dynamic shared memory: a row of stats, and the sums of one part, without and with all options.
MERGED_BYTES = 64
SUMS_BYTES = 320
SUMS_BYTES_FULL = 704
# Beside the columns of a block that takes rows in turns: struct team_memory, with all options full_team_memory as well, and room to
# read whole vectors at any alignment.
TEAM_BYTES = {"resident": 336, "streamed": 352}
TEAM_BYTES_FULL = 1280
ROOM_BYTES = 32


def takes_turns(key: Key) -> bool:
    """Whether the blocks of a GPU kernel take the rows in turns, and the kernel divides a row by columns, not by parts."""
    return key["variant"] in ("short", "resident") or (key["variant"] == "streamed" and not key["options"])


class CrossEntropy(Operation):
    name = "cross_entropy"
    bit = 1
    keys = ("logits", "variant", "options")
    tasks = {"short": ROWS, "resident": ROWS, "streamed": ROWS, "rows": ROWS,
             "stats": Task("QUERN_STAGE_STATS", 1), "gradient": Task("QUERN_STAGE_GRADIENT", 2),
             "upstream": Task("QUERN_STAGE_UPSTREAM", 3), "portable": Task("QUERN_STAGE_PORTABLE", 4),
             "portable_combine": Task("QUERN_STAGE_PORTABLE_COMBINE", 5), "combine": Task("QUERN_STAGE_COMBINE", 6),
             "labels": Task("QUERN_STAGE_LABELS", 7), "reduce": Task("QUERN_STAGE_REDUCE", 8),
             "columns": Task("QUERN_STAGE_COLUMNS", 9), "log_probs": Task("QUERN_STAGE_LOG_PROBS", 10),
             "listed": Task("QUERN_STAGE_LISTED", 11), "soft": Task("QUERN_STAGE_SOFT", 12), "wide": Task("QUERN_STAGE_WIDE", 13)}
    has_open_requests = True  # `gen explain` takes one without a variant
    talks = True

    def combinations(self) -> Iterator[Key]:
        keys = [{"logits": logits, "variant": variant, "options": options}
                for options in (None, "full") for variant in self.tasks for logits in (*FLOATS, None)]
        return iter(sorted(keys, key=lambda key: not takes_turns(key)))

    def illegal(self, key: Key, target: Target) -> str | None:
        variants = CPU_VARIANTS if target.kind == "cpu" else tuple(GEOMETRY)
        if key["variant"] not in variants:
            return f"variant is {key['variant']!r}; a {target.kind} target has {', '.join(variants)}"
        has_type = target.kind == "cpu" or key["variant"] not in STAGES_OF_ALL_LOGITS
        if key["logits"] not in (None, *FLOATS):
            return f"logits is {key['logits']}: it must be one of {', '.join(FLOATS)}"
        if (key["logits"] is not None) != has_type:
            return f"the {key['variant']} stage {'needs a type of' if has_type else 'serves all types of'} logits"
        if key["options"] and (not has_type or key["variant"] in WITH_ALL_OPTIONS):
            return f"the {key['variant']} stage knows all options as it is"
        if key["options"] and key["variant"] == "short":
            return "with all options short rows have the kernel of the others"
        return None

    def base_name(self, key: Key) -> str:
        parts = [self.name, key["logits"], None if key["variant"] == "rows" else key["variant"], key["options"]]
        return "_".join(part for part in parts if part)

    def stem(self, key: Key, target: Target) -> str:
        has_own = takes_turns(key) or key["variant"] in (*ALONE, *OF_ALL_COLUMNS)
        own = self.template(key) if target.kind == "gpu" and has_own else None
        parts = [self.name, key["logits"] or (None if own else "stages"), key["options"] if target.kind == "gpu" else None, own]
        return "_".join(part for part in parts if part)

    def template(self, key: Key) -> str:
        if takes_turns(key):
            return "rows" if key["variant"] == "resident" else str(key["variant"])
        if key["variant"] in ALONE:
            return str(key["variant"])
        if key["variant"] in OF_ALL_COLUMNS and not key["logits"]:
            return "wide"
        return self.name if key["logits"] else "stages"

    def geometry(self, key: Key, target: Target) -> Geometry:
        if takes_turns(key):
            variant = str(key["variant"])
            shares = variant == "resident" and "clusters" in target.features
            return Geometry(ROWS_THREADS[variant], elements=16 // DTYPES[str(key["logits"])].bytes, keeps="columns",
                            cluster=ROWS_CLUSTER if shares else 0)
        return GEOMETRY[str(key["variant"])]

    def shared(self, key: Key, target: Target) -> Shared:
        sums = SUMS_BYTES_FULL if key["options"] else SUMS_BYTES
        if target.kind == "cpu":
            return Shared()
        kept = self.geometry(key, target)
        if kept.keeps == "columns":
            if key["variant"] == "short":
                return Shared(per_column=SHORT_ROWS * DTYPES[str(key["logits"])].bytes, fixed=SHORT_ROWS * ROOM_BYTES)
            team = TEAM_BYTES_FULL if key["options"] else TEAM_BYTES[str(key["variant"])]
            return Shared(per_column=DTYPES[str(key["logits"])].bytes, fixed=team + ROOM_BYTES, sums=team)
        # Of a row that is streamed by copies, one part.
        part = GPU_PART_BYTES if kept.keeps == "part" and "async_copy" in target.features else 0
        return Shared(fixed=MERGED_BYTES + kept.sums * sums + part if kept.keeps or kept.sums else 0,
                      merged=MERGED_BYTES, sums=sums)

    def waits(self, key: Key) -> bool:
        """Plain kernels are launched alone, unless there are so many rows that a launch more does not matter."""
        return bool(key["options"]) or not key["logits"] or key["variant"] == "portable"

    def vocab_max(self, key: Key, target: Target) -> int:
        if not isinstance(target, GpuTarget) or key["variant"] not in ("short", "resident"):
            return INT64_MAX
        if key["variant"] == "short":
            return SHORT_ROW_BYTES // DTYPES[str(key["logits"])].bytes
        shared, geometry = self.shared(key, target), self.geometry(key, target)
        columns = (target.shared_bytes - shared.fixed) // shared.per_column
        return max(1, geometry.cluster) * (columns // geometry.elements * geometry.elements)

    def cpu_member(self, key: Key) -> str:
        return "cross_entropy_rows" if key["variant"] == "rows" else "cross_entropy_part"

    def cpu_type(self, key: Key) -> str:
        return f"quern_{self.cpu_member(key)}_kernel"

    def mismatch(self, key: Key, request: Key) -> str | None:
        return "computes another stage" if "variant" not in request and key["logits"] is None else None


OPERATION = CrossEntropy()
