/*
 * Packed images: each is unpacked as it was packed, and what is truncated or changed is refused.  The packed bytes are of
 * gen/images.py, whose compressor is that of liblzma; what they should give is computed here.
 *
 * Runs on: oracle.
 */
#include "harness/check.h"
#include "harness/failing.h"
#include "os/checksum.h"
#include "os/lzma.h"
#include "runtime/unpack.h"

#define ABSENT "it is not among them"

enum { COPIES = 3000, FEW = 100, UNPACKED = 64 + 3008 + 64 + 128 };

/* Packed with contexts for text, and for code. */
static const uint64_t text[] = {
    0x39c495e69471230, 0xcc0, 0x4, 0xfb452526559a3700, 0xa7be2d9f154ef47b, 0x32aafba6f5b569f9, 0x93c8cc009e85c5e0,
    0x206052c08a4f12e5, 0x184366d23d1399ce, 0xafd4cf8ff4552e15, 0x213e9d2712457150, 0xf43c40333f7cffb6, 0x3e072a437fb0a949,
    0x59b37418a10baa02, 0x2d12ad3614ceb58, 0x85550eb7da95bf47, 0x1ba275df06e6129f, 0xb541a1ae1ef48538, 0x2f053d788269572e,
    0xa303a02096b6453b, 0xc6ecd11ffa224fee, 0x1ab0b9e3ed93202d, 0x3161dba45a96ce0f, 0x7fe23c9abb05b1ee, 0xb486bc3a669c9588,
    0x1ec70dc25858cceb, 0xa7e3c8c839062608, 0x15dabdb11ec90a80, 0xe815f6903f79525b, 0xa4854a42c9a24126, 0x7b82c1466116f0f3,
    0xa69a24a358c5987c, 0x8c2b6aaee5303fe8, 0x5de1fccdff9fa9cf,
};
enum { TEXT = 272 };

static const uint64_t code[] = {
    0x467c66e01ed152c, 0xcc0, 0x40400, 0xc07933e687993700, 0x35c1c37803965d2, 0x817cefaf56100c4f, 0x9df6e6f3b2ac0799,
    0x465a32afa0d0ef4f, 0x514377e4ac77f3c8, 0xf24a46472950c8ce, 0x2f7228c31bb27f88, 0x689917ecc83f0af6, 0x66cf224f9d62304,
    0xd0b1d73ff37a37b9, 0x372e81d2c2f0c73d, 0xe8b31d4cccaa9568, 0x94e6370262fcad8f, 0x856f47d8621f038c, 0x8a86b718ae01f242,
    0x67d058afcf70362f, 0xb43b6d5db675450c, 0x3d5bdf68333cd222, 0x214795f40d0e21bd, 0x6277a0e6846538fc, 0x31b3ac9d4f06f695,
    0x4182251e8d527eaf, 0xd7d64ab34d062ddf, 0xe117639e239c0b94, 0x7ef7aed62ca39488, 0x942be5fae575a4c8, 0xa677de238240adf4,
    0xafe5ccd59fef315b, 0x72ee78f6b09bbcb0, 0x7dd5cb2803fd60d5, 0x9898a3ffff4c82e8, 0xa0,
};
enum { CODE = 281 };

static struct quern_image image_of(const char *name, const void *packed, size_t bytes) {
    return (struct quern_image){name, packed, (const unsigned char *)packed + bytes};
}

/* Fills an image with literals, copies of near and far bytes, and copies at one of the last four distances. */
static void make_copies(unsigned char *out) {
    uint32_t state = 1;
    int last[4] = {1, 1, 1, 1};
#define DRAW(below) (state = state * 1664525 + 1013904223, (int)((state >> 16) % (uint32_t)(below)))
    for (int at = 0; at < COPIES;) {
        const int kind = DRAW(8);
        if (kind < 3 || at == 0) {
            out[at++] = (unsigned char)DRAW(256);
            continue;
        }
        int length = 1;
        if (kind != 3) {
            const int bits = 1 + DRAW(9);
            length = 2 + DRAW(1 << bits);
        }
        int back = kind > 4 ? last[DRAW(4)] : 1 + DRAW(at), place = 0;
        if (back > at) back = 1;
        while (place < 3 && last[place] != back) place++;
        memmove(last + 1, last, (size_t)place * sizeof *last);
        last[0] = back;
        for (; length && at < COPIES; length--, at++) out[at] = out[at - back];
    }
#undef DRAW
}

