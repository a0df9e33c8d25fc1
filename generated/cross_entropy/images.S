/*
 * The GPU code of cross_entropy: one fatbin per source file and target, taken from the build directory.
 * Each is empty when the library is built without nvcc (QUERN_HAS_NVCC is 0); the table's rows then say so.
 * A build that defines QUERN_SELECTED(target, unit) has those units alone for which it is not 0.
 *
 * Rendered by gen/ from templates/build/images.S.j2; do not edit.
 */
#ifndef QUERN_SELECTED
#define QUERN_SELECTED(target, unit) 1
#endif

    .section .rodata
#if QUERN_SELECTED(sm_120f, cross_entropy_f32_short)
    .balign 64
    .global quern_image_cross_entropy_f32_short__sm_120f, quern_image_cross_entropy_f32_short__sm_120f_end
    .hidden quern_image_cross_entropy_f32_short__sm_120f, quern_image_cross_entropy_f32_short__sm_120f_end
quern_image_cross_entropy_f32_short__sm_120f:
#if QUERN_HAS_NVCC
    .incbin "sm_120f/cross_entropy_f32_short.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_f32_short__sm_120f_end = . - 1
#endif
#if QUERN_SELECTED(sm_120f, cross_entropy_f16_short)
    .balign 64
    .global quern_image_cross_entropy_f16_short__sm_120f, quern_image_cross_entropy_f16_short__sm_120f_end
    .hidden quern_image_cross_entropy_f16_short__sm_120f, quern_image_cross_entropy_f16_short__sm_120f_end
quern_image_cross_entropy_f16_short__sm_120f:
#if QUERN_HAS_NVCC
    .incbin "sm_120f/cross_entropy_f16_short.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_f16_short__sm_120f_end = . - 1
#endif
#if QUERN_SELECTED(sm_120f, cross_entropy_bf16_short)
    .balign 64
    .global quern_image_cross_entropy_bf16_short__sm_120f, quern_image_cross_entropy_bf16_short__sm_120f_end
    .hidden quern_image_cross_entropy_bf16_short__sm_120f, quern_image_cross_entropy_bf16_short__sm_120f_end
quern_image_cross_entropy_bf16_short__sm_120f:
#if QUERN_HAS_NVCC
    .incbin "sm_120f/cross_entropy_bf16_short.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_bf16_short__sm_120f_end = . - 1
#endif
#if QUERN_SELECTED(sm_120f, cross_entropy_f32_rows)
    .balign 64
    .global quern_image_cross_entropy_f32_rows__sm_120f, quern_image_cross_entropy_f32_rows__sm_120f_end
    .hidden quern_image_cross_entropy_f32_rows__sm_120f, quern_image_cross_entropy_f32_rows__sm_120f_end
quern_image_cross_entropy_f32_rows__sm_120f:
#if QUERN_HAS_NVCC
    .incbin "sm_120f/cross_entropy_f32_rows.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_f32_rows__sm_120f_end = . - 1
#endif
#if QUERN_SELECTED(sm_120f, cross_entropy_f16_rows)
    .balign 64
    .global quern_image_cross_entropy_f16_rows__sm_120f, quern_image_cross_entropy_f16_rows__sm_120f_end
    .hidden quern_image_cross_entropy_f16_rows__sm_120f, quern_image_cross_entropy_f16_rows__sm_120f_end
quern_image_cross_entropy_f16_rows__sm_120f:
#if QUERN_HAS_NVCC
    .incbin "sm_120f/cross_entropy_f16_rows.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_f16_rows__sm_120f_end = . - 1
#endif
#if QUERN_SELECTED(sm_120f, cross_entropy_bf16_rows)
    .balign 64
    .global quern_image_cross_entropy_bf16_rows__sm_120f, quern_image_cross_entropy_bf16_rows__sm_120f_end
    .hidden quern_image_cross_entropy_bf16_rows__sm_120f, quern_image_cross_entropy_bf16_rows__sm_120f_end
quern_image_cross_entropy_bf16_rows__sm_120f:
#if QUERN_HAS_NVCC
    .incbin "sm_120f/cross_entropy_bf16_rows.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_bf16_rows__sm_120f_end = . - 1
#endif
#if QUERN_SELECTED(sm_120f, cross_entropy_f32_streamed)
    .balign 64
    .global quern_image_cross_entropy_f32_streamed__sm_120f, quern_image_cross_entropy_f32_streamed__sm_120f_end
    .hidden quern_image_cross_entropy_f32_streamed__sm_120f, quern_image_cross_entropy_f32_streamed__sm_120f_end
quern_image_cross_entropy_f32_streamed__sm_120f:
#if QUERN_HAS_NVCC
    .incbin "sm_120f/cross_entropy_f32_streamed.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_f32_streamed__sm_120f_end = . - 1
#endif
#if QUERN_SELECTED(sm_120f, cross_entropy_f16_streamed)
    .balign 64
    .global quern_image_cross_entropy_f16_streamed__sm_120f, quern_image_cross_entropy_f16_streamed__sm_120f_end
    .hidden quern_image_cross_entropy_f16_streamed__sm_120f, quern_image_cross_entropy_f16_streamed__sm_120f_end
quern_image_cross_entropy_f16_streamed__sm_120f:
#if QUERN_HAS_NVCC
    .incbin "sm_120f/cross_entropy_f16_streamed.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_f16_streamed__sm_120f_end = . - 1
#endif
#if QUERN_SELECTED(sm_120f, cross_entropy_bf16_streamed)
    .balign 64
    .global quern_image_cross_entropy_bf16_streamed__sm_120f, quern_image_cross_entropy_bf16_streamed__sm_120f_end
    .hidden quern_image_cross_entropy_bf16_streamed__sm_120f, quern_image_cross_entropy_bf16_streamed__sm_120f_end
quern_image_cross_entropy_bf16_streamed__sm_120f:
#if QUERN_HAS_NVCC
    .incbin "sm_120f/cross_entropy_bf16_streamed.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_bf16_streamed__sm_120f_end = . - 1
#endif
#if QUERN_SELECTED(sm_120f, cross_entropy_f32_full_rows)
    .balign 64
    .global quern_image_cross_entropy_f32_full_rows__sm_120f, quern_image_cross_entropy_f32_full_rows__sm_120f_end
    .hidden quern_image_cross_entropy_f32_full_rows__sm_120f, quern_image_cross_entropy_f32_full_rows__sm_120f_end
quern_image_cross_entropy_f32_full_rows__sm_120f:
#if QUERN_HAS_NVCC
    .incbin "sm_120f/cross_entropy_f32_full_rows.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_f32_full_rows__sm_120f_end = . - 1
#endif
#if QUERN_SELECTED(sm_120f, cross_entropy_f16_full_rows)
    .balign 64
    .global quern_image_cross_entropy_f16_full_rows__sm_120f, quern_image_cross_entropy_f16_full_rows__sm_120f_end
    .hidden quern_image_cross_entropy_f16_full_rows__sm_120f, quern_image_cross_entropy_f16_full_rows__sm_120f_end
quern_image_cross_entropy_f16_full_rows__sm_120f:
#if QUERN_HAS_NVCC
    .incbin "sm_120f/cross_entropy_f16_full_rows.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_f16_full_rows__sm_120f_end = . - 1
#endif
#if QUERN_SELECTED(sm_120f, cross_entropy_bf16_full_rows)
    .balign 64
    .global quern_image_cross_entropy_bf16_full_rows__sm_120f, quern_image_cross_entropy_bf16_full_rows__sm_120f_end
    .hidden quern_image_cross_entropy_bf16_full_rows__sm_120f, quern_image_cross_entropy_bf16_full_rows__sm_120f_end
quern_image_cross_entropy_bf16_full_rows__sm_120f:
#if QUERN_HAS_NVCC
    .incbin "sm_120f/cross_entropy_bf16_full_rows.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_bf16_full_rows__sm_120f_end = . - 1
#endif
#if QUERN_SELECTED(sm_120f, cross_entropy_f32)
    .balign 64
    .global quern_image_cross_entropy_f32__sm_120f, quern_image_cross_entropy_f32__sm_120f_end
    .hidden quern_image_cross_entropy_f32__sm_120f, quern_image_cross_entropy_f32__sm_120f_end
quern_image_cross_entropy_f32__sm_120f:
#if QUERN_HAS_NVCC
    .incbin "sm_120f/cross_entropy_f32.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_f32__sm_120f_end = . - 1
#endif
#if QUERN_SELECTED(sm_120f, cross_entropy_f16)
    .balign 64
    .global quern_image_cross_entropy_f16__sm_120f, quern_image_cross_entropy_f16__sm_120f_end
    .hidden quern_image_cross_entropy_f16__sm_120f, quern_image_cross_entropy_f16__sm_120f_end
quern_image_cross_entropy_f16__sm_120f:
#if QUERN_HAS_NVCC
    .incbin "sm_120f/cross_entropy_f16.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_f16__sm_120f_end = . - 1
#endif
#if QUERN_SELECTED(sm_120f, cross_entropy_bf16)
    .balign 64
    .global quern_image_cross_entropy_bf16__sm_120f, quern_image_cross_entropy_bf16__sm_120f_end
    .hidden quern_image_cross_entropy_bf16__sm_120f, quern_image_cross_entropy_bf16__sm_120f_end
quern_image_cross_entropy_bf16__sm_120f:
#if QUERN_HAS_NVCC
    .incbin "sm_120f/cross_entropy_bf16.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_bf16__sm_120f_end = . - 1
#endif
#if QUERN_SELECTED(sm_120f, cross_entropy_f32_upstream)
    .balign 64
    .global quern_image_cross_entropy_f32_upstream__sm_120f, quern_image_cross_entropy_f32_upstream__sm_120f_end
    .hidden quern_image_cross_entropy_f32_upstream__sm_120f, quern_image_cross_entropy_f32_upstream__sm_120f_end
quern_image_cross_entropy_f32_upstream__sm_120f:
#if QUERN_HAS_NVCC
    .incbin "sm_120f/cross_entropy_f32_upstream.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_f32_upstream__sm_120f_end = . - 1
#endif
#if QUERN_SELECTED(sm_120f, cross_entropy_f16_upstream)
    .balign 64
    .global quern_image_cross_entropy_f16_upstream__sm_120f, quern_image_cross_entropy_f16_upstream__sm_120f_end
    .hidden quern_image_cross_entropy_f16_upstream__sm_120f, quern_image_cross_entropy_f16_upstream__sm_120f_end
quern_image_cross_entropy_f16_upstream__sm_120f:
#if QUERN_HAS_NVCC
    .incbin "sm_120f/cross_entropy_f16_upstream.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_f16_upstream__sm_120f_end = . - 1
#endif
#if QUERN_SELECTED(sm_120f, cross_entropy_bf16_upstream)
    .balign 64
    .global quern_image_cross_entropy_bf16_upstream__sm_120f, quern_image_cross_entropy_bf16_upstream__sm_120f_end
    .hidden quern_image_cross_entropy_bf16_upstream__sm_120f, quern_image_cross_entropy_bf16_upstream__sm_120f_end
quern_image_cross_entropy_bf16_upstream__sm_120f:
#if QUERN_HAS_NVCC
    .incbin "sm_120f/cross_entropy_bf16_upstream.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_bf16_upstream__sm_120f_end = . - 1
#endif
#if QUERN_SELECTED(sm_120f, cross_entropy_stages)
    .balign 64
    .global quern_image_cross_entropy_stages__sm_120f, quern_image_cross_entropy_stages__sm_120f_end
    .hidden quern_image_cross_entropy_stages__sm_120f, quern_image_cross_entropy_stages__sm_120f_end
quern_image_cross_entropy_stages__sm_120f:
#if QUERN_HAS_NVCC
    .incbin "sm_120f/cross_entropy_stages.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_stages__sm_120f_end = . - 1
#endif
#if QUERN_SELECTED(sm_120f, cross_entropy_f32_full)
    .balign 64
    .global quern_image_cross_entropy_f32_full__sm_120f, quern_image_cross_entropy_f32_full__sm_120f_end
    .hidden quern_image_cross_entropy_f32_full__sm_120f, quern_image_cross_entropy_f32_full__sm_120f_end
quern_image_cross_entropy_f32_full__sm_120f:
#if QUERN_HAS_NVCC
    .incbin "sm_120f/cross_entropy_f32_full.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_f32_full__sm_120f_end = . - 1
#endif
#if QUERN_SELECTED(sm_120f, cross_entropy_f16_full)
    .balign 64
    .global quern_image_cross_entropy_f16_full__sm_120f, quern_image_cross_entropy_f16_full__sm_120f_end
    .hidden quern_image_cross_entropy_f16_full__sm_120f, quern_image_cross_entropy_f16_full__sm_120f_end
