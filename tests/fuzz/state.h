/* The handles that live between the calls of one input, with the memory that they keep. */
#ifndef FUZZ_STATE_H
#define FUZZ_STATE_H

#include <quern.h>

#include "../harness/args.h"
#include "../harness/standard.h"
#include "../header/table.h"

enum { ALL_OPERATIONS = QUERN_CROSS_ENTROPY | QUERN_ADAM | QUERN_BARRIER | QUERN_RAGGED_ALL_TO_ALL | QUERN_QUANTIZE |
                        QUERN_COLLECTIVE };

/* Memory of a call.  Each block is allocated alone and exactly, so that AddressSanitizer sees the first byte outside of it. */
struct block {
    char *start;
    size_t bytes;
    uint64_t hash;     /* before the call */
    bool is_output;    /* a pointer that is not const refers to it */
    bool is_struct;    /* arguments or handles, into which no other pointer leads */
    struct block *next;
};

struct live {
    void *handle;
    enum handle kind;
    quern_device *device;
    quern_group *group;             /* of a ragged plan or a transfer */
    quern_adam_args made;           /* of a plan of Adam */
    quern_accumulate_args summed;   /* of a plan of sums */
    quern_quantize_args quantized;  /* of a plan of a quantisation */
    struct block *kept;             /* memory that the handle refers to */
    void *symmetric[8];             /* allocated memory of a group */
    int symmetric_count;
    void *registered;               /* the last registered memory of a group */
    bool destroyed;                 /* groups, ragged plans and transfers only: the header promises an error */
};

void state_begin(void);             /* opens devices that stay open from one input to the next */
void state_end(void);               /* after each input: destroys what is left, but not these devices */
void state_close(void);             /* closes these devices too */
quern_device *state_device(void);   /* the one that has all operations */

/* A live handle, chosen by the input; NULL if there is none. */
struct live *state_choose(enum handle kind);
struct live *state_find(const void *handle);
struct live *state_add(enum handle kind, void *handle, quern_device *device);
bool state_has_room(enum handle kind);
void state_remove(struct live *live);          /* it is destroyed already */
void state_destroy(struct live *live);
void state_destroy_dependents(const struct live *live);
bool state_is_permanent(const struct live *live);
void state_free_blocks(struct block *block);

#endif