/* is_code: it begins as machine code does, by which gen/images.py chooses the contexts. */
static void make_few_bytes(unsigned char *out, bool is_code) {
    for (int i = 0; i < FEW; i++) out[i] = (unsigned char)(i * i % 251);
    if (is_code) memcpy(out, "\177ELF", 4);
}

static const struct {
    const uint64_t *packed;
    size_t bytes;
} sets[] = {{text, TEXT}, {code, CODE}};

enum { SETS = sizeof sets / sizeof *sets };

/* Whether both images are as they should be. */
static bool is_right(const unsigned char *copies, const unsigned char *few, bool is_code) {
    unsigned char expected[COPIES], expected_few[FEW];
    make_copies(expected);
    make_few_bytes(expected_few, is_code);
    return !memcmp(copies, expected, COPIES) && !memcmp(few, expected_few, FEW);
}

Test(unpack, gives_each_image) {
    for (int i = 0; i < SETS; i++) {
        const struct quern_image first = image_of("of_copies", sets[i].packed, sets[i].bytes);
        const struct quern_image second = image_of("of_few_bytes", sets[i].packed, sets[i].bytes);
        struct quern_unpacked kept = {0};
        const void *few, *copies;
        const char *fault;
        check_ok(quern_unpack(&second, &kept, &few, &fault));
        check(few && !fault, "set %d: %s", i, fault);
        const unsigned char *memory = kept.bytes;
        check_ok(quern_unpack(&first, &kept, &copies, &fault));
        check(copies && !fault && kept.bytes == memory, "set %d is unpacked twice", i);
        check(is_right(copies, few, i == 1), "set %d gives other bytes", i);
        check((uintptr_t)copies % 64 == 0 && (uintptr_t)few % 64 == 0, "set %d: an image is not aligned", i);
        quern_forget_unpacked(&kept);
        check(!kept.bytes && !kept.packed, "set %d is kept", i);
    }
}

/* What is kept is freed for other images; a missing name leaves it. */
Test(unpack, keeps_one_set) {
    struct quern_unpacked kept = {0};
    const char *failed;
    const long before = failing_count().count[ALIVE_ALLOCATIONS];
    failing_begin(FAILING_MEMORY, 0, 0);
    for (int i = 0; i < 2 * SETS; i++) {
        const char *const names[] = {"of_copies", "of_cop", "of_copies_", "", "of_few_bytes"};
        for (size_t k = 0; k < COUNT(names); k++) {
            const struct quern_image image = image_of(names[k], sets[i % SETS].packed, sets[i % SETS].bytes);
            const void *found;
            const char *fault;
            check_ok(quern_unpack(&image, &kept, &found, &fault));
            check(k % 4 ? !found && !strcmp(fault, ABSENT) : found && !fault, "\"%s\" %s", names[k], fault);
            check(kept.packed == image.packed, "\"%s\" of other images", names[k]);
            const long alive = failing_count().count[ALIVE_ALLOCATIONS] - before;
            check(alive == 1, "%ld blocks are kept", alive);
        }
    }
    quern_forget_unpacked(&kept);
    failing_end(&failed);
    check(failing_count().count[ALIVE_ALLOCATIONS] == before, "a block is left behind");
}

Test(unpack, needs_memory) {
    const struct quern_image image = image_of("of_copies", text, TEXT);
    struct quern_unpacked kept = {0};
    const void *found;
    const char *fault, *failed;
    failing_begin(FAILING_MEMORY, 1, 0);
    const quern_status status = quern_unpack(&image, &kept, &found, &fault);
    failing_end(&failed);
    check(status == QUERN_OUT_OF_MEMORY && !found && !fault && !kept.bytes && !kept.packed, "%s", quern_status_string(status));
}

