/*
 * The common part of all models: short forms, and the switches by which a run chooses a size or a broken variant.
 *
 * PICK is the first text if the run turns a switch on, else the second.  No text may have a comma outside of parentheses.
 */
#define PICK(name, on, off)      PICK_TEXT(name, on, off)
#define PICK_TEXT(value, on, off) SECOND_OF(COMMA_##value on, off, 0)
#define SECOND_OF(...)           SECOND(__VA_ARGS__)
#define SECOND(first, second, ...) second
#define COMMA_1                  ,
#define ONLY(name, text)         PICK(name, text, )
#define UNLESS(name, text)       PICK(name, , text)

/* With EACH every turn is one step. */
#define WHEN(condition, ...)     if :: condition -> __VA_ARGS__ :: else fi
#define LOOP(index, count, ...)  do :: index < (count) -> __VA_ARGS__; index++ :: else -> break od; index = 0
#define EACH(index, count, ...) \
    do :: atomic { index < (count) -> __VA_ARGS__; index++ } :: atomic { index == (count) -> index = 0; break } od

/* Sets of ranks as bit masks. */
#define HAS(set, rank)           ((set) >> (rank) & 1)
#define COUNT(set)               (HAS(set, 0) + HAS(set, 1) + HAS(set, 2) + HAS(set, 3))

/* A process for each rank, and one that kills a rank at any moment. */
#define NOBODY    RANKS
#define RUN_RANKS init { byte i; atomic { LOOP(i, RANKS, run rank(i)) } }
#define KILLER    active proctype killer() { byte victim; atomic { select (victim : 0 .. RANKS - 1); killed = victim } }
