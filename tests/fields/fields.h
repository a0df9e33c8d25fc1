/*
 * Every field in every call, from one description.  A rule says what each call of a family does with a field; the walks of choice.c
 * derive the tests from it.  A call begins as a base case that succeeds, with each buffer at a home of its own in one arena.
 *
 * A family is a header of this folder: the rules of its structs and parameters, and the base case of each call.  FIELDS_OF_... and
 * CALLS_WITH_... of generated/header/fields.h name the rules and the calls, so that a field or a function without one does not
 * compile.
 */
#ifndef FIELDS_FIELDS_H
#define FIELDS_FIELDS_H

#include "../../generated/dtypes.h"
#include "../../generated/header/fields.h"
#include "../../generated/header/parameters.h"
#include "harness/device.h"
#include "header/table.h"

/*
 * The letters of a rule, one for each call of the family, or a single one for all:
 *
 *   -      ignored: any value gives the bits of the base case
 *   .      used, and legal whatever it is; or the business of another test
 *   c      a number that is checked
 *   C      the same, and it must be that of the plan
 *   0      must be 0 or NULL
 *   R W    a required pointer to what is read, or written
 *   r w    an optional one
 *   x      required and read, and apart from all others as what is written
 *   a      required and aligned; may lie anywhere, since it is not accessed
 *   n      only compared with NULL
 *   p P    read or written through a plan: others must not overlap it
 *   s      a stream: NULL on a CPU
 */

/*
 * Why values are refused.  The walk reads the limits in the text ("0 or more", "at least vocab, 10", "1 to 65536", "a finite
 * number").  The values beyond them are refused with exactly this detail, and the limits themselves are not.
 */
struct refusal {
    const char *text;        /* the detail behind ": expected "; with a blank first, behind the value; with a star, behind the name;
                                with @, behind the name of the dtype.  #: the number of the base case */
    quern_status status;
    const char *calls;       /* letters: x where it is so; NULL: in every call whose letter is c */
    const int64_t *values;   /* such values, if the text has no limits */
    size_t value_count;
};

struct rule {
    const char *letters;
    const struct refusal *refusals;
    size_t refusal_count;
    const int *legal;            /* dtypes: all others are refused */
    size_t legal_count;
    const char *legal_text;      /* of them; NULL: their names */
    const char *unused[2];       /* the texts behind the name of what must be 0 or NULL */
    size_t (*alignment)(const void *self, const void *parent);  /* NULL: no memory of tensors; 0: not checked */
    unsigned host_calls;         /* bits, one for each call of the family: it is memory of the host */
    bool is_shared;              /* several tensors may have the same */
    const void *foreign;         /* where a handle of another device is, which is refused; NULL: nowhere */
    bool stays;                  /* its contents are refused elsewhere: others are moved over it */
    const char *may_overlap;     /* the name of another field */
    const char *called;          /* in details; NULL: as the field */
};

#define RULE(type, field, uses, ...) static const struct rule rule_of_##type##__##field = {.letters = uses, __VA_ARGS__};
#define PLAIN(type, field, uses) static const struct rule rule_of_##type##__##field = {.letters = uses};
#define LEGAL(...) .legal = (const int[]){__VA_ARGS__}, .legal_count = sizeof((const int[]){__VA_ARGS__}) / sizeof(int)
#define VALUES(...) .values = (const int64_t[]){__VA_ARGS__}, \
    .value_count = sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t)
#define REFUSES(...) .refusals = (const struct refusal[]){__VA_ARGS__}, \
    .refusal_count = sizeof((const struct refusal[]){__VA_ARGS__}) / sizeof(struct refusal)
#define SHAPE(words, ...) {.status = QUERN_INVALID_SHAPE, .text = words, __VA_ARGS__}
#define ARGUMENT(words, ...) {.status = QUERN_INVALID_ARGUMENT, .text = words, __VA_ARGS__}
#define STRUCT_BYTES(words, ...) {.status = QUERN_INVALID_STRUCT_SIZE, .text = words, __VA_ARGS__}
#define ITEM_BYTES(bytes, ...) STRUCT_BYTES(bytes " (as the struct's initialiser sets)", VALUES(__VA_ARGS__))
#define COUNT_TO(most) SHAPE("0 or more"), SHAPE("at most " most)
#define MOST_ROWS "2199023255552"
#define MOST_ELEMENTS "35184372088832"
#define FP32 ARGUMENT("0 to 3.4e38, the largest fp32")
#define FINITE ARGUMENT("a finite number, 0 or more")
#define TOO_LONG(words) SHAPE(" with " words ", since no buffer has more than 2^47 bytes")

/* Memory whose elements have this size.  `a` is the struct, `parent` the one that leads to it. */
#define MEMORY_OF(type, field, uses, element, ...) \
    static size_t element_of_##type##__##field(const type *a, const void *parent) { \
        (void)a, (void)parent; \
        return (size_t)(element); \
    } \
    static size_t alignment_of_##type##__##field(const void *self, const void *parent) { \
        return element_of_##type##__##field(self, parent); \
    } \
    static const struct rule rule_of_##type##__##field = {.letters = uses, .alignment = alignment_of_##type##__##field, \
                                                          __VA_ARGS__};
#define BUFFER_OF(type, field, uses, element) MEMORY_OF(type, field, uses, element, .host_calls = 0)