/* ---- damage ---- */

/* Of a copy of some packed bytes, with nothing behind them.  Returns the fault; NULL: they give the right images. */
static const char *fault_of(const unsigned char *bytes, size_t count, bool is_code) {
    SCOPED unsigned char *packed = malloc(count + 1);
    memcpy(packed, bytes, count);
    struct quern_unpacked kept = {0};
    const struct quern_image first = image_of("of_copies", packed, count), second = image_of("of_few_bytes", packed, count);
    const void *copies = NULL, *few = NULL;
    const char *fault;
    check_ok(quern_unpack(&first, &kept, &copies, &fault));
    check(!fault || !strcmp(fault, ABSENT) || (!kept.bytes && !kept.packed), "damaged bytes are kept");
    if (!fault) check_ok(quern_unpack(&second, &kept, &few, &fault));
    if (!fault && !is_right(copies, few, is_code)) fault = "other bytes";
    check(fault || (copies && few), "neither an image nor a fault");
    quern_forget_unpacked(&kept);
    return fault;
}

/* Writes the right checksum, so that nothing else is wrong than what the test has changed. */
static void seal(unsigned char *packed, size_t count) {
    const uint64_t hash = quern_checksum(QUERN_CHECKSUM_BEGIN, packed + sizeof hash, count - sizeof hash);
    memcpy(packed, &hash, sizeof hash);
}

static void expect_fault(const unsigned char *packed, size_t count, bool is_code, const char *expected, const char *what,
                         size_t at) {
    const char *fault = fault_of(packed, count, is_code);
    check(fault && !strcmp(fault, expected), "%s %zu: %s, expected \"%s\"", what, at, fault ? fault : "no fault", expected);
}

Test(unpack, refuses_each_truncation) {
    const size_t header = sizeof(struct quern_packed_header);
    for (int i = 0; i < SETS; i++) {
        unsigned char packed[TEXT + CODE];
        for (size_t count = 0; count < sets[i].bytes; count++) {
            memcpy(packed, sets[i].packed, sets[i].bytes);
            const char *whole = count < header ? "they are truncated" : "their checksum is wrong";
            expect_fault(packed, count, i == 1, whole, "bytes:", count);
            if (count < header) continue;
            seal(packed, count);
            expect_fault(packed, count, i == 1, "their LZMA stream is damaged", "sealed bytes:", count);
        }
        memcpy(packed, sets[i].packed, sets[i].bytes);
        packed[sets[i].bytes] = 0;
        seal(packed, sets[i].bytes + 1);
        expect_fault(packed, sets[i].bytes + 1, i == 1, "their LZMA stream is damaged", "sealed bytes:", sets[i].bytes + 1);
    }
}

/*
 * The checksum finds a changed byte.  If that is made right, the stream does not end where it should, or gives other bytes; but a
 * copy of bytes that are there twice may be taken from either place.
 */
Test(unpack, refuses_each_changed_byte) {
    for (int i = 0; i < SETS; i++) {
        unsigned char packed[TEXT + CODE];
        size_t same = 0;
        for (size_t at = 0; at < sets[i].bytes; at++)
            for (int bit = 0; bit < 8; bit++) {
                memcpy(packed, sets[i].packed, sets[i].bytes);
                packed[at] ^= (unsigned char)(1 << bit);
                expect_fault(packed, sets[i].bytes, i == 1, "their checksum is wrong", "byte", at);
                seal(packed, sets[i].bytes);
                const size_t unused = offsetof(struct quern_packed_header, unused);
                if (at < 8 || (at >= unused && at < unused + 5)) continue;
                same += !fault_of(packed, sets[i].bytes, i == 1);
            }
        check(same <= 8 * sets[i].bytes / 100, "%zu changed bits of set %d give the same bytes", same, i);
    }
}

