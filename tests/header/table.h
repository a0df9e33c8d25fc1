/* The public header as data.  gen/ renders the tables into generated/header/table.h; table.c compiles them. */
#ifndef HEADER_TABLE_H
#define HEADER_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a field or parameter can hold. */
enum kind {
    SIZE,      /* the size of the struct, which it begins with */
    INTEGER,
    FLAG,
    REAL,
    ENUM,
    BYTES,     /* an array inside the struct */
    TEXT,
    STRUCT,    /* inside the struct */
    STRUCTS,   /* a pointer to structs of arguments */
    MEMORY,    /* any other pointer to data */
    HANDLE,
    HANDLES,   /* a pointer to handles that are read */
    CALLBACK
};

enum handle { NO_HANDLE, HANDLE_OF_quern_device, HANDLE_OF_quern_blas, HANDLE_OF_quern_adam_plan, HANDLE_OF_quern_group,
              HANDLE_OF_quern_ragged_plan, HANDLE_OF_quern_transfer, HANDLE_OF_quern_accumulate_plan,
              HANDLE_OF_quern_quantize_plan, HANDLE_KINDS };

/* The contents of memory. */
enum fill {
    ANY,       /* a pattern of bytes: zeros, small numbers of every type, or noise */
    INT32S,    /* integers in [-1, limit) */
    INT64S,
    HANDLES_IN,/* live handles */
    SIZES      /* counts of bytes for an allocation */
};

/* How far a pointer reaches by the other arguments. */
struct extent {
    int64_t bytes;    /* or one of these */
    enum fill fill;
    int64_t limit;    /* of integers; the bytes from one struct of a list to the next */
};
enum { REFUSED = -1, NOT_MEMORY = -2 };  /* negative or larger than any memory: the call must fail; a stream or a hook's context */

enum { MOST_RANKS = 2 };
extern int header_ranks;  /* of the group at hand, for arrays with an entry for each rank; MOST_RANKS unless a test sets it */

typedef struct extent extent_of(const void *self, const void *parent);

struct record;
struct field {
    const char *name;
    enum kind kind;
    uint32_t offset, bytes;
    bool is_const, is_host;   /* is_host: points to integers that the library reads as such */
    enum handle handle;
    const int *values;
    int value_count;
    const struct record *record;
    extent_of *extent;
};

/* A struct, or the parameters of a function. */
struct record {
    const char *name;
    uint32_t bytes;
    const struct field *fields;
    int count;
};

enum result { STATUS, LENGTH, NUMBER, STATIC_TEXT, NOTHING };

struct function {
    const char *name;
    const struct record *record;  /* NULL: no parameters */
    uint64_t (*call)(const void *parameters);
    enum result result;
};

extern const struct function *const header_functions;
extern const int header_function_count;

bool header_is_status(int value);

/* As strcmp, from which libFuzzer would learn the names as parts of inputs. */
static inline bool same_text(const char *a, const char *b) {
    while (*a && *a == *b) a++, b++;
    return *a == *b;
}

#endif