quern_image_cross_entropy_f16_full__sm_120f:
#if QUERN_HAS_NVCC
    .incbin "sm_120f/cross_entropy_f16_full.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_f16_full__sm_120f_end = . - 1
#endif
#if QUERN_SELECTED(sm_120f, cross_entropy_bf16_full)
    .balign 64
    .global quern_image_cross_entropy_bf16_full__sm_120f, quern_image_cross_entropy_bf16_full__sm_120f_end
    .hidden quern_image_cross_entropy_bf16_full__sm_120f, quern_image_cross_entropy_bf16_full__sm_120f_end
quern_image_cross_entropy_bf16_full__sm_120f:
#if QUERN_HAS_NVCC
    .incbin "sm_120f/cross_entropy_bf16_full.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_bf16_full__sm_120f_end = . - 1
#endif
#if QUERN_SELECTED(sm_100f, cross_entropy_f32_short)
    .balign 64
    .global quern_image_cross_entropy_f32_short__sm_100f, quern_image_cross_entropy_f32_short__sm_100f_end
    .hidden quern_image_cross_entropy_f32_short__sm_100f, quern_image_cross_entropy_f32_short__sm_100f_end
quern_image_cross_entropy_f32_short__sm_100f:
#if QUERN_HAS_NVCC
    .incbin "sm_100f/cross_entropy_f32_short.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_f32_short__sm_100f_end = . - 1
#endif
#if QUERN_SELECTED(sm_100f, cross_entropy_f16_short)
    .balign 64
    .global quern_image_cross_entropy_f16_short__sm_100f, quern_image_cross_entropy_f16_short__sm_100f_end
    .hidden quern_image_cross_entropy_f16_short__sm_100f, quern_image_cross_entropy_f16_short__sm_100f_end
quern_image_cross_entropy_f16_short__sm_100f:
#if QUERN_HAS_NVCC
    .incbin "sm_100f/cross_entropy_f16_short.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_f16_short__sm_100f_end = . - 1
#endif
#if QUERN_SELECTED(sm_100f, cross_entropy_bf16_short)
    .balign 64
    .global quern_image_cross_entropy_bf16_short__sm_100f, quern_image_cross_entropy_bf16_short__sm_100f_end
    .hidden quern_image_cross_entropy_bf16_short__sm_100f, quern_image_cross_entropy_bf16_short__sm_100f_end
quern_image_cross_entropy_bf16_short__sm_100f:
#if QUERN_HAS_NVCC
    .incbin "sm_100f/cross_entropy_bf16_short.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_bf16_short__sm_100f_end = . - 1
#endif
#if QUERN_SELECTED(sm_100f, cross_entropy_f32_rows)
    .balign 64
    .global quern_image_cross_entropy_f32_rows__sm_100f, quern_image_cross_entropy_f32_rows__sm_100f_end
    .hidden quern_image_cross_entropy_f32_rows__sm_100f, quern_image_cross_entropy_f32_rows__sm_100f_end
quern_image_cross_entropy_f32_rows__sm_100f:
#if QUERN_HAS_NVCC
    .incbin "sm_100f/cross_entropy_f32_rows.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_f32_rows__sm_100f_end = . - 1
#endif
#if QUERN_SELECTED(sm_100f, cross_entropy_f16_rows)
    .balign 64
    .global quern_image_cross_entropy_f16_rows__sm_100f, quern_image_cross_entropy_f16_rows__sm_100f_end
    .hidden quern_image_cross_entropy_f16_rows__sm_100f, quern_image_cross_entropy_f16_rows__sm_100f_end
quern_image_cross_entropy_f16_rows__sm_100f:
#if QUERN_HAS_NVCC
    .incbin "sm_100f/cross_entropy_f16_rows.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_f16_rows__sm_100f_end = . - 1
#endif
#if QUERN_SELECTED(sm_100f, cross_entropy_bf16_rows)
    .balign 64
    .global quern_image_cross_entropy_bf16_rows__sm_100f, quern_image_cross_entropy_bf16_rows__sm_100f_end
    .hidden quern_image_cross_entropy_bf16_rows__sm_100f, quern_image_cross_entropy_bf16_rows__sm_100f_end
quern_image_cross_entropy_bf16_rows__sm_100f:
#if QUERN_HAS_NVCC
    .incbin "sm_100f/cross_entropy_bf16_rows.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_bf16_rows__sm_100f_end = . - 1
#endif
#if QUERN_SELECTED(sm_100f, cross_entropy_f32_streamed)
    .balign 64
    .global quern_image_cross_entropy_f32_streamed__sm_100f, quern_image_cross_entropy_f32_streamed__sm_100f_end
    .hidden quern_image_cross_entropy_f32_streamed__sm_100f, quern_image_cross_entropy_f32_streamed__sm_100f_end
quern_image_cross_entropy_f32_streamed__sm_100f:
#if QUERN_HAS_NVCC
    .incbin "sm_100f/cross_entropy_f32_streamed.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_f32_streamed__sm_100f_end = . - 1
#endif
#if QUERN_SELECTED(sm_100f, cross_entropy_f16_streamed)
    .balign 64
    .global quern_image_cross_entropy_f16_streamed__sm_100f, quern_image_cross_entropy_f16_streamed__sm_100f_end
    .hidden quern_image_cross_entropy_f16_streamed__sm_100f, quern_image_cross_entropy_f16_streamed__sm_100f_end
quern_image_cross_entropy_f16_streamed__sm_100f:
#if QUERN_HAS_NVCC
    .incbin "sm_100f/cross_entropy_f16_streamed.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_f16_streamed__sm_100f_end = . - 1
#endif
#if QUERN_SELECTED(sm_100f, cross_entropy_bf16_streamed)
    .balign 64
    .global quern_image_cross_entropy_bf16_streamed__sm_100f, quern_image_cross_entropy_bf16_streamed__sm_100f_end
    .hidden quern_image_cross_entropy_bf16_streamed__sm_100f, quern_image_cross_entropy_bf16_streamed__sm_100f_end
quern_image_cross_entropy_bf16_streamed__sm_100f:
#if QUERN_HAS_NVCC
    .incbin "sm_100f/cross_entropy_bf16_streamed.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_bf16_streamed__sm_100f_end = . - 1
#endif
#if QUERN_SELECTED(sm_100f, cross_entropy_f32_full_rows)
    .balign 64
    .global quern_image_cross_entropy_f32_full_rows__sm_100f, quern_image_cross_entropy_f32_full_rows__sm_100f_end
    .hidden quern_image_cross_entropy_f32_full_rows__sm_100f, quern_image_cross_entropy_f32_full_rows__sm_100f_end
quern_image_cross_entropy_f32_full_rows__sm_100f:
#if QUERN_HAS_NVCC
    .incbin "sm_100f/cross_entropy_f32_full_rows.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_f32_full_rows__sm_100f_end = . - 1
#endif
#if QUERN_SELECTED(sm_100f, cross_entropy_f16_full_rows)
    .balign 64
    .global quern_image_cross_entropy_f16_full_rows__sm_100f, quern_image_cross_entropy_f16_full_rows__sm_100f_end
    .hidden quern_image_cross_entropy_f16_full_rows__sm_100f, quern_image_cross_entropy_f16_full_rows__sm_100f_end
quern_image_cross_entropy_f16_full_rows__sm_100f:
#if QUERN_HAS_NVCC
    .incbin "sm_100f/cross_entropy_f16_full_rows.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_f16_full_rows__sm_100f_end = . - 1
#endif
#if QUERN_SELECTED(sm_100f, cross_entropy_bf16_full_rows)
    .balign 64
    .global quern_image_cross_entropy_bf16_full_rows__sm_100f, quern_image_cross_entropy_bf16_full_rows__sm_100f_end
    .hidden quern_image_cross_entropy_bf16_full_rows__sm_100f, quern_image_cross_entropy_bf16_full_rows__sm_100f_end
quern_image_cross_entropy_bf16_full_rows__sm_100f:
#if QUERN_HAS_NVCC
    .incbin "sm_100f/cross_entropy_bf16_full_rows.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_bf16_full_rows__sm_100f_end = . - 1
#endif
#if QUERN_SELECTED(sm_100f, cross_entropy_f32)
    .balign 64
    .global quern_image_cross_entropy_f32__sm_100f, quern_image_cross_entropy_f32__sm_100f_end
    .hidden quern_image_cross_entropy_f32__sm_100f, quern_image_cross_entropy_f32__sm_100f_end
quern_image_cross_entropy_f32__sm_100f:
#if QUERN_HAS_NVCC
    .incbin "sm_100f/cross_entropy_f32.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_f32__sm_100f_end = . - 1
#endif
#if QUERN_SELECTED(sm_100f, cross_entropy_f16)
    .balign 64
    .global quern_image_cross_entropy_f16__sm_100f, quern_image_cross_entropy_f16__sm_100f_end
    .hidden quern_image_cross_entropy_f16__sm_100f, quern_image_cross_entropy_f16__sm_100f_end
quern_image_cross_entropy_f16__sm_100f:
#if QUERN_HAS_NVCC
    .incbin "sm_100f/cross_entropy_f16.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_f16__sm_100f_end = . - 1
#endif
#if QUERN_SELECTED(sm_100f, cross_entropy_bf16)
    .balign 64
    .global quern_image_cross_entropy_bf16__sm_100f, quern_image_cross_entropy_bf16__sm_100f_end
    .hidden quern_image_cross_entropy_bf16__sm_100f, quern_image_cross_entropy_bf16__sm_100f_end
quern_image_cross_entropy_bf16__sm_100f:
#if QUERN_HAS_NVCC
    .incbin "sm_100f/cross_entropy_bf16.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_bf16__sm_100f_end = . - 1
#endif
#if QUERN_SELECTED(sm_100f, cross_entropy_f32_upstream)
    .balign 64
    .global quern_image_cross_entropy_f32_upstream__sm_100f, quern_image_cross_entropy_f32_upstream__sm_100f_end
    .hidden quern_image_cross_entropy_f32_upstream__sm_100f, quern_image_cross_entropy_f32_upstream__sm_100f_end
quern_image_cross_entropy_f32_upstream__sm_100f:
#if QUERN_HAS_NVCC
    .incbin "sm_100f/cross_entropy_f32_upstream.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_f32_upstream__sm_100f_end = . - 1
#endif
#if QUERN_SELECTED(sm_100f, cross_entropy_f16_upstream)
    .balign 64
    .global quern_image_cross_entropy_f16_upstream__sm_100f, quern_image_cross_entropy_f16_upstream__sm_100f_end
    .hidden quern_image_cross_entropy_f16_upstream__sm_100f, quern_image_cross_entropy_f16_upstream__sm_100f_end
quern_image_cross_entropy_f16_upstream__sm_100f:
#if QUERN_HAS_NVCC
    .incbin "sm_100f/cross_entropy_f16_upstream.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_f16_upstream__sm_100f_end = . - 1
#endif
#if QUERN_SELECTED(sm_100f, cross_entropy_bf16_upstream)
    .balign 64
    .global quern_image_cross_entropy_bf16_upstream__sm_100f, quern_image_cross_entropy_bf16_upstream__sm_100f_end
    .hidden quern_image_cross_entropy_bf16_upstream__sm_100f, quern_image_cross_entropy_bf16_upstream__sm_100f_end
quern_image_cross_entropy_bf16_upstream__sm_100f:
#if QUERN_HAS_NVCC
    .incbin "sm_100f/cross_entropy_bf16_upstream.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_bf16_upstream__sm_100f_end = . - 1
#endif
#if QUERN_SELECTED(sm_100f, cross_entropy_stages)
    .balign 64
    .global quern_image_cross_entropy_stages__sm_100f, quern_image_cross_entropy_stages__sm_100f_end
    .hidden quern_image_cross_entropy_stages__sm_100f, quern_image_cross_entropy_stages__sm_100f_end
quern_image_cross_entropy_stages__sm_100f:
#if QUERN_HAS_NVCC
    .incbin "sm_100f/cross_entropy_stages.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_stages__sm_100f_end = . - 1
#endif
#if QUERN_SELECTED(sm_100f, cross_entropy_f32_full)
    .balign 64
    .global quern_image_cross_entropy_f32_full__sm_100f, quern_image_cross_entropy_f32_full__sm_100f_end
    .hidden quern_image_cross_entropy_f32_full__sm_100f, quern_image_cross_entropy_f32_full__sm_100f_end
quern_image_cross_entropy_f32_full__sm_100f:
#if QUERN_HAS_NVCC
    .incbin "sm_100f/cross_entropy_f32_full.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_f32_full__sm_100f_end = . - 1
#endif
#if QUERN_SELECTED(sm_100f, cross_entropy_f16_full)
    .balign 64
    .global quern_image_cross_entropy_f16_full__sm_100f, quern_image_cross_entropy_f16_full__sm_100f_end
    .hidden quern_image_cross_entropy_f16_full__sm_100f, quern_image_cross_entropy_f16_full__sm_100f_end
