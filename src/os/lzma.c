/*
 * Decodes LZMA by its public specification, lzma-specification.txt of 7-Zip, whose names the comments have.  An engine links no
 * library for it.  Called by runtime/unpack.c.
 *
 * A stream is a row of binary choices, each coded by the probability that similar choices gave so far.  They spell literals, copies
 * of earlier bytes at a new distance, and copies at one of the last four distances.
 */
#include "os/lzma.h"

#include <stdint.h>
#include <string.h>

enum { STATES = 12, FIRST_AFTER_COPY = 7, PLACES = 16, LITERAL = 0x300, EVEN = 1024 };

/* Probabilities of a 0, in 2048ths. */
struct lengths {
    uint16_t is_middle, is_high, low[PLACES][8], middle[PLACES][8], high[256];
};

struct odds {
    uint16_t is_copy[STATES][PLACES];                            /* IsMatch */
    uint16_t is_repeated[STATES];                                /* IsRep */
    uint16_t is_older[STATES], is_third[STATES], is_fourth[STATES];  /* IsRepG0 to G2 */
    uint16_t is_long[STATES][PLACES];                            /* IsRep0Long */
    uint16_t slots[4][64], near[115], low[16];                   /* PosSlot, Pos, Align */
    struct lengths of_new, of_repeated;                          /* LenCoder, RepLenCoder */
    uint16_t literals[LITERAL << 4];
};

_Static_assert(sizeof(struct odds) == QUERN_LZMA_SCRATCH, "the caller's memory");

/* ---- choices ---- */

struct reader {
    const unsigned char *next, *end;
    uint32_t range, code;
    bool is_short;  /* more bytes were wanted than there are */
};

static inline void refill(struct reader *in) {
    if (in->range >= 1u << 24) return;
    in->is_short |= in->next == in->end;
    in->range <<= 8;
    in->code = in->code << 8 | (in->next < in->end ? *in->next++ : 0u);
}

static inline unsigned choice(struct reader *in, uint16_t *odds) {
    refill(in);
    const uint32_t bound = (in->range >> 11) * *odds;
    if (in->code < bound) {
        in->range = bound;
        *odds = (uint16_t)(*odds + ((2048u - *odds) >> 5));
        return 0;
    }
    in->range -= bound;
    in->code -= bound;
    *odds = (uint16_t)(*odds - (*odds >> 5));
    return 1;
}

/* A number of some bits, the highest first. */
static inline uint32_t number(struct reader *in, uint16_t *odds, int bits) {
    uint32_t path = 1;
    for (int i = 0; i < bits; i++) path = path << 1 | choice(in, odds + path);
    return path - (1u << bits);
}

/* The lowest first. */
static inline uint32_t reversed_number(struct reader *in, uint16_t *odds, int bits) {
    uint32_t path = 1, value = 0;
    for (int i = 0; i < bits; i++) {
        const unsigned bit = choice(in, odds + path);
        path = path << 1 | bit;
        value |= (uint32_t)bit << i;
    }
    return value;
}

/* Bits that are as often 0 as 1. */
static inline uint32_t even_number(struct reader *in, int bits) {
    uint32_t value = 0;
    for (int i = 0; i < bits; i++) {
        refill(in);
        in->range >>= 1;
        const bool bit = in->code >= in->range;
        if (bit) in->code -= in->range;
        value = value << 1 | bit;
    }
    return value;
}

/* ---- what they spell ---- */

static uint32_t length(struct reader *in, struct lengths *odds, size_t place) {
    if (!choice(in, &odds->is_middle)) return 2 + number(in, odds->low[place], 3);
    if (!choice(in, &odds->is_high)) return 10 + number(in, odds->middle[place], 3);
    return 18 + number(in, odds->high, 8);
}

/* One less than the distance; UINT32_MAX: the end of the stream. */
static uint32_t distance(struct reader *in, struct odds *odds, uint32_t length) {
    const uint32_t slot = number(in, odds->slots[length < 5 ? length - 2 : 3], 6);
    if (slot < 4) return slot;
    const int bits = (int)(slot >> 1) - 1;
    const uint32_t base = (2 | (slot & 1)) << bits;
    if (slot < 14) return base + reversed_number(in, odds->near + base - slot, bits);
    const uint32_t high = even_number(in, bits - 4) << 4;
    return base + high + reversed_number(in, odds->low, 4);
}

