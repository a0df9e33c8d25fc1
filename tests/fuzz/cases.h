/* Plausible values: small calls that succeed, from which calls.c departs by single faults. */
#ifndef FUZZ_CASES_H
#define FUZZ_CASES_H

#include "../header/table.h"

/* In place of a pointer that calls.c has not filled yet: NULL on purpose; everything else is filled. */
#define OMIT ((void *)(uintptr_t)8)

/* Sets the numbers of a struct or of parameters, before its pointers exist. */
void case_numbers(const struct record *record, void *self, const void *parent);

/* Bounds what is valid but would take long: threads and time limits. */
void case_tame(const struct record *record, void *self);

/* Whether the header lets a function write outputs before it returns this status of 1xxx or 2xxx. */
bool case_may_write(const char *function, int status);

/* Whether outputs of these arguments may lie anywhere in inputs: the function allows it, or does not use all of them. */
bool case_may_overlap(const struct function *function, const struct record *record);

/* Sets what depends on the pointers: places that coincide, metadata that agree, sizes of workspaces. */
struct call;
void case_pointers(struct call *call, const struct record *record, void *self, const void *parent);

/* Where a trace or a dump is written: a path of this process, at which nothing is any more; or one that is refused. */
char *case_path(bool is_trace);
void case_remove_paths(void);

#endif