quern_image_cross_entropy_f16_full__sm_100f:
#if QUERN_HAS_NVCC
    .incbin "sm_100f/cross_entropy_f16_full.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_f16_full__sm_100f_end = . - 1
#endif
#if QUERN_SELECTED(sm_100f, cross_entropy_bf16_full)
    .balign 64
    .global quern_image_cross_entropy_bf16_full__sm_100f, quern_image_cross_entropy_bf16_full__sm_100f_end
    .hidden quern_image_cross_entropy_bf16_full__sm_100f, quern_image_cross_entropy_bf16_full__sm_100f_end
quern_image_cross_entropy_bf16_full__sm_100f:
#if QUERN_HAS_NVCC
    .incbin "sm_100f/cross_entropy_bf16_full.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_bf16_full__sm_100f_end = . - 1
#endif
#if QUERN_SELECTED(sm_90a, cross_entropy_f32_short)
    .balign 64
    .global quern_image_cross_entropy_f32_short__sm_90a, quern_image_cross_entropy_f32_short__sm_90a_end
    .hidden quern_image_cross_entropy_f32_short__sm_90a, quern_image_cross_entropy_f32_short__sm_90a_end
quern_image_cross_entropy_f32_short__sm_90a:
#if QUERN_HAS_NVCC
    .incbin "sm_90a/cross_entropy_f32_short.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_f32_short__sm_90a_end = . - 1
#endif
#if QUERN_SELECTED(sm_90a, cross_entropy_f16_short)
    .balign 64
    .global quern_image_cross_entropy_f16_short__sm_90a, quern_image_cross_entropy_f16_short__sm_90a_end
    .hidden quern_image_cross_entropy_f16_short__sm_90a, quern_image_cross_entropy_f16_short__sm_90a_end
quern_image_cross_entropy_f16_short__sm_90a:
#if QUERN_HAS_NVCC
    .incbin "sm_90a/cross_entropy_f16_short.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_f16_short__sm_90a_end = . - 1
#endif
#if QUERN_SELECTED(sm_90a, cross_entropy_bf16_short)
    .balign 64
    .global quern_image_cross_entropy_bf16_short__sm_90a, quern_image_cross_entropy_bf16_short__sm_90a_end
    .hidden quern_image_cross_entropy_bf16_short__sm_90a, quern_image_cross_entropy_bf16_short__sm_90a_end
quern_image_cross_entropy_bf16_short__sm_90a:
#if QUERN_HAS_NVCC
    .incbin "sm_90a/cross_entropy_bf16_short.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_bf16_short__sm_90a_end = . - 1
#endif
#if QUERN_SELECTED(sm_90a, cross_entropy_f32_rows)
    .balign 64
    .global quern_image_cross_entropy_f32_rows__sm_90a, quern_image_cross_entropy_f32_rows__sm_90a_end
    .hidden quern_image_cross_entropy_f32_rows__sm_90a, quern_image_cross_entropy_f32_rows__sm_90a_end
quern_image_cross_entropy_f32_rows__sm_90a:
#if QUERN_HAS_NVCC
    .incbin "sm_90a/cross_entropy_f32_rows.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_f32_rows__sm_90a_end = . - 1
#endif
#if QUERN_SELECTED(sm_90a, cross_entropy_f16_rows)
    .balign 64
    .global quern_image_cross_entropy_f16_rows__sm_90a, quern_image_cross_entropy_f16_rows__sm_90a_end
    .hidden quern_image_cross_entropy_f16_rows__sm_90a, quern_image_cross_entropy_f16_rows__sm_90a_end
quern_image_cross_entropy_f16_rows__sm_90a:
#if QUERN_HAS_NVCC
    .incbin "sm_90a/cross_entropy_f16_rows.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_f16_rows__sm_90a_end = . - 1
#endif
#if QUERN_SELECTED(sm_90a, cross_entropy_bf16_rows)
    .balign 64
    .global quern_image_cross_entropy_bf16_rows__sm_90a, quern_image_cross_entropy_bf16_rows__sm_90a_end
    .hidden quern_image_cross_entropy_bf16_rows__sm_90a, quern_image_cross_entropy_bf16_rows__sm_90a_end
quern_image_cross_entropy_bf16_rows__sm_90a:
#if QUERN_HAS_NVCC
    .incbin "sm_90a/cross_entropy_bf16_rows.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_bf16_rows__sm_90a_end = . - 1
#endif
#if QUERN_SELECTED(sm_90a, cross_entropy_f32_streamed)
    .balign 64
    .global quern_image_cross_entropy_f32_streamed__sm_90a, quern_image_cross_entropy_f32_streamed__sm_90a_end
    .hidden quern_image_cross_entropy_f32_streamed__sm_90a, quern_image_cross_entropy_f32_streamed__sm_90a_end
quern_image_cross_entropy_f32_streamed__sm_90a:
#if QUERN_HAS_NVCC
    .incbin "sm_90a/cross_entropy_f32_streamed.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_f32_streamed__sm_90a_end = . - 1
#endif
#if QUERN_SELECTED(sm_90a, cross_entropy_f16_streamed)
    .balign 64
    .global quern_image_cross_entropy_f16_streamed__sm_90a, quern_image_cross_entropy_f16_streamed__sm_90a_end
    .hidden quern_image_cross_entropy_f16_streamed__sm_90a, quern_image_cross_entropy_f16_streamed__sm_90a_end
quern_image_cross_entropy_f16_streamed__sm_90a:
#if QUERN_HAS_NVCC
    .incbin "sm_90a/cross_entropy_f16_streamed.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_f16_streamed__sm_90a_end = . - 1
#endif
#if QUERN_SELECTED(sm_90a, cross_entropy_bf16_streamed)
    .balign 64
    .global quern_image_cross_entropy_bf16_streamed__sm_90a, quern_image_cross_entropy_bf16_streamed__sm_90a_end
    .hidden quern_image_cross_entropy_bf16_streamed__sm_90a, quern_image_cross_entropy_bf16_streamed__sm_90a_end
quern_image_cross_entropy_bf16_streamed__sm_90a:
#if QUERN_HAS_NVCC
    .incbin "sm_90a/cross_entropy_bf16_streamed.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_bf16_streamed__sm_90a_end = . - 1
#endif
#if QUERN_SELECTED(sm_90a, cross_entropy_f32_full_rows)
    .balign 64
    .global quern_image_cross_entropy_f32_full_rows__sm_90a, quern_image_cross_entropy_f32_full_rows__sm_90a_end
    .hidden quern_image_cross_entropy_f32_full_rows__sm_90a, quern_image_cross_entropy_f32_full_rows__sm_90a_end
quern_image_cross_entropy_f32_full_rows__sm_90a:
#if QUERN_HAS_NVCC
    .incbin "sm_90a/cross_entropy_f32_full_rows.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_f32_full_rows__sm_90a_end = . - 1
#endif
#if QUERN_SELECTED(sm_90a, cross_entropy_f16_full_rows)
    .balign 64
    .global quern_image_cross_entropy_f16_full_rows__sm_90a, quern_image_cross_entropy_f16_full_rows__sm_90a_end
    .hidden quern_image_cross_entropy_f16_full_rows__sm_90a, quern_image_cross_entropy_f16_full_rows__sm_90a_end
quern_image_cross_entropy_f16_full_rows__sm_90a:
#if QUERN_HAS_NVCC
    .incbin "sm_90a/cross_entropy_f16_full_rows.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_f16_full_rows__sm_90a_end = . - 1
#endif
#if QUERN_SELECTED(sm_90a, cross_entropy_bf16_full_rows)
    .balign 64
    .global quern_image_cross_entropy_bf16_full_rows__sm_90a, quern_image_cross_entropy_bf16_full_rows__sm_90a_end
    .hidden quern_image_cross_entropy_bf16_full_rows__sm_90a, quern_image_cross_entropy_bf16_full_rows__sm_90a_end
quern_image_cross_entropy_bf16_full_rows__sm_90a:
#if QUERN_HAS_NVCC
    .incbin "sm_90a/cross_entropy_bf16_full_rows.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_bf16_full_rows__sm_90a_end = . - 1
#endif
#if QUERN_SELECTED(sm_90a, cross_entropy_f32)
    .balign 64
    .global quern_image_cross_entropy_f32__sm_90a, quern_image_cross_entropy_f32__sm_90a_end
    .hidden quern_image_cross_entropy_f32__sm_90a, quern_image_cross_entropy_f32__sm_90a_end
quern_image_cross_entropy_f32__sm_90a:
#if QUERN_HAS_NVCC
    .incbin "sm_90a/cross_entropy_f32.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_f32__sm_90a_end = . - 1
#endif
#if QUERN_SELECTED(sm_90a, cross_entropy_f16)
    .balign 64
    .global quern_image_cross_entropy_f16__sm_90a, quern_image_cross_entropy_f16__sm_90a_end
    .hidden quern_image_cross_entropy_f16__sm_90a, quern_image_cross_entropy_f16__sm_90a_end
quern_image_cross_entropy_f16__sm_90a:
#if QUERN_HAS_NVCC
    .incbin "sm_90a/cross_entropy_f16.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_f16__sm_90a_end = . - 1
#endif
#if QUERN_SELECTED(sm_90a, cross_entropy_bf16)
    .balign 64
    .global quern_image_cross_entropy_bf16__sm_90a, quern_image_cross_entropy_bf16__sm_90a_end
    .hidden quern_image_cross_entropy_bf16__sm_90a, quern_image_cross_entropy_bf16__sm_90a_end
quern_image_cross_entropy_bf16__sm_90a:
#if QUERN_HAS_NVCC
    .incbin "sm_90a/cross_entropy_bf16.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_bf16__sm_90a_end = . - 1
#endif
#if QUERN_SELECTED(sm_90a, cross_entropy_f32_upstream)
    .balign 64
    .global quern_image_cross_entropy_f32_upstream__sm_90a, quern_image_cross_entropy_f32_upstream__sm_90a_end
    .hidden quern_image_cross_entropy_f32_upstream__sm_90a, quern_image_cross_entropy_f32_upstream__sm_90a_end
quern_image_cross_entropy_f32_upstream__sm_90a:
#if QUERN_HAS_NVCC
    .incbin "sm_90a/cross_entropy_f32_upstream.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_f32_upstream__sm_90a_end = . - 1
#endif
#if QUERN_SELECTED(sm_90a, cross_entropy_f16_upstream)
    .balign 64
    .global quern_image_cross_entropy_f16_upstream__sm_90a, quern_image_cross_entropy_f16_upstream__sm_90a_end
    .hidden quern_image_cross_entropy_f16_upstream__sm_90a, quern_image_cross_entropy_f16_upstream__sm_90a_end
quern_image_cross_entropy_f16_upstream__sm_90a:
#if QUERN_HAS_NVCC
    .incbin "sm_90a/cross_entropy_f16_upstream.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_f16_upstream__sm_90a_end = . - 1
#endif
#if QUERN_SELECTED(sm_90a, cross_entropy_bf16_upstream)
    .balign 64
    .global quern_image_cross_entropy_bf16_upstream__sm_90a, quern_image_cross_entropy_bf16_upstream__sm_90a_end
    .hidden quern_image_cross_entropy_bf16_upstream__sm_90a, quern_image_cross_entropy_bf16_upstream__sm_90a_end
quern_image_cross_entropy_bf16_upstream__sm_90a:
#if QUERN_HAS_NVCC
    .incbin "sm_90a/cross_entropy_bf16_upstream.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_bf16_upstream__sm_90a_end = . - 1
#endif
#if QUERN_SELECTED(sm_90a, cross_entropy_stages)
    .balign 64
    .global quern_image_cross_entropy_stages__sm_90a, quern_image_cross_entropy_stages__sm_90a_end
    .hidden quern_image_cross_entropy_stages__sm_90a, quern_image_cross_entropy_stages__sm_90a_end
quern_image_cross_entropy_stages__sm_90a:
#if QUERN_HAS_NVCC
    .incbin "sm_90a/cross_entropy_stages.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_stages__sm_90a_end = . - 1
#endif
#if QUERN_SELECTED(sm_90a, cross_entropy_f32_full)
    .balign 64
    .global quern_image_cross_entropy_f32_full__sm_90a, quern_image_cross_entropy_f32_full__sm_90a_end
    .hidden quern_image_cross_entropy_f32_full__sm_90a, quern_image_cross_entropy_f32_full__sm_90a_end
quern_image_cross_entropy_f32_full__sm_90a:
#if QUERN_HAS_NVCC
    .incbin "sm_90a/cross_entropy_f32_full.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_f32_full__sm_90a_end = . - 1