/* expected: the byte at the last distance, which a copy would have taken; -1: a literal was before this one. */
static unsigned char literal(struct reader *in, uint16_t *odds, int expected) {
    unsigned path = 1;
    while (expected >= 0 && path < 0x100) {
        const unsigned bit = (unsigned)expected >> 7 & 1;
        expected = (expected << 1) & 0xFF;
        path = path << 1 | choice(in, odds + ((1 + bit) << 8) + path);
        if ((path & 1) != bit) break;
    }
    while (path < 0x100) path = path << 1 | choice(in, odds + path);
    return (unsigned char)path;
}

/* A copy: its length; 0: the marker.  last: the distances of the last copies, less 1. */
static uint32_t copy(struct reader *in, struct odds *odds, int *state, size_t place, uint32_t last[4]) {
    const int before = *state;
    const bool after_literal = before < FIRST_AFTER_COPY;
    int chosen = 0;
    if (!choice(in, &odds->is_repeated[before])) {
        *state = after_literal ? 7 : 10;
        const uint32_t count = length(in, &odds->of_new, place);
        for (int i = 3; i; i--) last[i] = last[i - 1];
        last[0] = distance(in, odds, count);
        return last[0] == UINT32_MAX ? 0 : count;
    }
    if (choice(in, &odds->is_older[before])) {
        chosen = !choice(in, &odds->is_third[before]) ? 1 : 2 + (int)choice(in, &odds->is_fourth[before]);
    } else if (!choice(in, &odds->is_long[before][place])) {
        *state = after_literal ? 9 : 11;
        return 1;
    }
    const uint32_t front = last[chosen];
    for (; chosen; chosen--) last[chosen] = last[chosen - 1];
    last[0] = front;
    *state = after_literal ? 8 : 11;
    return length(in, &odds->of_repeated, place);
}

/* Copies bytes from `back` bytes before, which may be among those that it writes. */
static void repeat(unsigned char *to, size_t back, size_t count) {
    const unsigned char *from = to - back;
    if (back == 1) {
        memset(to, *from, count);
    } else if (back >= count) {
        memcpy(to, from, count);
    } else {
        for (size_t i = 0; i < count; i++) to[i] = from[i];
    }
}

/* At the marker: whether the stream ends there as it should. */
static bool is_whole(struct reader *in) {
    refill(in);
    return !in->is_short && in->next == in->end && in->code == 0;
}

static bool begin(struct reader *in, struct odds *odds) {
    uint16_t *all = (uint16_t *)odds;
    for (size_t i = 0; i < sizeof *odds / sizeof *all; i++) all[i] = EVEN;
    if (in->end - in->next < 5 || *in->next++) return false;
    for (int i = 0; i < 4; i++) in->code = in->code << 8 | *in->next++;
    return true;
}

bool quern_lzma_decode(struct quern_lzma_contexts contexts, const unsigned char *in_bytes, size_t in_count, void *scratch,
                       unsigned char *out, size_t out_count) {
    struct odds *odds = scratch;
    struct reader in = {in_bytes, in_bytes + in_count, .range = UINT32_MAX};
    if (contexts.lc + contexts.lp > 4 || contexts.pb > 4 || !begin(&in, odds)) return false;
    const size_t places = ((size_t)1 << contexts.pb) - 1, literal_places = ((size_t)1 << contexts.lp) - 1;
    uint32_t last[4] = {0};
    int state = 0;
    for (size_t at = 0; !in.is_short;) {
        if (!choice(&in, &odds->is_copy[state][at & places])) {
            if (at == out_count) return false;
            const unsigned before = at ? out[at - 1] : 0u;
            const size_t context = (at & literal_places) << contexts.lc | before >> (8 - contexts.lc);
            const int expected = state >= FIRST_AFTER_COPY ? out[at - last[0] - 1] : -1;  /* it was there for that copy */
            out[at] = literal(&in, odds->literals + LITERAL * context, expected);
            state = state < 4 ? 0 : state < 10 ? state - 3 : state - 6;
            at++;
            continue;
        }
        const uint32_t count = copy(&in, odds, &state, at & places, last);
        if (!count) return at == out_count && is_whole(&in);
        if (last[0] >= at || count > out_count - at) return false;
        repeat(out + at, (size_t)last[0] + 1, count);
        at += count;
    }
    return false;
}
