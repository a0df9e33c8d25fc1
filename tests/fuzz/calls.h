/* One call: parameters, the structs and buffers that they point to, and the checks that hold for every function. */
#ifndef FUZZ_CALLS_H
#define FUZZ_CALLS_H

#include "state.h"
#include "../header/table.h"

/* What is spoilt: numbers, pointers, or what the pointers lead to. */
enum fault { NUMBERS, POINTERS, CONTENTS };

struct call {
    const struct function *function;
    _Alignas(16) char parameters[128];
    struct block *blocks;
    int block_count;
    enum fault fault;               /* all faults of a call are of one class, ... */
    int faults, places_left;        /* ... and so many are left to place, the next one after so many places */
    int faults_placed;
    bool keeps_blocks;              /* a handle that the call made has taken them */
};

void call_prepare(struct call *call, const struct function *function);
uint64_t call_make(struct call *call);   /* calls, checks, and ends the process if a property does not hold */
void call_end(struct call *call);

/* For cases.c: memory of the call, NULL if it is too large. */
void *call_memory(struct call *call, int64_t bytes, bool is_output);
/* Whether the bytes lie within one block. */
bool call_has(const struct call *call, const void *pointer, int64_t bytes);
void call_fill(void *memory, int64_t bytes, enum fill fill, int64_t limit);
bool call_fault(struct call *call, enum fault fault);  /* whether to spoil this */

/* The standard error of the process, while its descriptor 2 shows whether the library prints. */
extern int fuzz_output;

/* Ends the process with a text on the standard error that it was started with. */
_Noreturn void fuzz_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