#endif
#if QUERN_SELECTED(sm_90a, cross_entropy_f16_full)
    .balign 64
    .global quern_image_cross_entropy_f16_full__sm_90a, quern_image_cross_entropy_f16_full__sm_90a_end
    .hidden quern_image_cross_entropy_f16_full__sm_90a, quern_image_cross_entropy_f16_full__sm_90a_end
quern_image_cross_entropy_f16_full__sm_90a:
#if QUERN_HAS_NVCC
    .incbin "sm_90a/cross_entropy_f16_full.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_f16_full__sm_90a_end = . - 1
#endif
#if QUERN_SELECTED(sm_90a, cross_entropy_bf16_full)
    .balign 64
    .global quern_image_cross_entropy_bf16_full__sm_90a, quern_image_cross_entropy_bf16_full__sm_90a_end
    .hidden quern_image_cross_entropy_bf16_full__sm_90a, quern_image_cross_entropy_bf16_full__sm_90a_end
quern_image_cross_entropy_bf16_full__sm_90a:
#if QUERN_HAS_NVCC
    .incbin "sm_90a/cross_entropy_bf16_full.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_bf16_full__sm_90a_end = . - 1
#endif
#if QUERN_SELECTED(sm_89, cross_entropy_f32_short)
    .balign 64
    .global quern_image_cross_entropy_f32_short__sm_89, quern_image_cross_entropy_f32_short__sm_89_end
    .hidden quern_image_cross_entropy_f32_short__sm_89, quern_image_cross_entropy_f32_short__sm_89_end
quern_image_cross_entropy_f32_short__sm_89:
#if QUERN_HAS_NVCC
    .incbin "sm_89/cross_entropy_f32_short.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_f32_short__sm_89_end = . - 1
#endif
#if QUERN_SELECTED(sm_89, cross_entropy_f16_short)
    .balign 64
    .global quern_image_cross_entropy_f16_short__sm_89, quern_image_cross_entropy_f16_short__sm_89_end
    .hidden quern_image_cross_entropy_f16_short__sm_89, quern_image_cross_entropy_f16_short__sm_89_end
quern_image_cross_entropy_f16_short__sm_89:
#if QUERN_HAS_NVCC
    .incbin "sm_89/cross_entropy_f16_short.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_f16_short__sm_89_end = . - 1
#endif
#if QUERN_SELECTED(sm_89, cross_entropy_bf16_short)
    .balign 64
    .global quern_image_cross_entropy_bf16_short__sm_89, quern_image_cross_entropy_bf16_short__sm_89_end
    .hidden quern_image_cross_entropy_bf16_short__sm_89, quern_image_cross_entropy_bf16_short__sm_89_end
quern_image_cross_entropy_bf16_short__sm_89:
#if QUERN_HAS_NVCC
    .incbin "sm_89/cross_entropy_bf16_short.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_bf16_short__sm_89_end = . - 1
#endif
#if QUERN_SELECTED(sm_89, cross_entropy_f32_rows)
    .balign 64
    .global quern_image_cross_entropy_f32_rows__sm_89, quern_image_cross_entropy_f32_rows__sm_89_end
    .hidden quern_image_cross_entropy_f32_rows__sm_89, quern_image_cross_entropy_f32_rows__sm_89_end
quern_image_cross_entropy_f32_rows__sm_89:
#if QUERN_HAS_NVCC
    .incbin "sm_89/cross_entropy_f32_rows.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_f32_rows__sm_89_end = . - 1
#endif
#if QUERN_SELECTED(sm_89, cross_entropy_f16_rows)
    .balign 64
    .global quern_image_cross_entropy_f16_rows__sm_89, quern_image_cross_entropy_f16_rows__sm_89_end
    .hidden quern_image_cross_entropy_f16_rows__sm_89, quern_image_cross_entropy_f16_rows__sm_89_end
quern_image_cross_entropy_f16_rows__sm_89:
#if QUERN_HAS_NVCC
    .incbin "sm_89/cross_entropy_f16_rows.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_f16_rows__sm_89_end = . - 1
#endif
#if QUERN_SELECTED(sm_89, cross_entropy_bf16_rows)
    .balign 64
    .global quern_image_cross_entropy_bf16_rows__sm_89, quern_image_cross_entropy_bf16_rows__sm_89_end
    .hidden quern_image_cross_entropy_bf16_rows__sm_89, quern_image_cross_entropy_bf16_rows__sm_89_end
quern_image_cross_entropy_bf16_rows__sm_89:
#if QUERN_HAS_NVCC
    .incbin "sm_89/cross_entropy_bf16_rows.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_bf16_rows__sm_89_end = . - 1
#endif
#if QUERN_SELECTED(sm_89, cross_entropy_f32_streamed)
    .balign 64
    .global quern_image_cross_entropy_f32_streamed__sm_89, quern_image_cross_entropy_f32_streamed__sm_89_end
    .hidden quern_image_cross_entropy_f32_streamed__sm_89, quern_image_cross_entropy_f32_streamed__sm_89_end
quern_image_cross_entropy_f32_streamed__sm_89:
#if QUERN_HAS_NVCC
    .incbin "sm_89/cross_entropy_f32_streamed.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_f32_streamed__sm_89_end = . - 1
#endif
#if QUERN_SELECTED(sm_89, cross_entropy_f16_streamed)
    .balign 64
    .global quern_image_cross_entropy_f16_streamed__sm_89, quern_image_cross_entropy_f16_streamed__sm_89_end
    .hidden quern_image_cross_entropy_f16_streamed__sm_89, quern_image_cross_entropy_f16_streamed__sm_89_end
quern_image_cross_entropy_f16_streamed__sm_89:
#if QUERN_HAS_NVCC
    .incbin "sm_89/cross_entropy_f16_streamed.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_f16_streamed__sm_89_end = . - 1
#endif
#if QUERN_SELECTED(sm_89, cross_entropy_bf16_streamed)
    .balign 64
    .global quern_image_cross_entropy_bf16_streamed__sm_89, quern_image_cross_entropy_bf16_streamed__sm_89_end
    .hidden quern_image_cross_entropy_bf16_streamed__sm_89, quern_image_cross_entropy_bf16_streamed__sm_89_end
quern_image_cross_entropy_bf16_streamed__sm_89:
#if QUERN_HAS_NVCC
    .incbin "sm_89/cross_entropy_bf16_streamed.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_bf16_streamed__sm_89_end = . - 1
#endif
#if QUERN_SELECTED(sm_89, cross_entropy_f32_full_rows)
    .balign 64
    .global quern_image_cross_entropy_f32_full_rows__sm_89, quern_image_cross_entropy_f32_full_rows__sm_89_end
    .hidden quern_image_cross_entropy_f32_full_rows__sm_89, quern_image_cross_entropy_f32_full_rows__sm_89_end
quern_image_cross_entropy_f32_full_rows__sm_89:
#if QUERN_HAS_NVCC
    .incbin "sm_89/cross_entropy_f32_full_rows.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_f32_full_rows__sm_89_end = . - 1
#endif
#if QUERN_SELECTED(sm_89, cross_entropy_f16_full_rows)
    .balign 64
    .global quern_image_cross_entropy_f16_full_rows__sm_89, quern_image_cross_entropy_f16_full_rows__sm_89_end
    .hidden quern_image_cross_entropy_f16_full_rows__sm_89, quern_image_cross_entropy_f16_full_rows__sm_89_end
quern_image_cross_entropy_f16_full_rows__sm_89:
#if QUERN_HAS_NVCC
    .incbin "sm_89/cross_entropy_f16_full_rows.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_f16_full_rows__sm_89_end = . - 1
#endif
#if QUERN_SELECTED(sm_89, cross_entropy_bf16_full_rows)
    .balign 64
    .global quern_image_cross_entropy_bf16_full_rows__sm_89, quern_image_cross_entropy_bf16_full_rows__sm_89_end
    .hidden quern_image_cross_entropy_bf16_full_rows__sm_89, quern_image_cross_entropy_bf16_full_rows__sm_89_end
quern_image_cross_entropy_bf16_full_rows__sm_89:
#if QUERN_HAS_NVCC
    .incbin "sm_89/cross_entropy_bf16_full_rows.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_bf16_full_rows__sm_89_end = . - 1
#endif
#if QUERN_SELECTED(sm_89, cross_entropy_f32)
    .balign 64
    .global quern_image_cross_entropy_f32__sm_89, quern_image_cross_entropy_f32__sm_89_end
    .hidden quern_image_cross_entropy_f32__sm_89, quern_image_cross_entropy_f32__sm_89_end
quern_image_cross_entropy_f32__sm_89:
#if QUERN_HAS_NVCC
    .incbin "sm_89/cross_entropy_f32.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_f32__sm_89_end = . - 1
#endif
#if QUERN_SELECTED(sm_89, cross_entropy_f16)
    .balign 64
    .global quern_image_cross_entropy_f16__sm_89, quern_image_cross_entropy_f16__sm_89_end
    .hidden quern_image_cross_entropy_f16__sm_89, quern_image_cross_entropy_f16__sm_89_end
quern_image_cross_entropy_f16__sm_89:
#if QUERN_HAS_NVCC
    .incbin "sm_89/cross_entropy_f16.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_f16__sm_89_end = . - 1
#endif
#if QUERN_SELECTED(sm_89, cross_entropy_bf16)
    .balign 64
    .global quern_image_cross_entropy_bf16__sm_89, quern_image_cross_entropy_bf16__sm_89_end
    .hidden quern_image_cross_entropy_bf16__sm_89, quern_image_cross_entropy_bf16__sm_89_end
quern_image_cross_entropy_bf16__sm_89:
#if QUERN_HAS_NVCC
    .incbin "sm_89/cross_entropy_bf16.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_bf16__sm_89_end = . - 1
#endif
#if QUERN_SELECTED(sm_89, cross_entropy_f32_upstream)
    .balign 64
    .global quern_image_cross_entropy_f32_upstream__sm_89, quern_image_cross_entropy_f32_upstream__sm_89_end
    .hidden quern_image_cross_entropy_f32_upstream__sm_89, quern_image_cross_entropy_f32_upstream__sm_89_end
quern_image_cross_entropy_f32_upstream__sm_89:
#if QUERN_HAS_NVCC
    .incbin "sm_89/cross_entropy_f32_upstream.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_f32_upstream__sm_89_end = . - 1
#endif
#if QUERN_SELECTED(sm_89, cross_entropy_f16_upstream)
    .balign 64
    .global quern_image_cross_entropy_f16_upstream__sm_89, quern_image_cross_entropy_f16_upstream__sm_89_end
    .hidden quern_image_cross_entropy_f16_upstream__sm_89, quern_image_cross_entropy_f16_upstream__sm_89_end
quern_image_cross_entropy_f16_upstream__sm_89:
#if QUERN_HAS_NVCC
    .incbin "sm_89/cross_entropy_f16_upstream.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_f16_upstream__sm_89_end = . - 1
#endif
#if QUERN_SELECTED(sm_89, cross_entropy_bf16_upstream)
    .balign 64
    .global quern_image_cross_entropy_bf16_upstream__sm_89, quern_image_cross_entropy_bf16_upstream__sm_89_end
    .hidden quern_image_cross_entropy_bf16_upstream__sm_89, quern_image_cross_entropy_bf16_upstream__sm_89_end
quern_image_cross_entropy_bf16_upstream__sm_89:
#if QUERN_HAS_NVCC
    .incbin "sm_89/cross_entropy_bf16_upstream.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_bf16_upstream__sm_89_end = . - 1
#endif
#if QUERN_SELECTED(sm_89, cross_entropy_stages)
    .balign 64
    .global quern_image_cross_entropy_stages__sm_89, quern_image_cross_entropy_stages__sm_89_end
    .hidden quern_image_cross_entropy_stages__sm_89, quern_image_cross_entropy_stages__sm_89_end
quern_image_cross_entropy_stages__sm_89:
#if QUERN_HAS_NVCC
    .incbin "sm_89/cross_entropy_stages.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_stages__sm_89_end = . - 1
#endif
#if QUERN_SELECTED(sm_89, cross_entropy_f32_full)
    .balign 64
    .global quern_image_cross_entropy_f32_full__sm_89, quern_image_cross_entropy_f32_full__sm_89_end
    .hidden quern_image_cross_entropy_f32_full__sm_89, quern_image_cross_entropy_f32_full__sm_89_end
quern_image_cross_entropy_f32_full__sm_89:
#if QUERN_HAS_NVCC
    .incbin "sm_89/cross_entropy_f32_full.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_f32_full__sm_89_end = . - 1
#endif
#if QUERN_SELECTED(sm_89, cross_entropy_f16_full)
    .balign 64
    .global quern_image_cross_entropy_f16_full__sm_89, quern_image_cross_entropy_f16_full__sm_89_end
    .hidden quern_image_cross_entropy_f16_full__sm_89, quern_image_cross_entropy_f16_full__sm_89_end
