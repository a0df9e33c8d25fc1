/*
 * The body of the programs of this folder: runs of ranks under faults, several at once.
 *
 *   PROGRAM WORD [--part K/N] [--deep] ...
 *
 * WORD is that of a row of its table, which says what the other words are.  --part takes one of N equal parts, K from 1 to N.  With
 * --deep what was not met, although it was tried again and again, is a failure.  The last line is `N passed, N failed`, and
 * `, N skipped` for what needs rights that this user does not have.
 */
#ifndef FAULTS_RUNS_H
#define FAULTS_RUNS_H

#include "harness/ranks.h"

struct program {
    const char *word;
    void (*run)(const char *word, int count, char **words);  /* those behind the word */
    bool leaves_names;         /* in /dev/shm */
};

/* Of the program, until a word is NULL. */
extern const struct program programs[];

/* Those of other files than the table's. */
void run_races(const char *word, int count, char **words);
void run_shrinks(const char *word, int count, char **words);
void run_meeting_place(const char *word, int count, char **words);
void run_scribbles(const char *word, int count, char **words);

extern struct runs {
    int part, parts;           /* part: from 0 */
    bool is_deep;
    int passed, failed, skipped;
} runs;

/* Counts what has passed, failed for a reason, which is printed with the name, or (RUN_SKIPPED) cannot be here. */
extern const char RUN_SKIPPED[];
void runs_count(const char *name, const char *wrong);

/* Whether so much has failed that no more is begun: each run may take seconds. */
bool runs_are_enough(void);

/* The part of a range of numbers. */
void runs_narrow(long *first, long *end);

/*
 * A private /dev/shm, if the system allows it: it contains no names of other programs, and it can be filled.  Options of mount(8),
 * such as "size=64k"; NULL: none.  Programs begin with one; no other thread may have been started.
 */
bool private_shm_enter(const char *options);

/* One run.  The functions get it while its ranks are there; their user is a plan of user_bytes bytes, of which it has a copy. */
struct trial {
    struct ranks ranks;
    char name[200];            /* as a failure prints it */
    void (*watch)(struct trial *trial);         /* again and again; NULL: nothing is to be done */
    const char *(*judge)(struct trial *trial);  /* waits for the ranks; NULL: nothing is wrong, else what */
    struct rank_run *run;
    void *plan;                /* the copy */
    double began;
    bool is_struck;            /* by the watcher */
};

/* Begins a run as soon as there is room, or none if there are enough; waits for the end of all. */
void trial_begin(const struct trial *trial);
void trials_await(void);

/* A run of which the caller gets the first bytes of the shared memory, as they were at the end. */
void trial_run(const struct trial *trial, void *shared, size_t bytes);

#endif
