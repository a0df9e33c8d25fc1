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
#if QUERN_SELECTED(sm_120f, collective_combine)
    .balign 64
    .global quern_image_collective_combine__sm_120f, quern_image_collective_combine__sm_120f_end
    .hidden quern_image_collective_combine__sm_120f, quern_image_collective_combine__sm_120f_end
quern_image_collective_combine__sm_120f:
#if QUERN_HAS_NVCC
    .incbin "sm_120f/collective_combine.fatbin"
#endif
    .byte 0
quern_image_collective_combine__sm_120f_end = . - 1
#endif
#if QUERN_SELECTED(sm_120f, collective_move)
    .balign 64
    .global quern_image_collective_move__sm_120f, quern_image_collective_move__sm_120f_end
    .hidden quern_image_collective_move__sm_120f, quern_image_collective_move__sm_120f_end
quern_image_collective_move__sm_120f:
#if QUERN_HAS_NVCC
    .incbin "sm_120f/collective_move.fatbin"
#endif
    .byte 0
quern_image_collective_move__sm_120f_end = . - 1
#endif
#if QUERN_SELECTED(sm_120f, collective_chunks)
    .balign 64
    .global quern_image_collective_chunks__sm_120f, quern_image_collective_chunks__sm_120f_end
    .hidden quern_image_collective_chunks__sm_120f, quern_image_collective_chunks__sm_120f_end
quern_image_collective_chunks__sm_120f:
#if QUERN_HAS_NVCC
    .incbin "sm_120f/collective_chunks.fatbin"
#endif
    .byte 0
quern_image_collective_chunks__sm_120f_end = . - 1
#endif
#if QUERN_SELECTED(sm_120f, collective_chunk_meeting)
    .balign 64
    .global quern_image_collective_chunk_meeting__sm_120f, quern_image_collective_chunk_meeting__sm_120f_end
    .hidden quern_image_collective_chunk_meeting__sm_120f, quern_image_collective_chunk_meeting__sm_120f_end
quern_image_collective_chunk_meeting__sm_120f:
#if QUERN_HAS_NVCC
    .incbin "sm_120f/collective_chunk_meeting.fatbin"
#endif
    .byte 0
quern_image_collective_chunk_meeting__sm_120f_end = . - 1
#endif
#if QUERN_SELECTED(sm_100f, collective_combine)
    .balign 64
    .global quern_image_collective_combine__sm_100f, quern_image_collective_combine__sm_100f_end
    .hidden quern_image_collective_combine__sm_100f, quern_image_collective_combine__sm_100f_end
quern_image_collective_combine__sm_100f:
#if QUERN_HAS_NVCC
    .incbin "sm_100f/collective_combine.fatbin"
#endif
    .byte 0
quern_image_collective_combine__sm_100f_end = . - 1
#endif
#if QUERN_SELECTED(sm_100f, collective_move)
    .balign 64
    .global quern_image_collective_move__sm_100f, quern_image_collective_move__sm_100f_end
    .hidden quern_image_collective_move__sm_100f, quern_image_collective_move__sm_100f_end
quern_image_collective_move__sm_100f:
#if QUERN_HAS_NVCC
    .incbin "sm_100f/collective_move.fatbin"
#endif
    .byte 0
quern_image_collective_move__sm_100f_end = . - 1
#endif
#if QUERN_SELECTED(sm_100f, collective_chunks)
    .balign 64
    .global quern_image_collective_chunks__sm_100f, quern_image_collective_chunks__sm_100f_end
    .hidden quern_image_collective_chunks__sm_100f, quern_image_collective_chunks__sm_100f_end
quern_image_collective_chunks__sm_100f:
#if QUERN_HAS_NVCC
    .incbin "sm_100f/collective_chunks.fatbin"
#endif
    .byte 0
quern_image_collective_chunks__sm_100f_end = . - 1
#endif
#if QUERN_SELECTED(sm_100f, collective_chunk_meeting)
    .balign 64
    .global quern_image_collective_chunk_meeting__sm_100f, quern_image_collective_chunk_meeting__sm_100f_end
    .hidden quern_image_collective_chunk_meeting__sm_100f, quern_image_collective_chunk_meeting__sm_100f_end
quern_image_collective_chunk_meeting__sm_100f:
#if QUERN_HAS_NVCC
    .incbin "sm_100f/collective_chunk_meeting.fatbin"