quern_image_cross_entropy_f16_full__sm_89:
#if QUERN_HAS_NVCC
    .incbin "sm_89/cross_entropy_f16_full.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_f16_full__sm_89_end = . - 1
#endif
#if QUERN_SELECTED(sm_89, cross_entropy_bf16_full)
    .balign 64
    .global quern_image_cross_entropy_bf16_full__sm_89, quern_image_cross_entropy_bf16_full__sm_89_end
    .hidden quern_image_cross_entropy_bf16_full__sm_89, quern_image_cross_entropy_bf16_full__sm_89_end
quern_image_cross_entropy_bf16_full__sm_89:
#if QUERN_HAS_NVCC
    .incbin "sm_89/cross_entropy_bf16_full.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_bf16_full__sm_89_end = . - 1
#endif
#if QUERN_SELECTED(sm_86, cross_entropy_f32_short)
    .balign 64
    .global quern_image_cross_entropy_f32_short__sm_86, quern_image_cross_entropy_f32_short__sm_86_end
    .hidden quern_image_cross_entropy_f32_short__sm_86, quern_image_cross_entropy_f32_short__sm_86_end
quern_image_cross_entropy_f32_short__sm_86:
#if QUERN_HAS_NVCC
    .incbin "sm_86/cross_entropy_f32_short.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_f32_short__sm_86_end = . - 1
#endif
#if QUERN_SELECTED(sm_86, cross_entropy_f16_short)
    .balign 64
    .global quern_image_cross_entropy_f16_short__sm_86, quern_image_cross_entropy_f16_short__sm_86_end
    .hidden quern_image_cross_entropy_f16_short__sm_86, quern_image_cross_entropy_f16_short__sm_86_end
quern_image_cross_entropy_f16_short__sm_86:
#if QUERN_HAS_NVCC
    .incbin "sm_86/cross_entropy_f16_short.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_f16_short__sm_86_end = . - 1
#endif
#if QUERN_SELECTED(sm_86, cross_entropy_bf16_short)
    .balign 64
    .global quern_image_cross_entropy_bf16_short__sm_86, quern_image_cross_entropy_bf16_short__sm_86_end
    .hidden quern_image_cross_entropy_bf16_short__sm_86, quern_image_cross_entropy_bf16_short__sm_86_end
quern_image_cross_entropy_bf16_short__sm_86:
#if QUERN_HAS_NVCC
    .incbin "sm_86/cross_entropy_bf16_short.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_bf16_short__sm_86_end = . - 1
#endif
#if QUERN_SELECTED(sm_86, cross_entropy_f32_rows)
    .balign 64
    .global quern_image_cross_entropy_f32_rows__sm_86, quern_image_cross_entropy_f32_rows__sm_86_end
    .hidden quern_image_cross_entropy_f32_rows__sm_86, quern_image_cross_entropy_f32_rows__sm_86_end
quern_image_cross_entropy_f32_rows__sm_86:
#if QUERN_HAS_NVCC
    .incbin "sm_86/cross_entropy_f32_rows.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_f32_rows__sm_86_end = . - 1
#endif
#if QUERN_SELECTED(sm_86, cross_entropy_f16_rows)
    .balign 64
    .global quern_image_cross_entropy_f16_rows__sm_86, quern_image_cross_entropy_f16_rows__sm_86_end
    .hidden quern_image_cross_entropy_f16_rows__sm_86, quern_image_cross_entropy_f16_rows__sm_86_end
quern_image_cross_entropy_f16_rows__sm_86:
#if QUERN_HAS_NVCC
    .incbin "sm_86/cross_entropy_f16_rows.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_f16_rows__sm_86_end = . - 1
#endif
#if QUERN_SELECTED(sm_86, cross_entropy_bf16_rows)
    .balign 64
    .global quern_image_cross_entropy_bf16_rows__sm_86, quern_image_cross_entropy_bf16_rows__sm_86_end
    .hidden quern_image_cross_entropy_bf16_rows__sm_86, quern_image_cross_entropy_bf16_rows__sm_86_end
quern_image_cross_entropy_bf16_rows__sm_86:
#if QUERN_HAS_NVCC
    .incbin "sm_86/cross_entropy_bf16_rows.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_bf16_rows__sm_86_end = . - 1
#endif
#if QUERN_SELECTED(sm_86, cross_entropy_f32_streamed)
    .balign 64
    .global quern_image_cross_entropy_f32_streamed__sm_86, quern_image_cross_entropy_f32_streamed__sm_86_end
    .hidden quern_image_cross_entropy_f32_streamed__sm_86, quern_image_cross_entropy_f32_streamed__sm_86_end
quern_image_cross_entropy_f32_streamed__sm_86:
#if QUERN_HAS_NVCC
    .incbin "sm_86/cross_entropy_f32_streamed.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_f32_streamed__sm_86_end = . - 1
#endif
#if QUERN_SELECTED(sm_86, cross_entropy_f16_streamed)
    .balign 64
    .global quern_image_cross_entropy_f16_streamed__sm_86, quern_image_cross_entropy_f16_streamed__sm_86_end
    .hidden quern_image_cross_entropy_f16_streamed__sm_86, quern_image_cross_entropy_f16_streamed__sm_86_end
quern_image_cross_entropy_f16_streamed__sm_86:
#if QUERN_HAS_NVCC
    .incbin "sm_86/cross_entropy_f16_streamed.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_f16_streamed__sm_86_end = . - 1
#endif
#if QUERN_SELECTED(sm_86, cross_entropy_bf16_streamed)
    .balign 64
    .global quern_image_cross_entropy_bf16_streamed__sm_86, quern_image_cross_entropy_bf16_streamed__sm_86_end
    .hidden quern_image_cross_entropy_bf16_streamed__sm_86, quern_image_cross_entropy_bf16_streamed__sm_86_end
quern_image_cross_entropy_bf16_streamed__sm_86:
#if QUERN_HAS_NVCC
    .incbin "sm_86/cross_entropy_bf16_streamed.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_bf16_streamed__sm_86_end = . - 1
#endif
#if QUERN_SELECTED(sm_86, cross_entropy_f32_full_rows)
    .balign 64
    .global quern_image_cross_entropy_f32_full_rows__sm_86, quern_image_cross_entropy_f32_full_rows__sm_86_end
    .hidden quern_image_cross_entropy_f32_full_rows__sm_86, quern_image_cross_entropy_f32_full_rows__sm_86_end
quern_image_cross_entropy_f32_full_rows__sm_86:
#if QUERN_HAS_NVCC
    .incbin "sm_86/cross_entropy_f32_full_rows.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_f32_full_rows__sm_86_end = . - 1
#endif
#if QUERN_SELECTED(sm_86, cross_entropy_f16_full_rows)
    .balign 64
    .global quern_image_cross_entropy_f16_full_rows__sm_86, quern_image_cross_entropy_f16_full_rows__sm_86_end
    .hidden quern_image_cross_entropy_f16_full_rows__sm_86, quern_image_cross_entropy_f16_full_rows__sm_86_end
quern_image_cross_entropy_f16_full_rows__sm_86:
#if QUERN_HAS_NVCC
    .incbin "sm_86/cross_entropy_f16_full_rows.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_f16_full_rows__sm_86_end = . - 1
#endif
#if QUERN_SELECTED(sm_86, cross_entropy_bf16_full_rows)
    .balign 64
    .global quern_image_cross_entropy_bf16_full_rows__sm_86, quern_image_cross_entropy_bf16_full_rows__sm_86_end
    .hidden quern_image_cross_entropy_bf16_full_rows__sm_86, quern_image_cross_entropy_bf16_full_rows__sm_86_end
quern_image_cross_entropy_bf16_full_rows__sm_86:
#if QUERN_HAS_NVCC
    .incbin "sm_86/cross_entropy_bf16_full_rows.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_bf16_full_rows__sm_86_end = . - 1
#endif
#if QUERN_SELECTED(sm_86, cross_entropy_f32)
    .balign 64
    .global quern_image_cross_entropy_f32__sm_86, quern_image_cross_entropy_f32__sm_86_end
    .hidden quern_image_cross_entropy_f32__sm_86, quern_image_cross_entropy_f32__sm_86_end
quern_image_cross_entropy_f32__sm_86:
#if QUERN_HAS_NVCC
    .incbin "sm_86/cross_entropy_f32.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_f32__sm_86_end = . - 1
#endif
#if QUERN_SELECTED(sm_86, cross_entropy_f16)
    .balign 64
    .global quern_image_cross_entropy_f16__sm_86, quern_image_cross_entropy_f16__sm_86_end
    .hidden quern_image_cross_entropy_f16__sm_86, quern_image_cross_entropy_f16__sm_86_end
quern_image_cross_entropy_f16__sm_86:
#if QUERN_HAS_NVCC
    .incbin "sm_86/cross_entropy_f16.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_f16__sm_86_end = . - 1
#endif
#if QUERN_SELECTED(sm_86, cross_entropy_bf16)
    .balign 64
    .global quern_image_cross_entropy_bf16__sm_86, quern_image_cross_entropy_bf16__sm_86_end
    .hidden quern_image_cross_entropy_bf16__sm_86, quern_image_cross_entropy_bf16__sm_86_end
quern_image_cross_entropy_bf16__sm_86:
#if QUERN_HAS_NVCC
    .incbin "sm_86/cross_entropy_bf16.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_bf16__sm_86_end = . - 1
#endif
#if QUERN_SELECTED(sm_86, cross_entropy_f32_upstream)
    .balign 64
    .global quern_image_cross_entropy_f32_upstream__sm_86, quern_image_cross_entropy_f32_upstream__sm_86_end
    .hidden quern_image_cross_entropy_f32_upstream__sm_86, quern_image_cross_entropy_f32_upstream__sm_86_end
quern_image_cross_entropy_f32_upstream__sm_86:
#if QUERN_HAS_NVCC
    .incbin "sm_86/cross_entropy_f32_upstream.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_f32_upstream__sm_86_end = . - 1
#endif
#if QUERN_SELECTED(sm_86, cross_entropy_f16_upstream)
    .balign 64
    .global quern_image_cross_entropy_f16_upstream__sm_86, quern_image_cross_entropy_f16_upstream__sm_86_end
    .hidden quern_image_cross_entropy_f16_upstream__sm_86, quern_image_cross_entropy_f16_upstream__sm_86_end
quern_image_cross_entropy_f16_upstream__sm_86:
#if QUERN_HAS_NVCC
    .incbin "sm_86/cross_entropy_f16_upstream.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_f16_upstream__sm_86_end = . - 1
#endif
#if QUERN_SELECTED(sm_86, cross_entropy_bf16_upstream)
    .balign 64
    .global quern_image_cross_entropy_bf16_upstream__sm_86, quern_image_cross_entropy_bf16_upstream__sm_86_end
    .hidden quern_image_cross_entropy_bf16_upstream__sm_86, quern_image_cross_entropy_bf16_upstream__sm_86_end
quern_image_cross_entropy_bf16_upstream__sm_86:
#if QUERN_HAS_NVCC
    .incbin "sm_86/cross_entropy_bf16_upstream.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_bf16_upstream__sm_86_end = . - 1
#endif
#if QUERN_SELECTED(sm_86, cross_entropy_stages)
    .balign 64
    .global quern_image_cross_entropy_stages__sm_86, quern_image_cross_entropy_stages__sm_86_end
    .hidden quern_image_cross_entropy_stages__sm_86, quern_image_cross_entropy_stages__sm_86_end
quern_image_cross_entropy_stages__sm_86:
#if QUERN_HAS_NVCC
    .incbin "sm_86/cross_entropy_stages.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_stages__sm_86_end = . - 1
#endif
#if QUERN_SELECTED(sm_86, cross_entropy_f32_full)
    .balign 64
    .global quern_image_cross_entropy_f32_full__sm_86, quern_image_cross_entropy_f32_full__sm_86_end
    .hidden quern_image_cross_entropy_f32_full__sm_86, quern_image_cross_entropy_f32_full__sm_86_end
quern_image_cross_entropy_f32_full__sm_86:
#if QUERN_HAS_NVCC
    .incbin "sm_86/cross_entropy_f32_full.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_f32_full__sm_86_end = . - 1
#endif
#if QUERN_SELECTED(sm_86, cross_entropy_f16_full)
    .balign 64
    .global quern_image_cross_entropy_f16_full__sm_86, quern_image_cross_entropy_f16_full__sm_86_end
    .hidden quern_image_cross_entropy_f16_full__sm_86, quern_image_cross_entropy_f16_full__sm_86_end
quern_image_cross_entropy_f16_full__sm_86:
#if QUERN_HAS_NVCC
    .incbin "sm_86/cross_entropy_f16_full.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_f16_full__sm_86_end = . - 1