/* The decoder writes to nothing but its output, which has nothing behind it here: of each smaller size, and of changed streams. */
Test(unpack, stays_within_its_output) {
    SCOPED void *scratch = malloc(QUERN_LZMA_SCRATCH);
    const size_t header = sizeof(struct quern_packed_header);
    for (int i = 0; i < SETS; i++) {
        const unsigned char *stream = (const unsigned char *)sets[i].packed + header;
        const struct quern_lzma_contexts contexts = {stream[-8], stream[-7], stream[-6]};
        for (size_t bytes = 0; bytes <= UNPACKED; bytes++) {
            SCOPED unsigned char *out = malloc(bytes + !bytes);
            const bool is_whole = quern_lzma_decode(contexts, stream, sets[i].bytes - header, scratch, out, bytes);
            check(is_whole == (bytes == UNPACKED), "set %d in %zu bytes: %d", i, bytes, is_whole);
        }
        unsigned char changed[TEXT + CODE];
        memcpy(changed, stream, sets[i].bytes - header);
        for (size_t at = 0; at < sets[i].bytes - header; at++) {
            SCOPED unsigned char *out = malloc(UNPACKED);
            changed[at] ^= 0x55;
            const bool is_whole = quern_lzma_decode(contexts, changed, sets[i].bytes - header, scratch, out, UNPACKED);
            check(at || !is_whole, "set %d begins with another byte than 0", i);
            changed[at] ^= 0x55;
        }
    }
}

Test(unpack, refuses_other_sizes) {
    static const struct {
        uint64_t bytes;
        const char *fault;
    } sizes[] = {{UNPACKED - 1, "their LZMA stream is damaged"}, {UNPACKED + 1, "their LZMA stream is damaged"},
                 {0, "their LZMA stream is damaged"}, {((uint64_t)1 << 30) + 1, "they say that they have more than 1 GiB"},
                 {UINT64_MAX, "they say that they have more than 1 GiB"}};
    for (size_t i = 0; i < COUNT(sizes); i++) {
        unsigned char packed[TEXT];
        memcpy(packed, text, sizeof packed);
        memcpy(packed + offsetof(struct quern_packed_header, bytes), &sizes[i].bytes, sizeof sizes[i].bytes);
        seal(packed, sizeof packed);
        expect_fault(packed, sizeof packed, false, sizes[i].fault, "size", i);
    }
}

/* Streams that are whole, of names that make no sense. */
static const struct {
    const char *what;
    size_t bytes;
    uint64_t packed[6];
} nonsense[] = {
    {"a name without an end", 41, {0x659762b0f581ef82, 0x80, 0x4, 0xe36a00eed36e3c00, 0x4878ffffdfa0a4, 0x0}},
    {"an image of 2^63 bytes", 42, {0xbc0b9ac089845d2b, 0x80, 0x4, 0x35dd077435803000, 0xe2b7ffff67cc0f5d, 0x0}},
    {"an image that is too long", 42, {0x1b5c06a8fc3c6d12, 0x80, 0x4, 0xb500236d35803000, 0x52beffff575356b9, 0x0}},
    {"no name at all", 36, {0xfc4a16b0b3d890a3, 0xa, 0x4, 0xfffff73c626c0000, 0x8000e1}},
    {"an end without room", 41, {0xb7aa9a4c5b8da90, 0x4a, 0x4, 0x28bb086d35003100, 0x80ffe1ffff07d9c3, 0x0}},
};

Test(unpack, refuses_names_that_make_no_sense) {
    for (size_t i = 0; i < COUNT(nonsense); i++) {
        const struct quern_image image = image_of("a", nonsense[i].packed, nonsense[i].bytes);
        struct quern_unpacked kept = {0};
        const void *found;
        const char *fault;
        check_ok(quern_unpack(&image, &kept, &found, &fault));
        check(!found && fault && !strcmp(fault, ABSENT), "%s: %s", nonsense[i].what, fault);
        quern_forget_unpacked(&kept);
    }
}
