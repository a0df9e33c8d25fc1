"""Faults of collectives, for tests/checks/mutants.py: each is (name, file, old, new, what must fail)."""

FOLDER = "src/ranks/collective"
CALL, HOST = f"{FOLDER}/collective.c", f"{FOLDER}/collective_host.c"
RECORD, ROUNDS, WORK = f"{FOLDER}/collective_record.c", f"{FOLDER}/collective_rounds.c", f"{FOLDER}/collective_work.c"
LOOKUP = "src/ranks/symmetric/symmetric_lookup.c"
KERNEL, ARITHMETIC = "templates/collective/collective_combine.c.j2", "src/kernels/cpu/collective_combine.h"
SUITE = "test_collective"

RANKS = [
    ("a sum that begins with its last input", KERNEL, "sum[k] = load_${ p }(all->inputs[0],",
     "sum[k] = load_${ p }(all->inputs[all->input_count - 1],",
     SUITE),
    ("a NaN that keeps its payload", ARITHMETIC, "((combine_bits)x & ~nan) | (nan & COMBINE_NAN)",
     "(combine_bits)x | (nan & COMBINE_NAN)",
     SUITE),
    ("a maximum that loses NaN", KERNEL, "            first |= where_nan(x.first);\n", "", SUITE),
    ("a maximum with -0 above +0", ARITHMETIC, "(combine_bits)vector_max(a, b) & (combine_bits)vector_max(b, a)",
     "(combine_bits)vector_max(a, b) | (combine_bits)vector_max(b, a)", SUITE),
    ("elements at the end left out", KERNEL, "        if (done < count)\n            sum_",
     "        if (done > count)\n            sum_", SUITE),
    ("the caller's rounding in a small reduction", WORK, "tasks == 1 && is_default_environment()", "tasks == 1", SUITE),
    ("one half of the records", RECORD, "quern_shared_brief)(member->roster, rank, half)",
     "quern_shared_brief)(member->roster, rank, 0 * half)", SUITE),
    ("no exit of some ranks", HOST, "(some || (result == QUERN_OK && large))", "(result == QUERN_OK && large)", SUITE),
    ("no exit of a large call", HOST, "(some || (result == QUERN_OK && large))", "some", "points of ranks"),
    ("a damaged head that is believed", RECORD, "!call->member->one_process && head.seal != seal_of_head(&head)", "false", SUITE),
    ("damaged places that are believed", RECORD,
     "return call->member->one_process || places->seal == seal_of(places, sizeof *places);",
     "return true;", SUITE),
    ("counts that are not compared", RECORD, " && first->count == other->count", "", SUITE),
    ("roots that are not compared", RECORD, " && first->root == other->root", "", SUITE),
    ("a refusal that nobody hears", RECORD, "if (head.refused && refuses < 0) refuses = place;", "", SUITE),
    ("a vote that is left out", HOST, "if (same_live && verdict->buffer < 0) return QUERN_OK;",
     "if (verdict->buffer < 0) return QUERN_OK;",
     SUITE),
    ("one window for all rounds", ROUNDS, "round % 2 * staged_bytes", "0 * round * staged_bytes", SUITE),
    ("one returned window", ROUNDS, "round % 2 * returned_bytes", "0 * round * returned_bytes", SUITE),
    ("a whole reduction in place of what others read", ROUNDS, "!(is_whole(call) && !is_exposed(call, summary))",
     "!is_whole(call)", SUITE),
    ("a chunk that is not staged late", HOST, "        quern_collective_stage(rounds, 0);\n", "", SUITE),
    ("the piece of another rank", ROUNDS, "const int64_t piece = call->form->scatters ? call->place : 0;",
     "const int64_t piece = 0;", SUITE),
    ("an output in place of another's input", CALL,
     "input + (call->form->scatters ? own : 0) == output + (call->form->gathers ? own : 0)",
     "input == output", SUITE),
    ("overlaps that are allowed", CALL, "are_apart(&ranges[1], &ranges[2])) return QUERN_OK;", "true) return QUERN_OK;", SUITE),
    ("a root outside of the members", CALL, "    if (!quern_set_has(&call->set, args->root))\n", "    if (false)\n", SUITE),
    ("a workspace that is not symmetric", LOOKUP, "if (status != QUERN_OK || !needed || *state == QUERN_MEMORY_SYMMETRIC) return",
     "return", SUITE),
]
