"""Faults of quantised chunks, for tests/checks/mutants.py: each is (name, file, old, new, what must fail)."""

FOLDER = "src/ranks/chunks"
CHECK, HOST, RECORD = f"{FOLDER}/chunks_check.c", f"{FOLDER}/chunks_host.c", f"{FOLDER}/chunks_record.c"
WORK, WAIT = f"{FOLDER}/chunks_work.c", f"{FOLDER}/chunks_wait.c"
SUITE = "test_chunks"

RANKS = [
    ("random numbers of a chunk from its own beginning", WORK, "    const int64_t begin = first / GROUP * GROUP;\n    cast(work,",
     "    const int64_t begin = first;\n    cast(work,", SUITE),
    ("the codes before a chunk in its place", WORK, "codes + (first - begin), first, end", "codes, first, end", SUITE),
    ("words before the data", WORK, "    cast_piece(work, quern_chunk_at(work->call, chunk), index % work->pieces);\n"
     "    if (__atomic_sub_fetch(&work->left[chunk], 1, __ATOMIC_ACQ_REL) == 0) signal_chunk(work, chunk);",
     "    if (__atomic_sub_fetch(&work->left[chunk], 1, __ATOMIC_ACQ_REL) == 0) signal_chunk(work, chunk);\n"
     "    cast_piece(work, quern_chunk_at(work->call, chunk), index % work->pieces);", SUITE),
    ("words with the first piece", WORK, "(uint32_t)work->pieces;", "1;", SUITE),
    ("a piece too few for chunks that begin within a group", WORK, "call->chunk_elements + GROUP - 1, PIECE",
     "call->chunk_elements, PIECE", SUITE),
    ("chunks in ascending order only", WORK, "work->call->order[index / work->pieces]", "(int)(index / work->pieces)", SUITE),
    ("the amax of a rank's own input", RECORD, "if (record.amax > largest) largest = record.amax;",
     "if (place == call->place) largest = record.amax;", SUITE),
    ("damaged records that are believed", RECORD, "record->seal != seal_of(record) || ", "", SUITE),
    ("an amax that is none", RECORD, " || record->amax > infinity", "", SUITE),
    ("terms that are not compared", RECORD, " &&\n           memcmp(one->terms, other->terms, sizeof one->terms) == 0", "", SUITE),
    ("a refusal that nobody hears", RECORD, "if (record.refused && refuses < 0) refuses = place;", "", SUITE),
    ("no exit", HOST, "return status == QUERN_OK ? meet(call, QUERN_PHASE_EXIT) : status;", "return status;", SUITE),
    ("words that stay after a failure", HOST, "if (status != QUERN_OK && call->refused == QUERN_OK) fail_words(call);", "", SUITE),
    ("words that have come and are taken back", HOST, "while (seen != value && !__atomic", "while (!__atomic", SUITE),
    ("a value that is used again", HOST, "if (word != value && word != ~value) continue;", "continue;", SUITE),
    ("the caller's rounding in a scale", HOST, "    fesetenv(FE_DFL_ENV);\n", "", SUITE),
    ("memory of another size that is reached", HOST, "place->id, place->offset, bytes, rank", "place->id, place->offset, 0, rank",
     SUITE),
    ("a chunk that is sent twice", CHECK, "if (seen[chunk])", "if (false)", SUITE),
    ("chunks without number", CHECK, "if (call->chunks > QUERN_MOST_CHUNKS)", "if (false)", SUITE),
    ("a wait that does not see a failure", WAIT, "if (failed >= 0)", "if (false)", SUITE),
    ("a wait that does not see the poison", WAIT, "    quern_status status = quern_check_poison(member);\n",
     "    quern_status status = QUERN_OK;\n", SUITE),
    ("a wait without limit", WAIT, "if (waited < wait->limit || are_ready(wait)) return QUERN_OK;", "return QUERN_OK;", SUITE),
]
