/*
 * SHA-256 and HMAC-SHA-256 against the published vectors: FIPS 180-4 (the examples of NIST), RFC 4231; and addresses as text.
 *
 * Runs on: ranks.
 */
#include "harness/check.h"
#include "os/address.h"
#include "os/sha256.h"

static void check_digest(const unsigned char digest[QUERN_DIGEST_BYTES], const char *expected, const char *of) {
    char text[2 * QUERN_DIGEST_BYTES + 1];
    for (int i = 0; i < QUERN_DIGEST_BYTES; i++) sprintf(text + 2 * i, "%02x", digest[i]);
    check(!strncmp(text, expected, strlen(expected)), "%s gives %s instead of %s", of, text, expected);
}

/* ---- FIPS 180-4 ---- */

static const struct {
    const char *message;
    int times;
    const char *digest;
} messages[] = {
    {"", 1, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
    {"abc", 1, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
    {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 1,
     "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
    {"abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu", 1,
     "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"},
    {"aaaaaaaaaa", 100000, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"},
};

Test(sha256, the_examples_of_the_standard) {
    for (size_t i = 0; i < COUNT(messages); i++) {
        struct quern_sha256 hash;
        unsigned char digest[QUERN_DIGEST_BYTES];
        quern_sha256_begin(&hash);
        for (int time = 0; time < messages[i].times; time++)
            quern_sha256_add(&hash, messages[i].message, strlen(messages[i].message));
        quern_sha256_end(&hash, digest);
        check_digest(digest, messages[i].digest, messages[i].message);
    }
}

/* However a message is cut, its digest is the same; the lengths cross the ends of blocks and of the padding. */
Test(sha256, pieces_of_any_length) {
    unsigned char text[300];
    for (size_t i = 0; i < sizeof text; i++) text[i] = (unsigned char)(7 * i);
    for (size_t length = 0; length <= sizeof text; length++)
        for (size_t cut = 0; cut <= length; cut += 13) {
            struct quern_sha256 whole, cut_up;
            unsigned char expected[QUERN_DIGEST_BYTES], digest[QUERN_DIGEST_BYTES];
            quern_sha256_begin(&whole);
            for (size_t i = 0; i < length; i++) quern_sha256_add(&whole, text + i, 1);
            quern_sha256_end(&whole, expected);
            quern_sha256_begin(&cut_up);
            quern_sha256_add(&cut_up, text, cut);
            quern_sha256_add(&cut_up, text + cut, length - cut);
            quern_sha256_end(&cut_up, digest);
            check(quern_same_digest(digest, expected), "%zu bytes cut at %zu", length, cut);
        }
}

/* ---- RFC 4231 ---- */

static const struct {
    int key_byte, key_bytes;  /* a key of equal bytes; -1: of the text, or 1, 2, 3 ... */
    const char *key;
    int data_byte, data_bytes;
    const char *data, *code;
} vectors[] = {
    {0x0b, 20, NULL, 0, 0, "Hi There", "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"},
    {-1, 4, "Jefe", 0, 0, "what do ya want for nothing?", "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"},
    {0xaa, 20, NULL, 0xdd, 50, NULL, "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe"},
    {-1, 25, NULL, 0xcd, 50, NULL, "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b"},
    {0x0c, 20, NULL, 0, 0, "Test With Truncation", "a3b6167473100ee06e0c796c2955552b"},
    {0xaa, 131, NULL, 0, 0, "Test Using Larger Than Block-Size Key - Hash Key First",
     "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"},
    {0xaa, 131, NULL, 0, 0,
     "This is a test using a larger than block-size key and a larger than block-size data. The key needs to be hashed before being "
     "used by the HMAC algorithm.", "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2"},
};

Test(sha256, the_vectors_of_the_code) {
    for (size_t i = 0; i < COUNT(vectors); i++) {
        unsigned char key[131], data[200], code[QUERN_DIGEST_BYTES];
        for (int at = 0; at < vectors[i].key_bytes; at++)
            key[at] = (unsigned char)(vectors[i].key ? vectors[i].key[at] : vectors[i].key_byte < 0 ? at + 1 : vectors[i].key_byte);
        const size_t bytes = vectors[i].data ? strlen(vectors[i].data) : (size_t)vectors[i].data_bytes;
        if (vectors[i].data) memcpy(data, vectors[i].data, bytes);
        else memset(data, vectors[i].data_byte, bytes);
        const struct quern_part parts[] = {{data, bytes / 3}, {data + bytes / 3, bytes - bytes / 3}};
        quern_hmac(key, (size_t)vectors[i].key_bytes, parts, 2, code);
        check_digest(code, vectors[i].code, "a vector of RFC 4231");
    }
}

Test(sha256, digests_that_differ_in_a_bit_differ) {
    unsigned char one[QUERN_DIGEST_BYTES] = {1, 2, 3}, other[QUERN_DIGEST_BYTES];
    for (int bit = 0; bit < 8 * QUERN_DIGEST_BYTES; bit++) {
        memcpy(other, one, sizeof other);
        check(quern_same_digest(one, other), "equal digests differ");
        other[bit / 8] ^= (unsigned char)(1 << bit % 8);
        check(!quern_same_digest(one, other), "bit %d is not compared", bit);
    }
}

/* ---- addresses ---- */

Test(address, text) {
    static const char *const good[] = {"10.77.0.1:4711", "127.0.0.2:1", "[::1]:65535", "[fd00::4:1]:4711"};
    static const char *const bad[] = {"", ":", "10.77.0.1", "10.77.0.1:", "10.77.0.1:0", "10.77.0.1:65536", "10.77.0.1:47a",
                                      "10.77.0:1", "10.77.0.1:-1", "::1:4711", "[::1]", "[::1:4711", "::1]:4711", "[]:1",
                                      "[10.77.0.1]:4711", "host:1", "[fe80::1%lo]:4711", "10.77.0.1:000001",
                                      "1234567890123456789012345678901234567890123456789012345678901234567890:1"};
    struct quern_address address;
    char text[QUERN_ADDRESS_TEXT];
    for (size_t i = 0; i < COUNT(good); i++) {
        check(quern_address_read(good[i], &address), "%s is refused", good[i]);
        quern_address_write(&address, true, text);
        check(!strcmp(text, good[i]), "%s becomes %s", good[i], text);
    }
    for (size_t i = 0; i < COUNT(bad); i++) check(!quern_address_read(bad[i], &address), "%s is taken", bad[i]);
}