#endif
    .byte 0
quern_image_collective_chunk_meeting__sm_100f_end = . - 1
#endif
#if QUERN_SELECTED(sm_90a, collective_combine)
    .balign 64
    .global quern_image_collective_combine__sm_90a, quern_image_collective_combine__sm_90a_end
    .hidden quern_image_collective_combine__sm_90a, quern_image_collective_combine__sm_90a_end
quern_image_collective_combine__sm_90a:
#if QUERN_HAS_NVCC
    .incbin "sm_90a/collective_combine.fatbin"
#endif
    .byte 0
quern_image_collective_combine__sm_90a_end = . - 1
#endif
#if QUERN_SELECTED(sm_90a, collective_move)
    .balign 64
    .global quern_image_collective_move__sm_90a, quern_image_collective_move__sm_90a_end
    .hidden quern_image_collective_move__sm_90a, quern_image_collective_move__sm_90a_end
quern_image_collective_move__sm_90a:
#if QUERN_HAS_NVCC
    .incbin "sm_90a/collective_move.fatbin"
#endif
    .byte 0
quern_image_collective_move__sm_90a_end = . - 1
#endif
#if QUERN_SELECTED(sm_90a, collective_chunks)
    .balign 64
    .global quern_image_collective_chunks__sm_90a, quern_image_collective_chunks__sm_90a_end
    .hidden quern_image_collective_chunks__sm_90a, quern_image_collective_chunks__sm_90a_end
quern_image_collective_chunks__sm_90a:
#if QUERN_HAS_NVCC
    .incbin "sm_90a/collective_chunks.fatbin"
#endif
    .byte 0
quern_image_collective_chunks__sm_90a_end = . - 1
#endif
#if QUERN_SELECTED(sm_90a, collective_chunk_meeting)
    .balign 64
    .global quern_image_collective_chunk_meeting__sm_90a, quern_image_collective_chunk_meeting__sm_90a_end
    .hidden quern_image_collective_chunk_meeting__sm_90a, quern_image_collective_chunk_meeting__sm_90a_end
quern_image_collective_chunk_meeting__sm_90a:
#if QUERN_HAS_NVCC
    .incbin "sm_90a/collective_chunk_meeting.fatbin"
#endif
    .byte 0
quern_image_collective_chunk_meeting__sm_90a_end = . - 1
#endif
#if QUERN_SELECTED(sm_89, collective_combine)
    .balign 64
    .global quern_image_collective_combine__sm_89, quern_image_collective_combine__sm_89_end
    .hidden quern_image_collective_combine__sm_89, quern_image_collective_combine__sm_89_end
quern_image_collective_combine__sm_89:
#if QUERN_HAS_NVCC
    .incbin "sm_89/collective_combine.fatbin"
#endif
    .byte 0
quern_image_collective_combine__sm_89_end = . - 1
#endif
#if QUERN_SELECTED(sm_89, collective_move)
    .balign 64
    .global quern_image_collective_move__sm_89, quern_image_collective_move__sm_89_end
    .hidden quern_image_collective_move__sm_89, quern_image_collective_move__sm_89_end
quern_image_collective_move__sm_89:
#if QUERN_HAS_NVCC
    .incbin "sm_89/collective_move.fatbin"
#endif
    .byte 0
quern_image_collective_move__sm_89_end = . - 1
#endif
#if QUERN_SELECTED(sm_89, collective_chunks)
    .balign 64
    .global quern_image_collective_chunks__sm_89, quern_image_collective_chunks__sm_89_end
    .hidden quern_image_collective_chunks__sm_89, quern_image_collective_chunks__sm_89_end
quern_image_collective_chunks__sm_89:
#if QUERN_HAS_NVCC
    .incbin "sm_89/collective_chunks.fatbin"
#endif
    .byte 0
quern_image_collective_chunks__sm_89_end = . - 1
#endif
#if QUERN_SELECTED(sm_89, collective_chunk_meeting)
    .balign 64
    .global quern_image_collective_chunk_meeting__sm_89, quern_image_collective_chunk_meeting__sm_89_end
    .hidden quern_image_collective_chunk_meeting__sm_89, quern_image_collective_chunk_meeting__sm_89_end
quern_image_collective_chunk_meeting__sm_89:
#if QUERN_HAS_NVCC
    .incbin "sm_89/collective_chunk_meeting.fatbin"
