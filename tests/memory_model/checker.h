/*
 * An explorer of C's memory model.  It runs the threads of a program one at a time, chooses after which step another one goes on
 * and which of the values that the model allows an atomic load returns, and finds data races, waits without an end, and what the
 * program itself calls wrong.  For litmus.c and protocols.c.
 */
#ifndef MEMORY_MODEL_CHECKER_H
#define MEMORY_MODEL_CHECKER_H

#ifdef __cplusplus
extern "C" {
#endif

enum { CHECKER_MOST_RANKS = 4 };

struct checker_program {
    const char *name;
    int ranks;                   /* threads that run each function */
    int executions;              /* 0: all of them, of a program without loops */
    void (*set_up)(int rank);    /* once, before all executions; not explored.  NULL: nothing, as of the next ones */
    void (*begin)(int rank);     /* before each execution; not explored */
    void (*run)(int rank);       /* explored */
    void (*end)(int rank);       /* after each execution; not explored */
};

/* Runs the executions of a program.  A failure ends the process with status 1. */
void checker_run(const struct checker_program *program);

/* A choice of the program's own: 0 to count - 1. */
int checker_choose(int count);

/* The execution is wrong unless the condition holds. */
#define checker_expect(condition, ...) do { if (!(condition)) checker_fail(__VA_ARGS__); } while (0)
void checker_fail(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));

/*
 * The orders of accesses at some addresses of code: "ADDRESS=ORDER,...", with the compiler's numbers of orders; f behind the
 * address: that of a comparison that fails.
 */
void checker_weaken(const char *list);

/* Prints the accesses with an order that were executed: address of code, kind, order, order of a failure. */
void checker_print_sites(void);

#ifdef __cplusplus
}
#endif

#endif
