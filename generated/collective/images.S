/*
 * The GPU code of collective: one fatbin per source file and target, taken from the build directory.
 * Each is empty when the library is built without nvcc (QUERN_HAS_NVCC is 0); the table's rows then say so.
 * A build that defines QUERN_SELECTED(target, unit) has those units alone for which it is not 0.
 *
 * Rendered by gen/ from templates/build/images.S.j2; do not edit.
 */
#ifndef QUERN_SELECTED
#define QUERN_SELECTED(target, unit) 1
#endif

    .section .rodata
    .section .note.GNU-stack, "", @progbits