#endif
    .byte 0
quern_image_collective_chunk_meeting__sm_89_end = . - 1
#endif
#if QUERN_SELECTED(sm_86, collective_combine)
    .balign 64
    .global quern_image_collective_combine__sm_86, quern_image_collective_combine__sm_86_end
    .hidden quern_image_collective_combine__sm_86, quern_image_collective_combine__sm_86_end
quern_image_collective_combine__sm_86:
#if QUERN_HAS_NVCC
    .incbin "sm_86/collective_combine.fatbin"
#endif
    .byte 0
quern_image_collective_combine__sm_86_end = . - 1
#endif
#if QUERN_SELECTED(sm_86, collective_move)
    .balign 64
    .global quern_image_collective_move__sm_86, quern_image_collective_move__sm_86_end
    .hidden quern_image_collective_move__sm_86, quern_image_collective_move__sm_86_end
quern_image_collective_move__sm_86:
#if QUERN_HAS_NVCC
    .incbin "sm_86/collective_move.fatbin"
#endif
    .byte 0
quern_image_collective_move__sm_86_end = . - 1
#endif
#if QUERN_SELECTED(sm_86, collective_chunks)
    .balign 64
    .global quern_image_collective_chunks__sm_86, quern_image_collective_chunks__sm_86_end
    .hidden quern_image_collective_chunks__sm_86, quern_image_collective_chunks__sm_86_end
quern_image_collective_chunks__sm_86:
#if QUERN_HAS_NVCC
    .incbin "sm_86/collective_chunks.fatbin"
#endif
    .byte 0
quern_image_collective_chunks__sm_86_end = . - 1
#endif
#if QUERN_SELECTED(sm_86, collective_chunk_meeting)
    .balign 64
    .global quern_image_collective_chunk_meeting__sm_86, quern_image_collective_chunk_meeting__sm_86_end
    .hidden quern_image_collective_chunk_meeting__sm_86, quern_image_collective_chunk_meeting__sm_86_end
quern_image_collective_chunk_meeting__sm_86:
#if QUERN_HAS_NVCC
    .incbin "sm_86/collective_chunk_meeting.fatbin"
#endif
    .byte 0
quern_image_collective_chunk_meeting__sm_86_end = . - 1
#endif
#if QUERN_SELECTED(sm_80, collective_combine)
    .balign 64
    .global quern_image_collective_combine__sm_80, quern_image_collective_combine__sm_80_end
    .hidden quern_image_collective_combine__sm_80, quern_image_collective_combine__sm_80_end
quern_image_collective_combine__sm_80:
#if QUERN_HAS_NVCC
    .incbin "sm_80/collective_combine.fatbin"
#endif
    .byte 0
quern_image_collective_combine__sm_80_end = . - 1
#endif
#if QUERN_SELECTED(sm_80, collective_move)
    .balign 64
    .global quern_image_collective_move__sm_80, quern_image_collective_move__sm_80_end
    .hidden quern_image_collective_move__sm_80, quern_image_collective_move__sm_80_end
quern_image_collective_move__sm_80:
#if QUERN_HAS_NVCC
    .incbin "sm_80/collective_move.fatbin"
#endif
    .byte 0
quern_image_collective_move__sm_80_end = . - 1
#endif
#if QUERN_SELECTED(sm_80, collective_chunks)
    .balign 64
    .global quern_image_collective_chunks__sm_80, quern_image_collective_chunks__sm_80_end
    .hidden quern_image_collective_chunks__sm_80, quern_image_collective_chunks__sm_80_end
quern_image_collective_chunks__sm_80:
#if QUERN_HAS_NVCC
    .incbin "sm_80/collective_chunks.fatbin"
#endif
    .byte 0
quern_image_collective_chunks__sm_80_end = . - 1
#endif
#if QUERN_SELECTED(sm_80, collective_chunk_meeting)
    .balign 64
    .global quern_image_collective_chunk_meeting__sm_80, quern_image_collective_chunk_meeting__sm_80_end
    .hidden quern_image_collective_chunk_meeting__sm_80, quern_image_collective_chunk_meeting__sm_80_end
quern_image_collective_chunk_meeting__sm_80:
#if QUERN_HAS_NVCC
    .incbin "sm_80/collective_chunk_meeting.fatbin"
#endif
    .byte 0