#endif
#if QUERN_SELECTED(sm_86, cross_entropy_bf16_full)
    .balign 64
    .global quern_image_cross_entropy_bf16_full__sm_86, quern_image_cross_entropy_bf16_full__sm_86_end
    .hidden quern_image_cross_entropy_bf16_full__sm_86, quern_image_cross_entropy_bf16_full__sm_86_end
quern_image_cross_entropy_bf16_full__sm_86:
#if QUERN_HAS_NVCC
    .incbin "sm_86/cross_entropy_bf16_full.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_bf16_full__sm_86_end = . - 1
#endif
#if QUERN_SELECTED(sm_80, cross_entropy_f32_short)
    .balign 64
    .global quern_image_cross_entropy_f32_short__sm_80, quern_image_cross_entropy_f32_short__sm_80_end
    .hidden quern_image_cross_entropy_f32_short__sm_80, quern_image_cross_entropy_f32_short__sm_80_end
quern_image_cross_entropy_f32_short__sm_80:
#if QUERN_HAS_NVCC
    .incbin "sm_80/cross_entropy_f32_short.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_f32_short__sm_80_end = . - 1
#endif
#if QUERN_SELECTED(sm_80, cross_entropy_f16_short)
    .balign 64
    .global quern_image_cross_entropy_f16_short__sm_80, quern_image_cross_entropy_f16_short__sm_80_end
    .hidden quern_image_cross_entropy_f16_short__sm_80, quern_image_cross_entropy_f16_short__sm_80_end
quern_image_cross_entropy_f16_short__sm_80:
#if QUERN_HAS_NVCC
    .incbin "sm_80/cross_entropy_f16_short.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_f16_short__sm_80_end = . - 1
#endif
#if QUERN_SELECTED(sm_80, cross_entropy_bf16_short)
    .balign 64
    .global quern_image_cross_entropy_bf16_short__sm_80, quern_image_cross_entropy_bf16_short__sm_80_end
    .hidden quern_image_cross_entropy_bf16_short__sm_80, quern_image_cross_entropy_bf16_short__sm_80_end
quern_image_cross_entropy_bf16_short__sm_80:
#if QUERN_HAS_NVCC
    .incbin "sm_80/cross_entropy_bf16_short.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_bf16_short__sm_80_end = . - 1
#endif
#if QUERN_SELECTED(sm_80, cross_entropy_f32_rows)
    .balign 64
    .global quern_image_cross_entropy_f32_rows__sm_80, quern_image_cross_entropy_f32_rows__sm_80_end
    .hidden quern_image_cross_entropy_f32_rows__sm_80, quern_image_cross_entropy_f32_rows__sm_80_end
quern_image_cross_entropy_f32_rows__sm_80:
#if QUERN_HAS_NVCC
    .incbin "sm_80/cross_entropy_f32_rows.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_f32_rows__sm_80_end = . - 1
#endif
#if QUERN_SELECTED(sm_80, cross_entropy_f16_rows)
    .balign 64
    .global quern_image_cross_entropy_f16_rows__sm_80, quern_image_cross_entropy_f16_rows__sm_80_end
    .hidden quern_image_cross_entropy_f16_rows__sm_80, quern_image_cross_entropy_f16_rows__sm_80_end
quern_image_cross_entropy_f16_rows__sm_80:
#if QUERN_HAS_NVCC
    .incbin "sm_80/cross_entropy_f16_rows.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_f16_rows__sm_80_end = . - 1
#endif
#if QUERN_SELECTED(sm_80, cross_entropy_bf16_rows)
    .balign 64
    .global quern_image_cross_entropy_bf16_rows__sm_80, quern_image_cross_entropy_bf16_rows__sm_80_end
    .hidden quern_image_cross_entropy_bf16_rows__sm_80, quern_image_cross_entropy_bf16_rows__sm_80_end
quern_image_cross_entropy_bf16_rows__sm_80:
#if QUERN_HAS_NVCC
    .incbin "sm_80/cross_entropy_bf16_rows.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_bf16_rows__sm_80_end = . - 1
#endif
#if QUERN_SELECTED(sm_80, cross_entropy_f32_streamed)
    .balign 64
    .global quern_image_cross_entropy_f32_streamed__sm_80, quern_image_cross_entropy_f32_streamed__sm_80_end
    .hidden quern_image_cross_entropy_f32_streamed__sm_80, quern_image_cross_entropy_f32_streamed__sm_80_end
quern_image_cross_entropy_f32_streamed__sm_80:
#if QUERN_HAS_NVCC
    .incbin "sm_80/cross_entropy_f32_streamed.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_f32_streamed__sm_80_end = . - 1
#endif
#if QUERN_SELECTED(sm_80, cross_entropy_f16_streamed)
    .balign 64
    .global quern_image_cross_entropy_f16_streamed__sm_80, quern_image_cross_entropy_f16_streamed__sm_80_end
    .hidden quern_image_cross_entropy_f16_streamed__sm_80, quern_image_cross_entropy_f16_streamed__sm_80_end
quern_image_cross_entropy_f16_streamed__sm_80:
#if QUERN_HAS_NVCC
    .incbin "sm_80/cross_entropy_f16_streamed.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_f16_streamed__sm_80_end = . - 1
#endif
#if QUERN_SELECTED(sm_80, cross_entropy_bf16_streamed)
    .balign 64
    .global quern_image_cross_entropy_bf16_streamed__sm_80, quern_image_cross_entropy_bf16_streamed__sm_80_end
    .hidden quern_image_cross_entropy_bf16_streamed__sm_80, quern_image_cross_entropy_bf16_streamed__sm_80_end
quern_image_cross_entropy_bf16_streamed__sm_80:
#if QUERN_HAS_NVCC
    .incbin "sm_80/cross_entropy_bf16_streamed.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_bf16_streamed__sm_80_end = . - 1
#endif
#if QUERN_SELECTED(sm_80, cross_entropy_f32_full_rows)
    .balign 64
    .global quern_image_cross_entropy_f32_full_rows__sm_80, quern_image_cross_entropy_f32_full_rows__sm_80_end
    .hidden quern_image_cross_entropy_f32_full_rows__sm_80, quern_image_cross_entropy_f32_full_rows__sm_80_end
quern_image_cross_entropy_f32_full_rows__sm_80:
#if QUERN_HAS_NVCC
    .incbin "sm_80/cross_entropy_f32_full_rows.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_f32_full_rows__sm_80_end = . - 1
#endif
#if QUERN_SELECTED(sm_80, cross_entropy_f16_full_rows)
    .balign 64
    .global quern_image_cross_entropy_f16_full_rows__sm_80, quern_image_cross_entropy_f16_full_rows__sm_80_end
    .hidden quern_image_cross_entropy_f16_full_rows__sm_80, quern_image_cross_entropy_f16_full_rows__sm_80_end
quern_image_cross_entropy_f16_full_rows__sm_80:
#if QUERN_HAS_NVCC
    .incbin "sm_80/cross_entropy_f16_full_rows.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_f16_full_rows__sm_80_end = . - 1
#endif
#if QUERN_SELECTED(sm_80, cross_entropy_bf16_full_rows)
    .balign 64
    .global quern_image_cross_entropy_bf16_full_rows__sm_80, quern_image_cross_entropy_bf16_full_rows__sm_80_end
    .hidden quern_image_cross_entropy_bf16_full_rows__sm_80, quern_image_cross_entropy_bf16_full_rows__sm_80_end
quern_image_cross_entropy_bf16_full_rows__sm_80:
#if QUERN_HAS_NVCC
    .incbin "sm_80/cross_entropy_bf16_full_rows.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_bf16_full_rows__sm_80_end = . - 1
#endif
#if QUERN_SELECTED(sm_80, cross_entropy_f32)
    .balign 64
    .global quern_image_cross_entropy_f32__sm_80, quern_image_cross_entropy_f32__sm_80_end
    .hidden quern_image_cross_entropy_f32__sm_80, quern_image_cross_entropy_f32__sm_80_end
quern_image_cross_entropy_f32__sm_80:
#if QUERN_HAS_NVCC
    .incbin "sm_80/cross_entropy_f32.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_f32__sm_80_end = . - 1
#endif
#if QUERN_SELECTED(sm_80, cross_entropy_f16)
    .balign 64
    .global quern_image_cross_entropy_f16__sm_80, quern_image_cross_entropy_f16__sm_80_end
    .hidden quern_image_cross_entropy_f16__sm_80, quern_image_cross_entropy_f16__sm_80_end
quern_image_cross_entropy_f16__sm_80:
#if QUERN_HAS_NVCC
    .incbin "sm_80/cross_entropy_f16.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_f16__sm_80_end = . - 1
#endif
#if QUERN_SELECTED(sm_80, cross_entropy_bf16)
    .balign 64
    .global quern_image_cross_entropy_bf16__sm_80, quern_image_cross_entropy_bf16__sm_80_end
    .hidden quern_image_cross_entropy_bf16__sm_80, quern_image_cross_entropy_bf16__sm_80_end
quern_image_cross_entropy_bf16__sm_80:
#if QUERN_HAS_NVCC
    .incbin "sm_80/cross_entropy_bf16.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_bf16__sm_80_end = . - 1
#endif
#if QUERN_SELECTED(sm_80, cross_entropy_f32_upstream)
    .balign 64
    .global quern_image_cross_entropy_f32_upstream__sm_80, quern_image_cross_entropy_f32_upstream__sm_80_end
    .hidden quern_image_cross_entropy_f32_upstream__sm_80, quern_image_cross_entropy_f32_upstream__sm_80_end
quern_image_cross_entropy_f32_upstream__sm_80:
#if QUERN_HAS_NVCC
    .incbin "sm_80/cross_entropy_f32_upstream.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_f32_upstream__sm_80_end = . - 1
#endif
#if QUERN_SELECTED(sm_80, cross_entropy_f16_upstream)
    .balign 64
    .global quern_image_cross_entropy_f16_upstream__sm_80, quern_image_cross_entropy_f16_upstream__sm_80_end
    .hidden quern_image_cross_entropy_f16_upstream__sm_80, quern_image_cross_entropy_f16_upstream__sm_80_end
quern_image_cross_entropy_f16_upstream__sm_80:
#if QUERN_HAS_NVCC
    .incbin "sm_80/cross_entropy_f16_upstream.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_f16_upstream__sm_80_end = . - 1
#endif
#if QUERN_SELECTED(sm_80, cross_entropy_bf16_upstream)
    .balign 64
    .global quern_image_cross_entropy_bf16_upstream__sm_80, quern_image_cross_entropy_bf16_upstream__sm_80_end
    .hidden quern_image_cross_entropy_bf16_upstream__sm_80, quern_image_cross_entropy_bf16_upstream__sm_80_end
quern_image_cross_entropy_bf16_upstream__sm_80:
#if QUERN_HAS_NVCC
    .incbin "sm_80/cross_entropy_bf16_upstream.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_bf16_upstream__sm_80_end = . - 1
#endif
#if QUERN_SELECTED(sm_80, cross_entropy_stages)
    .balign 64
    .global quern_image_cross_entropy_stages__sm_80, quern_image_cross_entropy_stages__sm_80_end
    .hidden quern_image_cross_entropy_stages__sm_80, quern_image_cross_entropy_stages__sm_80_end
quern_image_cross_entropy_stages__sm_80:
#if QUERN_HAS_NVCC
    .incbin "sm_80/cross_entropy_stages.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_stages__sm_80_end = . - 1
#endif
#if QUERN_SELECTED(sm_80, cross_entropy_f32_full)
    .balign 64
    .global quern_image_cross_entropy_f32_full__sm_80, quern_image_cross_entropy_f32_full__sm_80_end
    .hidden quern_image_cross_entropy_f32_full__sm_80, quern_image_cross_entropy_f32_full__sm_80_end
quern_image_cross_entropy_f32_full__sm_80:
#if QUERN_HAS_NVCC
    .incbin "sm_80/cross_entropy_f32_full.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_f32_full__sm_80_end = . - 1
#endif
#if QUERN_SELECTED(sm_80, cross_entropy_f16_full)
    .balign 64
    .global quern_image_cross_entropy_f16_full__sm_80, quern_image_cross_entropy_f16_full__sm_80_end
    .hidden quern_image_cross_entropy_f16_full__sm_80, quern_image_cross_entropy_f16_full__sm_80_end
quern_image_cross_entropy_f16_full__sm_80:
#if QUERN_HAS_NVCC
    .incbin "sm_80/cross_entropy_f16_full.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_f16_full__sm_80_end = . - 1
#endif
#if QUERN_SELECTED(sm_80, cross_entropy_bf16_full)
    .balign 64
    .global quern_image_cross_entropy_bf16_full__sm_80, quern_image_cross_entropy_bf16_full__sm_80_end
    .hidden quern_image_cross_entropy_bf16_full__sm_80, quern_image_cross_entropy_bf16_full__sm_80_end
