/*
 * The operations: X(bit, CONSTANT, name, prefix), in the order of their bits in quern_operations (quern.h).  The prefix is
 * that of an operation's kernels and of no other's.
 *
 * Rendered by gen/ from templates/build/operations.h.j2; do not edit.
 */
#ifndef QUERN_GENERATED_OPERATIONS_H
#define QUERN_GENERATED_OPERATIONS_H

#define QUERN_FOR_EACH_OPERATION(X) \
    X(1, QUERN_CROSS_ENTROPY, cross_entropy, "cross_entropy_") \
    X(2, QUERN_ADAM, adam, "adam_") \
    X(4, QUERN_BARRIER, barrier, "barrier__") \
    X(8, QUERN_RAGGED_ALL_TO_ALL, ragged_all_to_all, "ragged_all_to_all__") \
    X(16, QUERN_QUANTIZE, quantize, "quantize_") \
    X(32, QUERN_COLLECTIVE, collective, "collective_")
#endif