/* The parameters that most functions have. */
#define DEVICE_AND_ARGS(function) PLAIN(function##__parameters, device, "R") PLAIN(function##__parameters, args, "R")
#define WORKSPACE_AND_STREAM(function) \
    BUFFER_OF(function##__parameters, workspace, "W", 16) \
    RULE(function##__parameters, workspace_bytes, "c", REFUSES({.text = "at least #", .status = QUERN_WORKSPACE_TOO_SMALL})) \
    PLAIN(function##__parameters, stream, "s")
#define HOST_RESULT(function, parameter, uses) MEMORY_OF(function##__parameters, parameter, uses, 0, .host_calls = ~0u)

/*
 * Plans of a base case's arguments, on its device and on another one: the first takes the place of the list in them, which the last
 * argument empties.  And the end of both, and of one that a call has made.
 */
#define PLANS(kind, args, own, foreign, empty) \
    static void make_##own(UNUSED const struct call *call) { \
        const __typeof__(args) listed = args; \
        check_ok(kind##_create(fields_device.quern, &listed, &own)); \
        check_ok(kind##_create(fields_other_device, &listed, &foreign)); \
        args.plan = own, empty; \
    } \
    static void destroy_##own(void) { \
        kind##_destroy(own); \
        kind##_destroy(foreign); \
        own = foreign = NULL; \
    } \
    static void destroy_made_##own(UNUSED const struct call *call) { \
        kind **made = (kind **)(void *)parameters_of_##kind##_create.plan; \
        kind##_destroy(*made); \
        *made = NULL; \
    }

#define RULE_IN_LIST(type, field) &rule_of_##type##__##field,
#define RULES_OF(type) static const struct rule *const rules_of_##type[] = {FIELDS_OF_##type(RULE_IN_LIST)};
#define PARAMETERS_OF(function) \
    static function##__parameters parameters_of_##function; \
    RULES_OF(function##__parameters)

/* A struct that a call reads.  The first one has the parameters. */
struct part {
    const char *type;
    const struct rule *const *rules;
    void *self;
    const void *parent;
    const char *prefix;        /* of its fields in details: "args." */
    const char *other_prefix;  /* NULL: none */
    int column;                /* of the letters */
};

#define PART(name, object, over, text, at) \
    {.type = #name, .rules = rules_of_##name, .self = &(object), .parent = over, .prefix = text, .column = at}
#define PARAMETERS(function) PART(function##__parameters, parameters_of_##function, NULL, "", 0)

enum { MOST_PARTS = 6 };

struct call {
    const char *name, *function;
    struct part parts[MOST_PARTS];
    void (*set)(const struct call *call);    /* the numbers, handles and lists of the base case; pointers are NULL before */
    void (*fill)(const struct call *call);   /* the contents of the buffers, by fields_image */
    void (*size)(const struct call *call);   /* what depends on the places of the buffers: a plan, a saved state; may be NULL */
    void (*after)(const struct call *call);  /* ends what a call that succeeds has made; may be NULL */
    bool is_of_ranks;                        /* it may wait for others: no mixtures */
    bool has_no_cpu_kernel;                  /* so a CPU need not be prepared for it */
    bool keeps_outputs;                      /* the call may leave outputs as they are */
    bool contents_end_group;                 /* on GPUs illegal contents of a buffer poison the group, so none is read elsewhere */
    const char *scratch;                     /* one that it may leave as it is, though it may write it; NULL: none */
    const char *shared, *other;              /* two fields that name one buffer; details name the first.  NULL: none */
};

extern struct test_device fields_device;
extern quern_device *fields_other_device;  /* a second handle of it, prepared for barriers only */

/* Opens the device and the arena. */
void fields_open(unsigned operations);
void fields_close(void);
#define TEST_FIELDS(suite, name, operations) TEST_BETWEEN(fields_open(operations), fields_close(), suite, name)

/* Makes this memory the arena, until fields_close.  Its owner frees it after that. */
enum { FIELDS_ARENA = 1 << 19 };
void fields_use(void *memory);

void *fields_arena(void);

/* The contents of a buffer of the call at hand, to be changed before the call. */
void *fields_image(const void *pointer);
void fields_floats(const void *pointer, int64_t count, float value);
void fields_bytes(const void *pointer, size_t bytes, int value);
void fields_write(void);

/* The bytes from this buffer to the end of its room. */
enum { FIELDS_ROOM = 1 << 12 };

/* What a buffer holds after a run. */
const void *fields_result(const void *pointer);

/* Makes the base case, without calling. */
void fields_begin(const struct call *call);
quern_status fields_run(const struct call *call);

/* The same for the walks: measures each buffer, calls once and keeps the results. */
void fields_prepare(const struct call *call);

/* All walks; of a call in which two fields share a buffer only that of overlaps. */
void fields_walk(const struct call *call);

/* Those of each call of lists that end without a name; what a call has made is ended by `end` behind it. */
#define WALK_EACH(lists, end) fields_walk_each(lists, sizeof(lists) / sizeof *(lists), end)
void fields_walk_each(const struct call *const *lists, size_t count, void (*end)(void));

/* One change to the call that was prepared last: it is refused with this detail, and nothing is written; or it is no mistake. */
#define REFUSED(change, status, detail) do { change; fields_refuse(__LINE__, status, detail); } while (0)
#define ACCEPTED(change) do { change; fields_accept(__LINE__); } while (0)
void fields_refuse(int line, quern_status expected, const char *detail);
void fields_accept(int line);

#endif
