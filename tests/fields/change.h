/* One change to the call at hand, and what the call may answer.  For the walks. */
#ifndef FIELDS_CHANGE_H
#define FIELDS_CHANGE_H

#include "fields/slots.h"

bool fields_is_pointer(const struct slot *slot);
void fields_put(const struct slot *slot, const void *value);
void fields_put_pointer(const struct slot *slot, uintptr_t address);
uintptr_t fields_pointer_at(const struct slot *slot);
void fields_put_number(const struct slot *slot, int64_t number);
int64_t fields_number_at(const struct slot *slot);
void fields_put_real(const struct slot *slot, double real);

/* Whether a call that takes the change reads and writes only memory that it has. */
bool fields_is_safe(void);

/* Each calls once and restores the base case.  `what` says what was changed. */
void fields_expect_base_case(const struct call *call, const struct slot *slot, const char *what);
void fields_expect_success(const struct call *call, const struct slot *slot, const char *what);

/* The detail is the field's name and what `format` makes: "is NULL". */
__attribute__((format(printf, 4, 5)))
void fields_expect_refusal(const struct call *call, const struct slot *slot, quern_status expected, const char *format, ...);

/* The detail names the field. */
void fields_expect_naming(const struct call *call, const struct slot *slot, quern_status expected, const char *what);

/* Whether the detail is the field's name, with either of its prefixes, and this text. */
bool fields_says(const struct slot *slot, const char *text);

#endif