quern_image_collective_chunk_meeting__sm_80_end = . - 1
#endif
#if QUERN_SELECTED(sm_75, collective_combine)
    .balign 64
    .global quern_image_collective_combine__sm_75, quern_image_collective_combine__sm_75_end
    .hidden quern_image_collective_combine__sm_75, quern_image_collective_combine__sm_75_end
quern_image_collective_combine__sm_75:
#if QUERN_HAS_NVCC
    .incbin "sm_75/collective_combine.fatbin"
#endif
    .byte 0
quern_image_collective_combine__sm_75_end = . - 1
#endif
#if QUERN_SELECTED(sm_75, collective_move)
    .balign 64
    .global quern_image_collective_move__sm_75, quern_image_collective_move__sm_75_end
    .hidden quern_image_collective_move__sm_75, quern_image_collective_move__sm_75_end
quern_image_collective_move__sm_75:
#if QUERN_HAS_NVCC
    .incbin "sm_75/collective_move.fatbin"
#endif
    .byte 0
quern_image_collective_move__sm_75_end = . - 1
#endif
#if QUERN_SELECTED(sm_75, collective_chunks)
    .balign 64
    .global quern_image_collective_chunks__sm_75, quern_image_collective_chunks__sm_75_end
    .hidden quern_image_collective_chunks__sm_75, quern_image_collective_chunks__sm_75_end
quern_image_collective_chunks__sm_75:
#if QUERN_HAS_NVCC
    .incbin "sm_75/collective_chunks.fatbin"
#endif
    .byte 0
quern_image_collective_chunks__sm_75_end = . - 1
#endif
#if QUERN_SELECTED(sm_75, collective_chunk_meeting)
    .balign 64
    .global quern_image_collective_chunk_meeting__sm_75, quern_image_collective_chunk_meeting__sm_75_end
    .hidden quern_image_collective_chunk_meeting__sm_75, quern_image_collective_chunk_meeting__sm_75_end
quern_image_collective_chunk_meeting__sm_75:
#if QUERN_HAS_NVCC
    .incbin "sm_75/collective_chunk_meeting.fatbin"
#endif
    .byte 0
quern_image_collective_chunk_meeting__sm_75_end = . - 1
#endif
#if QUERN_SELECTED(compute_90, collective_combine)
    .balign 64
    .global quern_image_collective_combine__compute_90, quern_image_collective_combine__compute_90_end
    .hidden quern_image_collective_combine__compute_90, quern_image_collective_combine__compute_90_end
quern_image_collective_combine__compute_90:
#if QUERN_HAS_NVCC
    .incbin "compute_90/collective_combine.fatbin"
#endif
    .byte 0
quern_image_collective_combine__compute_90_end = . - 1
#endif
#if QUERN_SELECTED(compute_90, collective_move)
    .balign 64
    .global quern_image_collective_move__compute_90, quern_image_collective_move__compute_90_end
    .hidden quern_image_collective_move__compute_90, quern_image_collective_move__compute_90_end
quern_image_collective_move__compute_90:
#if QUERN_HAS_NVCC
    .incbin "compute_90/collective_move.fatbin"
#endif
    .byte 0
quern_image_collective_move__compute_90_end = . - 1
#endif
#if QUERN_SELECTED(compute_90, collective_chunks)
    .balign 64
    .global quern_image_collective_chunks__compute_90, quern_image_collective_chunks__compute_90_end
    .hidden quern_image_collective_chunks__compute_90, quern_image_collective_chunks__compute_90_end
quern_image_collective_chunks__compute_90:
#if QUERN_HAS_NVCC
    .incbin "compute_90/collective_chunks.fatbin"
#endif
    .byte 0
quern_image_collective_chunks__compute_90_end = . - 1
#endif
#if QUERN_SELECTED(compute_90, collective_chunk_meeting)
    .balign 64
    .global quern_image_collective_chunk_meeting__compute_90, quern_image_collective_chunk_meeting__compute_90_end
    .hidden quern_image_collective_chunk_meeting__compute_90, quern_image_collective_chunk_meeting__compute_90_end
quern_image_collective_chunk_meeting__compute_90:
#if QUERN_HAS_NVCC
    .incbin "compute_90/collective_chunk_meeting.fatbin"
#endif
    .byte 0
quern_image_collective_chunk_meeting__compute_90_end = . - 1
#endif
    .section .note.GNU-stack, "", @progbits
