/* Masks of ranks.  Called while a group is shrunk across hosts. */
#include "ranks/hosts/hosts.h"

bool quern_mask_has(const uint32_t mask[QUERN_GROUP_WORDS], int rank) { return mask[rank / 32] >> rank % 32 & 1; }

int quern_mask_count(const uint32_t mask[QUERN_GROUP_WORDS]) {
    int ranks = 0;
    for (int word = 0; word < QUERN_GROUP_WORDS; word++) ranks += __builtin_popcount(mask[word]);
    return ranks;
}

bool quern_mask_is_of(const struct quern_membership *member, const uint32_t mask[QUERN_GROUP_WORDS], int host) {
    for (int rank = 0; rank < QUERN_GROUP_LIMIT; rank++) {
        if (!quern_mask_has(mask, rank)) continue;
        if (rank >= member->ranks || (host >= 0 && member->roster->peer[rank].host != host)) return false;
    }
    return true;
}

bool quern_is_quorum(const uint32_t living[QUERN_GROUP_WORDS], int ranks) {
    const int twice = 2 * quern_mask_count(living);
    return twice > ranks || (twice == ranks && quern_mask_has(living, 0));
}