quern_image_cross_entropy_bf16_full__sm_80:
#if QUERN_HAS_NVCC
    .incbin "sm_80/cross_entropy_bf16_full.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_bf16_full__sm_80_end = . - 1
#endif
#if QUERN_SELECTED(sm_75, cross_entropy_f32_short)
    .balign 64
    .global quern_image_cross_entropy_f32_short__sm_75, quern_image_cross_entropy_f32_short__sm_75_end
    .hidden quern_image_cross_entropy_f32_short__sm_75, quern_image_cross_entropy_f32_short__sm_75_end
quern_image_cross_entropy_f32_short__sm_75:
#if QUERN_HAS_NVCC
    .incbin "sm_75/cross_entropy_f32_short.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_f32_short__sm_75_end = . - 1
#endif
#if QUERN_SELECTED(sm_75, cross_entropy_f16_short)
    .balign 64
    .global quern_image_cross_entropy_f16_short__sm_75, quern_image_cross_entropy_f16_short__sm_75_end
    .hidden quern_image_cross_entropy_f16_short__sm_75, quern_image_cross_entropy_f16_short__sm_75_end
quern_image_cross_entropy_f16_short__sm_75:
#if QUERN_HAS_NVCC
    .incbin "sm_75/cross_entropy_f16_short.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_f16_short__sm_75_end = . - 1
#endif
#if QUERN_SELECTED(sm_75, cross_entropy_bf16_short)
    .balign 64
    .global quern_image_cross_entropy_bf16_short__sm_75, quern_image_cross_entropy_bf16_short__sm_75_end
    .hidden quern_image_cross_entropy_bf16_short__sm_75, quern_image_cross_entropy_bf16_short__sm_75_end
quern_image_cross_entropy_bf16_short__sm_75:
#if QUERN_HAS_NVCC
    .incbin "sm_75/cross_entropy_bf16_short.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_bf16_short__sm_75_end = . - 1
#endif
#if QUERN_SELECTED(sm_75, cross_entropy_f32_rows)
    .balign 64
    .global quern_image_cross_entropy_f32_rows__sm_75, quern_image_cross_entropy_f32_rows__sm_75_end
    .hidden quern_image_cross_entropy_f32_rows__sm_75, quern_image_cross_entropy_f32_rows__sm_75_end
quern_image_cross_entropy_f32_rows__sm_75:
#if QUERN_HAS_NVCC
    .incbin "sm_75/cross_entropy_f32_rows.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_f32_rows__sm_75_end = . - 1
#endif
#if QUERN_SELECTED(sm_75, cross_entropy_f16_rows)
    .balign 64
    .global quern_image_cross_entropy_f16_rows__sm_75, quern_image_cross_entropy_f16_rows__sm_75_end
    .hidden quern_image_cross_entropy_f16_rows__sm_75, quern_image_cross_entropy_f16_rows__sm_75_end
quern_image_cross_entropy_f16_rows__sm_75:
#if QUERN_HAS_NVCC
    .incbin "sm_75/cross_entropy_f16_rows.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_f16_rows__sm_75_end = . - 1
#endif
#if QUERN_SELECTED(sm_75, cross_entropy_bf16_rows)
    .balign 64
    .global quern_image_cross_entropy_bf16_rows__sm_75, quern_image_cross_entropy_bf16_rows__sm_75_end
    .hidden quern_image_cross_entropy_bf16_rows__sm_75, quern_image_cross_entropy_bf16_rows__sm_75_end
quern_image_cross_entropy_bf16_rows__sm_75:
#if QUERN_HAS_NVCC
    .incbin "sm_75/cross_entropy_bf16_rows.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_bf16_rows__sm_75_end = . - 1
#endif
#if QUERN_SELECTED(sm_75, cross_entropy_f32_streamed)
    .balign 64
    .global quern_image_cross_entropy_f32_streamed__sm_75, quern_image_cross_entropy_f32_streamed__sm_75_end
    .hidden quern_image_cross_entropy_f32_streamed__sm_75, quern_image_cross_entropy_f32_streamed__sm_75_end
quern_image_cross_entropy_f32_streamed__sm_75:
#if QUERN_HAS_NVCC
    .incbin "sm_75/cross_entropy_f32_streamed.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_f32_streamed__sm_75_end = . - 1
#endif
#if QUERN_SELECTED(sm_75, cross_entropy_f16_streamed)
    .balign 64
    .global quern_image_cross_entropy_f16_streamed__sm_75, quern_image_cross_entropy_f16_streamed__sm_75_end
    .hidden quern_image_cross_entropy_f16_streamed__sm_75, quern_image_cross_entropy_f16_streamed__sm_75_end
quern_image_cross_entropy_f16_streamed__sm_75:
#if QUERN_HAS_NVCC
    .incbin "sm_75/cross_entropy_f16_streamed.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_f16_streamed__sm_75_end = . - 1
#endif
#if QUERN_SELECTED(sm_75, cross_entropy_bf16_streamed)
    .balign 64
    .global quern_image_cross_entropy_bf16_streamed__sm_75, quern_image_cross_entropy_bf16_streamed__sm_75_end
    .hidden quern_image_cross_entropy_bf16_streamed__sm_75, quern_image_cross_entropy_bf16_streamed__sm_75_end
quern_image_cross_entropy_bf16_streamed__sm_75:
#if QUERN_HAS_NVCC
    .incbin "sm_75/cross_entropy_bf16_streamed.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_bf16_streamed__sm_75_end = . - 1
#endif
#if QUERN_SELECTED(sm_75, cross_entropy_f32_full_rows)
    .balign 64
    .global quern_image_cross_entropy_f32_full_rows__sm_75, quern_image_cross_entropy_f32_full_rows__sm_75_end
    .hidden quern_image_cross_entropy_f32_full_rows__sm_75, quern_image_cross_entropy_f32_full_rows__sm_75_end
quern_image_cross_entropy_f32_full_rows__sm_75:
#if QUERN_HAS_NVCC
    .incbin "sm_75/cross_entropy_f32_full_rows.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_f32_full_rows__sm_75_end = . - 1
#endif
#if QUERN_SELECTED(sm_75, cross_entropy_f16_full_rows)
    .balign 64
    .global quern_image_cross_entropy_f16_full_rows__sm_75, quern_image_cross_entropy_f16_full_rows__sm_75_end
    .hidden quern_image_cross_entropy_f16_full_rows__sm_75, quern_image_cross_entropy_f16_full_rows__sm_75_end
quern_image_cross_entropy_f16_full_rows__sm_75:
#if QUERN_HAS_NVCC
    .incbin "sm_75/cross_entropy_f16_full_rows.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_f16_full_rows__sm_75_end = . - 1
#endif
#if QUERN_SELECTED(sm_75, cross_entropy_bf16_full_rows)
    .balign 64
    .global quern_image_cross_entropy_bf16_full_rows__sm_75, quern_image_cross_entropy_bf16_full_rows__sm_75_end
    .hidden quern_image_cross_entropy_bf16_full_rows__sm_75, quern_image_cross_entropy_bf16_full_rows__sm_75_end
quern_image_cross_entropy_bf16_full_rows__sm_75:
#if QUERN_HAS_NVCC
    .incbin "sm_75/cross_entropy_bf16_full_rows.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_bf16_full_rows__sm_75_end = . - 1
#endif
#if QUERN_SELECTED(sm_75, cross_entropy_f32)
    .balign 64
    .global quern_image_cross_entropy_f32__sm_75, quern_image_cross_entropy_f32__sm_75_end
    .hidden quern_image_cross_entropy_f32__sm_75, quern_image_cross_entropy_f32__sm_75_end
quern_image_cross_entropy_f32__sm_75:
#if QUERN_HAS_NVCC
    .incbin "sm_75/cross_entropy_f32.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_f32__sm_75_end = . - 1
#endif
#if QUERN_SELECTED(sm_75, cross_entropy_f16)
    .balign 64
    .global quern_image_cross_entropy_f16__sm_75, quern_image_cross_entropy_f16__sm_75_end
    .hidden quern_image_cross_entropy_f16__sm_75, quern_image_cross_entropy_f16__sm_75_end
quern_image_cross_entropy_f16__sm_75:
#if QUERN_HAS_NVCC
    .incbin "sm_75/cross_entropy_f16.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_f16__sm_75_end = . - 1
#endif
#if QUERN_SELECTED(sm_75, cross_entropy_bf16)
    .balign 64
    .global quern_image_cross_entropy_bf16__sm_75, quern_image_cross_entropy_bf16__sm_75_end
    .hidden quern_image_cross_entropy_bf16__sm_75, quern_image_cross_entropy_bf16__sm_75_end
quern_image_cross_entropy_bf16__sm_75:
#if QUERN_HAS_NVCC
    .incbin "sm_75/cross_entropy_bf16.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_bf16__sm_75_end = . - 1
#endif
#if QUERN_SELECTED(sm_75, cross_entropy_f32_upstream)
    .balign 64
    .global quern_image_cross_entropy_f32_upstream__sm_75, quern_image_cross_entropy_f32_upstream__sm_75_end
    .hidden quern_image_cross_entropy_f32_upstream__sm_75, quern_image_cross_entropy_f32_upstream__sm_75_end
quern_image_cross_entropy_f32_upstream__sm_75:
#if QUERN_HAS_NVCC
    .incbin "sm_75/cross_entropy_f32_upstream.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_f32_upstream__sm_75_end = . - 1
#endif
#if QUERN_SELECTED(sm_75, cross_entropy_f16_upstream)
    .balign 64
    .global quern_image_cross_entropy_f16_upstream__sm_75, quern_image_cross_entropy_f16_upstream__sm_75_end
    .hidden quern_image_cross_entropy_f16_upstream__sm_75, quern_image_cross_entropy_f16_upstream__sm_75_end
quern_image_cross_entropy_f16_upstream__sm_75:
#if QUERN_HAS_NVCC
    .incbin "sm_75/cross_entropy_f16_upstream.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_f16_upstream__sm_75_end = . - 1
#endif
#if QUERN_SELECTED(sm_75, cross_entropy_bf16_upstream)
    .balign 64
    .global quern_image_cross_entropy_bf16_upstream__sm_75, quern_image_cross_entropy_bf16_upstream__sm_75_end
    .hidden quern_image_cross_entropy_bf16_upstream__sm_75, quern_image_cross_entropy_bf16_upstream__sm_75_end
quern_image_cross_entropy_bf16_upstream__sm_75:
#if QUERN_HAS_NVCC
    .incbin "sm_75/cross_entropy_bf16_upstream.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_bf16_upstream__sm_75_end = . - 1
#endif
#if QUERN_SELECTED(sm_75, cross_entropy_stages)
    .balign 64
    .global quern_image_cross_entropy_stages__sm_75, quern_image_cross_entropy_stages__sm_75_end
    .hidden quern_image_cross_entropy_stages__sm_75, quern_image_cross_entropy_stages__sm_75_end
quern_image_cross_entropy_stages__sm_75:
#if QUERN_HAS_NVCC
    .incbin "sm_75/cross_entropy_stages.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_stages__sm_75_end = . - 1
#endif
#if QUERN_SELECTED(sm_75, cross_entropy_f32_full)
    .balign 64
    .global quern_image_cross_entropy_f32_full__sm_75, quern_image_cross_entropy_f32_full__sm_75_end
    .hidden quern_image_cross_entropy_f32_full__sm_75, quern_image_cross_entropy_f32_full__sm_75_end
quern_image_cross_entropy_f32_full__sm_75:
#if QUERN_HAS_NVCC
    .incbin "sm_75/cross_entropy_f32_full.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_f32_full__sm_75_end = . - 1
#endif
#if QUERN_SELECTED(sm_75, cross_entropy_f16_full)
    .balign 64
    .global quern_image_cross_entropy_f16_full__sm_75, quern_image_cross_entropy_f16_full__sm_75_end
    .hidden quern_image_cross_entropy_f16_full__sm_75, quern_image_cross_entropy_f16_full__sm_75_end
quern_image_cross_entropy_f16_full__sm_75:
#if QUERN_HAS_NVCC
    .incbin "sm_75/cross_entropy_f16_full.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_f16_full__sm_75_end = . - 1
#endif
#if QUERN_SELECTED(sm_75, cross_entropy_bf16_full)
    .balign 64
    .global quern_image_cross_entropy_bf16_full__sm_75, quern_image_cross_entropy_bf16_full__sm_75_end
    .hidden quern_image_cross_entropy_bf16_full__sm_75, quern_image_cross_entropy_bf16_full__sm_75_end
