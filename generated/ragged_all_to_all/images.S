/*
 * The GPU code of ragged_all_to_all: one fatbin per source file and target, taken from the build directory.
 * Each is empty when the library is built without nvcc; the table's rows then say so.
 *
 * Rendered by gen/ from templates/images.S.j2; do not edit.
 */
    .section .rodata
    .section .note.GNU-stack, "", @progbits
