/*
 * The images of the program are decoded once in a process, however many devices its tests prepare: with sanitizers it takes 0.2 s.
 *
 * The linker sends the library's calls of quern_lzma_decode here: $harness_calls in tests/tests.ninja.
 */

#include "harness/standard.h"
#include "os/lzma.h"

bool __real_quern_lzma_decode(struct quern_lzma_contexts contexts, const unsigned char *in, size_t in_bytes, void *scratch,
                              unsigned char *out, size_t out_bytes);
bool __wrap_quern_lzma_decode(struct quern_lzma_contexts contexts, const unsigned char *in, size_t in_bytes, void *scratch,
                              unsigned char *out, size_t out_bytes);

/* The program, its images and its initialised variables, of which no test makes images.  Names of the linker. */
extern const unsigned char __executable_start[], _edata[];

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct decoded {
    const unsigned char *in;
    unsigned char *out;  /* mapped, since suites count calls of malloc */
} decoded[16];

/* What these bytes were decoded to, or where that is kept; NULL: for so many there is no place. */
static struct decoded *find_decoded(const unsigned char *in) {
    for (struct decoded *each = decoded; each < decoded + COUNT(decoded); each++)
        if (!each->in || each->in == in) return each;
    return NULL;
}

static void keep(struct decoded *to, const unsigned char *in, const unsigned char *out, size_t out_bytes) {
    unsigned char *kept = mmap(NULL, out_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (kept == MAP_FAILED) return;
    *to = (struct decoded){in, memcpy(kept, out, out_bytes)};
}

bool __wrap_quern_lzma_decode(struct quern_lzma_contexts contexts, const unsigned char *in, size_t in_bytes, void *scratch,
                              unsigned char *out, size_t out_bytes) {
    if (in < __executable_start || in >= _edata)
        return __real_quern_lzma_decode(contexts, in, in_bytes, scratch, out, out_bytes);
    pthread_mutex_lock(&lock);
    struct decoded *place = find_decoded(in);
    bool is_right = true;
    if (place && place->in) {
        memcpy(out, place->out, out_bytes);
    } else {
        is_right = __real_quern_lzma_decode(contexts, in, in_bytes, scratch, out, out_bytes);
        if (is_right && place) keep(place, in, out, out_bytes);
    }
    pthread_mutex_unlock(&lock);
    return is_right;
}