quern_image_cross_entropy_bf16_full__sm_75:
#if QUERN_HAS_NVCC
    .incbin "sm_75/cross_entropy_bf16_full.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_bf16_full__sm_75_end = . - 1
#endif
#if QUERN_SELECTED(compute_90, cross_entropy_f32_short)
    .balign 64
    .global quern_image_cross_entropy_f32_short__compute_90, quern_image_cross_entropy_f32_short__compute_90_end
    .hidden quern_image_cross_entropy_f32_short__compute_90, quern_image_cross_entropy_f32_short__compute_90_end
quern_image_cross_entropy_f32_short__compute_90:
#if QUERN_HAS_NVCC
    .incbin "compute_90/cross_entropy_f32_short.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_f32_short__compute_90_end = . - 1
#endif
#if QUERN_SELECTED(compute_90, cross_entropy_f16_short)
    .balign 64
    .global quern_image_cross_entropy_f16_short__compute_90, quern_image_cross_entropy_f16_short__compute_90_end
    .hidden quern_image_cross_entropy_f16_short__compute_90, quern_image_cross_entropy_f16_short__compute_90_end
quern_image_cross_entropy_f16_short__compute_90:
#if QUERN_HAS_NVCC
    .incbin "compute_90/cross_entropy_f16_short.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_f16_short__compute_90_end = . - 1
#endif
#if QUERN_SELECTED(compute_90, cross_entropy_bf16_short)
    .balign 64
    .global quern_image_cross_entropy_bf16_short__compute_90, quern_image_cross_entropy_bf16_short__compute_90_end
    .hidden quern_image_cross_entropy_bf16_short__compute_90, quern_image_cross_entropy_bf16_short__compute_90_end
quern_image_cross_entropy_bf16_short__compute_90:
#if QUERN_HAS_NVCC
    .incbin "compute_90/cross_entropy_bf16_short.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_bf16_short__compute_90_end = . - 1
#endif
#if QUERN_SELECTED(compute_90, cross_entropy_f32_rows)
    .balign 64
    .global quern_image_cross_entropy_f32_rows__compute_90, quern_image_cross_entropy_f32_rows__compute_90_end
    .hidden quern_image_cross_entropy_f32_rows__compute_90, quern_image_cross_entropy_f32_rows__compute_90_end
quern_image_cross_entropy_f32_rows__compute_90:
#if QUERN_HAS_NVCC
    .incbin "compute_90/cross_entropy_f32_rows.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_f32_rows__compute_90_end = . - 1
#endif
#if QUERN_SELECTED(compute_90, cross_entropy_f16_rows)
    .balign 64
    .global quern_image_cross_entropy_f16_rows__compute_90, quern_image_cross_entropy_f16_rows__compute_90_end
    .hidden quern_image_cross_entropy_f16_rows__compute_90, quern_image_cross_entropy_f16_rows__compute_90_end
quern_image_cross_entropy_f16_rows__compute_90:
#if QUERN_HAS_NVCC
    .incbin "compute_90/cross_entropy_f16_rows.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_f16_rows__compute_90_end = . - 1
#endif
#if QUERN_SELECTED(compute_90, cross_entropy_bf16_rows)
    .balign 64
    .global quern_image_cross_entropy_bf16_rows__compute_90, quern_image_cross_entropy_bf16_rows__compute_90_end
    .hidden quern_image_cross_entropy_bf16_rows__compute_90, quern_image_cross_entropy_bf16_rows__compute_90_end
quern_image_cross_entropy_bf16_rows__compute_90:
#if QUERN_HAS_NVCC
    .incbin "compute_90/cross_entropy_bf16_rows.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_bf16_rows__compute_90_end = . - 1
#endif
#if QUERN_SELECTED(compute_90, cross_entropy_f32_streamed)
    .balign 64
    .global quern_image_cross_entropy_f32_streamed__compute_90, quern_image_cross_entropy_f32_streamed__compute_90_end
    .hidden quern_image_cross_entropy_f32_streamed__compute_90, quern_image_cross_entropy_f32_streamed__compute_90_end
quern_image_cross_entropy_f32_streamed__compute_90:
#if QUERN_HAS_NVCC
    .incbin "compute_90/cross_entropy_f32_streamed.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_f32_streamed__compute_90_end = . - 1
#endif
#if QUERN_SELECTED(compute_90, cross_entropy_f16_streamed)
    .balign 64
    .global quern_image_cross_entropy_f16_streamed__compute_90, quern_image_cross_entropy_f16_streamed__compute_90_end
    .hidden quern_image_cross_entropy_f16_streamed__compute_90, quern_image_cross_entropy_f16_streamed__compute_90_end
quern_image_cross_entropy_f16_streamed__compute_90:
#if QUERN_HAS_NVCC
    .incbin "compute_90/cross_entropy_f16_streamed.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_f16_streamed__compute_90_end = . - 1
#endif
#if QUERN_SELECTED(compute_90, cross_entropy_bf16_streamed)
    .balign 64
    .global quern_image_cross_entropy_bf16_streamed__compute_90, quern_image_cross_entropy_bf16_streamed__compute_90_end
    .hidden quern_image_cross_entropy_bf16_streamed__compute_90, quern_image_cross_entropy_bf16_streamed__compute_90_end
quern_image_cross_entropy_bf16_streamed__compute_90:
#if QUERN_HAS_NVCC
    .incbin "compute_90/cross_entropy_bf16_streamed.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_bf16_streamed__compute_90_end = . - 1
#endif
#if QUERN_SELECTED(compute_90, cross_entropy_f32_full_rows)
    .balign 64
    .global quern_image_cross_entropy_f32_full_rows__compute_90, quern_image_cross_entropy_f32_full_rows__compute_90_end
    .hidden quern_image_cross_entropy_f32_full_rows__compute_90, quern_image_cross_entropy_f32_full_rows__compute_90_end
quern_image_cross_entropy_f32_full_rows__compute_90:
#if QUERN_HAS_NVCC
    .incbin "compute_90/cross_entropy_f32_full_rows.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_f32_full_rows__compute_90_end = . - 1
#endif
#if QUERN_SELECTED(compute_90, cross_entropy_f16_full_rows)
    .balign 64
    .global quern_image_cross_entropy_f16_full_rows__compute_90, quern_image_cross_entropy_f16_full_rows__compute_90_end
    .hidden quern_image_cross_entropy_f16_full_rows__compute_90, quern_image_cross_entropy_f16_full_rows__compute_90_end
quern_image_cross_entropy_f16_full_rows__compute_90:
#if QUERN_HAS_NVCC
    .incbin "compute_90/cross_entropy_f16_full_rows.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_f16_full_rows__compute_90_end = . - 1
#endif
#if QUERN_SELECTED(compute_90, cross_entropy_bf16_full_rows)
    .balign 64
    .global quern_image_cross_entropy_bf16_full_rows__compute_90, quern_image_cross_entropy_bf16_full_rows__compute_90_end
    .hidden quern_image_cross_entropy_bf16_full_rows__compute_90, quern_image_cross_entropy_bf16_full_rows__compute_90_end
quern_image_cross_entropy_bf16_full_rows__compute_90:
#if QUERN_HAS_NVCC
    .incbin "compute_90/cross_entropy_bf16_full_rows.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_bf16_full_rows__compute_90_end = . - 1
#endif
#if QUERN_SELECTED(compute_90, cross_entropy_f32)
    .balign 64
    .global quern_image_cross_entropy_f32__compute_90, quern_image_cross_entropy_f32__compute_90_end
    .hidden quern_image_cross_entropy_f32__compute_90, quern_image_cross_entropy_f32__compute_90_end
quern_image_cross_entropy_f32__compute_90:
#if QUERN_HAS_NVCC
    .incbin "compute_90/cross_entropy_f32.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_f32__compute_90_end = . - 1
#endif
#if QUERN_SELECTED(compute_90, cross_entropy_f16)
    .balign 64
    .global quern_image_cross_entropy_f16__compute_90, quern_image_cross_entropy_f16__compute_90_end
    .hidden quern_image_cross_entropy_f16__compute_90, quern_image_cross_entropy_f16__compute_90_end
quern_image_cross_entropy_f16__compute_90:
#if QUERN_HAS_NVCC
    .incbin "compute_90/cross_entropy_f16.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_f16__compute_90_end = . - 1
#endif
#if QUERN_SELECTED(compute_90, cross_entropy_bf16)
    .balign 64
    .global quern_image_cross_entropy_bf16__compute_90, quern_image_cross_entropy_bf16__compute_90_end
    .hidden quern_image_cross_entropy_bf16__compute_90, quern_image_cross_entropy_bf16__compute_90_end
quern_image_cross_entropy_bf16__compute_90:
#if QUERN_HAS_NVCC
    .incbin "compute_90/cross_entropy_bf16.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_bf16__compute_90_end = . - 1
#endif
#if QUERN_SELECTED(compute_90, cross_entropy_f32_upstream)
    .balign 64
    .global quern_image_cross_entropy_f32_upstream__compute_90, quern_image_cross_entropy_f32_upstream__compute_90_end
    .hidden quern_image_cross_entropy_f32_upstream__compute_90, quern_image_cross_entropy_f32_upstream__compute_90_end
quern_image_cross_entropy_f32_upstream__compute_90:
#if QUERN_HAS_NVCC
    .incbin "compute_90/cross_entropy_f32_upstream.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_f32_upstream__compute_90_end = . - 1
#endif
#if QUERN_SELECTED(compute_90, cross_entropy_f16_upstream)
    .balign 64
    .global quern_image_cross_entropy_f16_upstream__compute_90, quern_image_cross_entropy_f16_upstream__compute_90_end
    .hidden quern_image_cross_entropy_f16_upstream__compute_90, quern_image_cross_entropy_f16_upstream__compute_90_end
quern_image_cross_entropy_f16_upstream__compute_90:
#if QUERN_HAS_NVCC
    .incbin "compute_90/cross_entropy_f16_upstream.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_f16_upstream__compute_90_end = . - 1
#endif
#if QUERN_SELECTED(compute_90, cross_entropy_bf16_upstream)
    .balign 64
    .global quern_image_cross_entropy_bf16_upstream__compute_90, quern_image_cross_entropy_bf16_upstream__compute_90_end
    .hidden quern_image_cross_entropy_bf16_upstream__compute_90, quern_image_cross_entropy_bf16_upstream__compute_90_end
quern_image_cross_entropy_bf16_upstream__compute_90:
#if QUERN_HAS_NVCC
    .incbin "compute_90/cross_entropy_bf16_upstream.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_bf16_upstream__compute_90_end = . - 1
#endif
#if QUERN_SELECTED(compute_90, cross_entropy_stages)
    .balign 64
    .global quern_image_cross_entropy_stages__compute_90, quern_image_cross_entropy_stages__compute_90_end
    .hidden quern_image_cross_entropy_stages__compute_90, quern_image_cross_entropy_stages__compute_90_end
quern_image_cross_entropy_stages__compute_90:
#if QUERN_HAS_NVCC
    .incbin "compute_90/cross_entropy_stages.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_stages__compute_90_end = . - 1
#endif
#if QUERN_SELECTED(compute_90, cross_entropy_f32_full)
    .balign 64
    .global quern_image_cross_entropy_f32_full__compute_90, quern_image_cross_entropy_f32_full__compute_90_end
    .hidden quern_image_cross_entropy_f32_full__compute_90, quern_image_cross_entropy_f32_full__compute_90_end
quern_image_cross_entropy_f32_full__compute_90:
#if QUERN_HAS_NVCC
    .incbin "compute_90/cross_entropy_f32_full.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_f32_full__compute_90_end = . - 1
#endif
#if QUERN_SELECTED(compute_90, cross_entropy_f16_full)
    .balign 64
    .global quern_image_cross_entropy_f16_full__compute_90, quern_image_cross_entropy_f16_full__compute_90_end
    .hidden quern_image_cross_entropy_f16_full__compute_90, quern_image_cross_entropy_f16_full__compute_90_end
quern_image_cross_entropy_f16_full__compute_90:
#if QUERN_HAS_NVCC
    .incbin "compute_90/cross_entropy_f16_full.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_f16_full__compute_90_end = . - 1
#endif
#if QUERN_SELECTED(compute_90, cross_entropy_bf16_full)
    .balign 64
    .global quern_image_cross_entropy_bf16_full__compute_90, quern_image_cross_entropy_bf16_full__compute_90_end
    .hidden quern_image_cross_entropy_bf16_full__compute_90, quern_image_cross_entropy_bf16_full__compute_90_end
quern_image_cross_entropy_bf16_full__compute_90:
#if QUERN_HAS_NVCC
    .incbin "compute_90/cross_entropy_bf16_full.fatbin"
#endif
    .byte 0
quern_image_cross_entropy_bf16_full__compute_90_end = . - 1
#endif
    .section .note.GNU-stack, "", @progbits
