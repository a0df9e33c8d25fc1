/* The bytes of an input as a sequence of choices.  Used by every other file. */
#include "input.h"

static const uint8_t *at, *end;
static uint64_t state;

void input_begin(const uint8_t *bytes, size_t count) {
    at = bytes;
    end = bytes + count;
    state = 0x9e3779b97f4a7c15u;
}

bool input_is_at_end(void) { return at == end; }

uint8_t input_byte(void) {
    if (at == end) return 0;
    state = (state ^ *at) * 0x100000001b3u;
    return *at++;
}

int64_t input_below(int64_t limit) { return limit <= 256 ? input_byte() % limit : (input_byte() << 8 | input_byte()) % limit; }

bool input_one_in(int n) { return input_byte() % n == n - 1; }

uint64_t input_word(void) {
    uint64_t word = 0;
    for (int i = 0; i < 8; i++) word = word << 8 | input_byte();
    return word;
}

uint64_t input_noise(void) {
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return state * 0x2545f4914f6cdd1du;
}
