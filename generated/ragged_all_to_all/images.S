/*
 * The GPU code of ragged_all_to_all: its packed images for each target, taken from the build directory.
 * They are empty when the library is built without nvcc (QUERN_HAS_NVCC is 0); the table's rows then say so.
 * A build that defines QUERN_SELECTED(target, unit) has those of the targets alone for which it is not 0, of any unit.
 *
 * Rendered by gen/ from templates/build/images.S.j2; do not edit.
 */
#ifndef QUERN_SELECTED
#define QUERN_SELECTED(target, unit) 1
#endif

    .section .rodata
#if QUERN_SELECTED(sm_120f, any)
    .balign 64
    .global quern_packed_ragged_all_to_all__sm_120f, quern_packed_ragged_all_to_all__sm_120f_end
    .hidden quern_packed_ragged_all_to_all__sm_120f, quern_packed_ragged_all_to_all__sm_120f_end
quern_packed_ragged_all_to_all__sm_120f:
#if QUERN_HAS_NVCC
    .incbin "sm_120f/ragged_all_to_all.packed"
#endif
    .byte 0
quern_packed_ragged_all_to_all__sm_120f_end = . - 1
#endif
#if QUERN_SELECTED(sm_100f, any)
    .balign 64
    .global quern_packed_ragged_all_to_all__sm_100f, quern_packed_ragged_all_to_all__sm_100f_end
    .hidden quern_packed_ragged_all_to_all__sm_100f, quern_packed_ragged_all_to_all__sm_100f_end
quern_packed_ragged_all_to_all__sm_100f:
#if QUERN_HAS_NVCC
    .incbin "sm_100f/ragged_all_to_all.packed"
#endif
    .byte 0
quern_packed_ragged_all_to_all__sm_100f_end = . - 1
#endif
#if QUERN_SELECTED(sm_90a, any)
    .balign 64
    .global quern_packed_ragged_all_to_all__sm_90a, quern_packed_ragged_all_to_all__sm_90a_end
    .hidden quern_packed_ragged_all_to_all__sm_90a, quern_packed_ragged_all_to_all__sm_90a_end
quern_packed_ragged_all_to_all__sm_90a:
#if QUERN_HAS_NVCC
    .incbin "sm_90a/ragged_all_to_all.packed"
#endif
    .byte 0
quern_packed_ragged_all_to_all__sm_90a_end = . - 1
#endif
#if QUERN_SELECTED(sm_89, any)
    .balign 64
    .global quern_packed_ragged_all_to_all__sm_89, quern_packed_ragged_all_to_all__sm_89_end
    .hidden quern_packed_ragged_all_to_all__sm_89, quern_packed_ragged_all_to_all__sm_89_end
quern_packed_ragged_all_to_all__sm_89:
#if QUERN_HAS_NVCC
    .incbin "sm_89/ragged_all_to_all.packed"
#endif
    .byte 0
quern_packed_ragged_all_to_all__sm_89_end = . - 1
#endif
#if QUERN_SELECTED(sm_86, any)
    .balign 64
    .global quern_packed_ragged_all_to_all__sm_86, quern_packed_ragged_all_to_all__sm_86_end
    .hidden quern_packed_ragged_all_to_all__sm_86, quern_packed_ragged_all_to_all__sm_86_end
quern_packed_ragged_all_to_all__sm_86:
#if QUERN_HAS_NVCC
    .incbin "sm_86/ragged_all_to_all.packed"
#endif
    .byte 0
quern_packed_ragged_all_to_all__sm_86_end = . - 1
#endif
#if QUERN_SELECTED(sm_80, any)
    .balign 64
    .global quern_packed_ragged_all_to_all__sm_80, quern_packed_ragged_all_to_all__sm_80_end
    .hidden quern_packed_ragged_all_to_all__sm_80, quern_packed_ragged_all_to_all__sm_80_end
quern_packed_ragged_all_to_all__sm_80:
#if QUERN_HAS_NVCC
    .incbin "sm_80/ragged_all_to_all.packed"
#endif
    .byte 0
quern_packed_ragged_all_to_all__sm_80_end = . - 1
#endif
#if QUERN_SELECTED(sm_75, any)
    .balign 64
    .global quern_packed_ragged_all_to_all__sm_75, quern_packed_ragged_all_to_all__sm_75_end
    .hidden quern_packed_ragged_all_to_all__sm_75, quern_packed_ragged_all_to_all__sm_75_end
quern_packed_ragged_all_to_all__sm_75:
#if QUERN_HAS_NVCC
    .incbin "sm_75/ragged_all_to_all.packed"
#endif
    .byte 0
quern_packed_ragged_all_to_all__sm_75_end = . - 1
#endif
#if QUERN_SELECTED(compute_90, any)
    .balign 64
    .global quern_packed_ragged_all_to_all__compute_90, quern_packed_ragged_all_to_all__compute_90_end
    .hidden quern_packed_ragged_all_to_all__compute_90, quern_packed_ragged_all_to_all__compute_90_end
quern_packed_ragged_all_to_all__compute_90:
#if QUERN_HAS_NVCC
    .incbin "compute_90/ragged_all_to_all.packed"
#endif
    .byte 0
quern_packed_ragged_all_to_all__compute_90_end = . - 1
#endif
    .section .note.GNU-stack, "", @progbits
