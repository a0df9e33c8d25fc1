/* The fields of the call at hand and the places of its buffers.  For choice.c. */
#ifndef FIELDS_SLOTS_H
#define FIELDS_SLOTS_H

#include "fields/fields.h"

/* A field of the call at hand. */
struct slot {
    const struct field *field;
    const struct rule *rule;
    const struct part *part;
    char letter;
    char *place;          /* of the field */
    char *home;           /* of its buffer; NULL: it has none */
    int64_t bytes;        /* that it reaches in the base case */
    size_t alignment;
    bool stays;           /* others are moved over it */
    bool in_arena;        /* beside the buffers of the device: what overlaps is seen */
};

enum { MOST_SLOTS = 128 };

extern struct slot fields_slots[MOST_SLOTS];
extern int fields_slot_count;
extern const char *fields_operation;   /* that is prepared, as details name it; of no meaning for groups */

/* The first of this name; NULL: there is none. */
struct slot *fields_slot_named(const char *name);

/* Restores every struct of the base case. */
void fields_restore(const struct call *call);

/* The call that REFUSED and ACCEPTED make. */
void fields_choose(const struct call *call);

/* Whether every buffer holds what it held before the last run; or what the base case left. */
bool fields_are_unchanged(void);
bool fields_are_as_in_base_case(void);
bool fields_changed(const struct slot *slot);

/* Of all that the buffers hold after the last run. */
uint64_t fields_digest(void);

const struct record *fields_record_of(const char *type);

/* A function that returns a text and no status: the text was not that of the base case, but the detail of an error. */
enum { FIELDS_TOLD = -1 };

/* A field's name as a detail has it, with its prefix or with the other one. */
bool fields_names(const char *detail, const struct slot *slot);
const char *fields_path(const struct slot *slot);
const char *fields_other_path(const struct slot *slot);

#endif
