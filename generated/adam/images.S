/*
 * The GPU code of adam: one fatbin per source file and target, taken from the build directory.
 * Each is empty when the library is built without nvcc (QUERN_HAS_NVCC is 0); the table's rows then say so.
 * A build that defines QUERN_SELECTED(target, unit) has those units alone for which it is not 0.
 *
 * Rendered by gen/ from templates/build/images.S.j2; do not edit.
 */
#ifndef QUERN_SELECTED
#define QUERN_SELECTED(target, unit) 1
#endif

    .section .rodata
#if QUERN_SELECTED(sm_120f, adam_pf32_gf32)
    .balign 64
    .global quern_image_adam_pf32_gf32__sm_120f, quern_image_adam_pf32_gf32__sm_120f_end
    .hidden quern_image_adam_pf32_gf32__sm_120f, quern_image_adam_pf32_gf32__sm_120f_end
quern_image_adam_pf32_gf32__sm_120f:
#if QUERN_HAS_NVCC
    .incbin "sm_120f/adam_pf32_gf32.fatbin"
#endif
    .byte 0
quern_image_adam_pf32_gf32__sm_120f_end = . - 1
#endif
#if QUERN_SELECTED(sm_120f, adam_pf32_gf16)
    .balign 64
    .global quern_image_adam_pf32_gf16__sm_120f, quern_image_adam_pf32_gf16__sm_120f_end
    .hidden quern_image_adam_pf32_gf16__sm_120f, quern_image_adam_pf32_gf16__sm_120f_end
quern_image_adam_pf32_gf16__sm_120f:
#if QUERN_HAS_NVCC
    .incbin "sm_120f/adam_pf32_gf16.fatbin"
#endif
    .byte 0
quern_image_adam_pf32_gf16__sm_120f_end = . - 1
#endif
#if QUERN_SELECTED(sm_120f, adam_pf32_gbf16)
    .balign 64
    .global quern_image_adam_pf32_gbf16__sm_120f, quern_image_adam_pf32_gbf16__sm_120f_end
    .hidden quern_image_adam_pf32_gbf16__sm_120f, quern_image_adam_pf32_gbf16__sm_120f_end
quern_image_adam_pf32_gbf16__sm_120f:
#if QUERN_HAS_NVCC
    .incbin "sm_120f/adam_pf32_gbf16.fatbin"
#endif
    .byte 0
quern_image_adam_pf32_gbf16__sm_120f_end = . - 1
#endif
#if QUERN_SELECTED(sm_120f, adam_pf16_gf32)
    .balign 64
    .global quern_image_adam_pf16_gf32__sm_120f, quern_image_adam_pf16_gf32__sm_120f_end
    .hidden quern_image_adam_pf16_gf32__sm_120f, quern_image_adam_pf16_gf32__sm_120f_end
quern_image_adam_pf16_gf32__sm_120f:
#if QUERN_HAS_NVCC
    .incbin "sm_120f/adam_pf16_gf32.fatbin"
#endif
    .byte 0
quern_image_adam_pf16_gf32__sm_120f_end = . - 1
#endif
#if QUERN_SELECTED(sm_120f, adam_pf16_gf16)
    .balign 64
    .global quern_image_adam_pf16_gf16__sm_120f, quern_image_adam_pf16_gf16__sm_120f_end
    .hidden quern_image_adam_pf16_gf16__sm_120f, quern_image_adam_pf16_gf16__sm_120f_end
quern_image_adam_pf16_gf16__sm_120f:
#if QUERN_HAS_NVCC
    .incbin "sm_120f/adam_pf16_gf16.fatbin"
#endif
    .byte 0
quern_image_adam_pf16_gf16__sm_120f_end = . - 1
#endif
#if QUERN_SELECTED(sm_120f, adam_pbf16_gf32)
    .balign 64
    .global quern_image_adam_pbf16_gf32__sm_120f, quern_image_adam_pbf16_gf32__sm_120f_end
    .hidden quern_image_adam_pbf16_gf32__sm_120f, quern_image_adam_pbf16_gf32__sm_120f_end
quern_image_adam_pbf16_gf32__sm_120f:
#if QUERN_HAS_NVCC
    .incbin "sm_120f/adam_pbf16_gf32.fatbin"
#endif
    .byte 0
quern_image_adam_pbf16_gf32__sm_120f_end = . - 1
#endif
#if QUERN_SELECTED(sm_120f, adam_pbf16_gbf16)
    .balign 64
    .global quern_image_adam_pbf16_gbf16__sm_120f, quern_image_adam_pbf16_gbf16__sm_120f_end
    .hidden quern_image_adam_pbf16_gbf16__sm_120f, quern_image_adam_pbf16_gbf16__sm_120f_end
quern_image_adam_pbf16_gbf16__sm_120f:
#if QUERN_HAS_NVCC
    .incbin "sm_120f/adam_pbf16_gbf16.fatbin"
#endif
    .byte 0
quern_image_adam_pbf16_gbf16__sm_120f_end = . - 1
#endif
#if QUERN_SELECTED(sm_120f, adam_pf32_gf32_full)
    .balign 64
    .global quern_image_adam_pf32_gf32_full__sm_120f, quern_image_adam_pf32_gf32_full__sm_120f_end
    .hidden quern_image_adam_pf32_gf32_full__sm_120f, quern_image_adam_pf32_gf32_full__sm_120f_end
quern_image_adam_pf32_gf32_full__sm_120f:
#if QUERN_HAS_NVCC
    .incbin "sm_120f/adam_pf32_gf32_full.fatbin"
#endif
    .byte 0
quern_image_adam_pf32_gf32_full__sm_120f_end = . - 1
#endif
#if QUERN_SELECTED(sm_120f, adam_pf32_gbf16_full)
    .balign 64
    .global quern_image_adam_pf32_gbf16_full__sm_120f, quern_image_adam_pf32_gbf16_full__sm_120f_end
    .hidden quern_image_adam_pf32_gbf16_full__sm_120f, quern_image_adam_pf32_gbf16_full__sm_120f_end
quern_image_adam_pf32_gbf16_full__sm_120f:
#if QUERN_HAS_NVCC
    .incbin "sm_120f/adam_pf32_gbf16_full.fatbin"
#endif
    .byte 0
quern_image_adam_pf32_gbf16_full__sm_120f_end = . - 1
#endif
#if QUERN_SELECTED(sm_120f, adam_pf16_gf16_full)
    .balign 64
    .global quern_image_adam_pf16_gf16_full__sm_120f, quern_image_adam_pf16_gf16_full__sm_120f_end
    .hidden quern_image_adam_pf16_gf16_full__sm_120f, quern_image_adam_pf16_gf16_full__sm_120f_end
quern_image_adam_pf16_gf16_full__sm_120f:
#if QUERN_HAS_NVCC
    .incbin "sm_120f/adam_pf16_gf16_full.fatbin"
#endif
    .byte 0
quern_image_adam_pf16_gf16_full__sm_120f_end = . - 1
#endif
#if QUERN_SELECTED(sm_120f, adam_pbf16_gf32_full)
    .balign 64
    .global quern_image_adam_pbf16_gf32_full__sm_120f, quern_image_adam_pbf16_gf32_full__sm_120f_end
    .hidden quern_image_adam_pbf16_gf32_full__sm_120f, quern_image_adam_pbf16_gf32_full__sm_120f_end
quern_image_adam_pbf16_gf32_full__sm_120f:
#if QUERN_HAS_NVCC
    .incbin "sm_120f/adam_pbf16_gf32_full.fatbin"
#endif
    .byte 0
quern_image_adam_pbf16_gf32_full__sm_120f_end = . - 1
#endif
#if QUERN_SELECTED(sm_120f, adam_pbf16_gbf16_full)
    .balign 64
    .global quern_image_adam_pbf16_gbf16_full__sm_120f, quern_image_adam_pbf16_gbf16_full__sm_120f_end
    .hidden quern_image_adam_pbf16_gbf16_full__sm_120f, quern_image_adam_pbf16_gbf16_full__sm_120f_end
quern_image_adam_pbf16_gbf16_full__sm_120f:
#if QUERN_HAS_NVCC
    .incbin "sm_120f/adam_pbf16_gbf16_full.fatbin"
#endif
    .byte 0
quern_image_adam_pbf16_gbf16_full__sm_120f_end = . - 1
#endif
#if QUERN_SELECTED(sm_120f, gradient_norm)
    .balign 64
    .global quern_image_gradient_norm__sm_120f, quern_image_gradient_norm__sm_120f_end
    .hidden quern_image_gradient_norm__sm_120f, quern_image_gradient_norm__sm_120f_end
quern_image_gradient_norm__sm_120f:
#if QUERN_HAS_NVCC
    .incbin "sm_120f/gradient_norm.fatbin"
#endif
    .byte 0
quern_image_gradient_norm__sm_120f_end = . - 1
#endif
#if QUERN_SELECTED(sm_120f, gradient_norm_combine)
    .balign 64
    .global quern_image_gradient_norm_combine__sm_120f, quern_image_gradient_norm_combine__sm_120f_end
    .hidden quern_image_gradient_norm_combine__sm_120f, quern_image_gradient_norm_combine__sm_120f_end
quern_image_gradient_norm_combine__sm_120f:
#if QUERN_HAS_NVCC
    .incbin "sm_120f/gradient_norm_combine.fatbin"
#endif
    .byte 0
quern_image_gradient_norm_combine__sm_120f_end = . - 1
#endif
#if QUERN_SELECTED(sm_120f, gradient_accumulate)
    .balign 64
    .global quern_image_gradient_accumulate__sm_120f, quern_image_gradient_accumulate__sm_120f_end
    .hidden quern_image_gradient_accumulate__sm_120f, quern_image_gradient_accumulate__sm_120f_end
quern_image_gradient_accumulate__sm_120f:
#if QUERN_HAS_NVCC
    .incbin "sm_120f/gradient_accumulate.fatbin"
#endif
    .byte 0
quern_image_gradient_accumulate__sm_120f_end = . - 1
#endif
#if QUERN_SELECTED(sm_120f, tensor_steps)
    .balign 64
    .global quern_image_tensor_steps__sm_120f, quern_image_tensor_steps__sm_120f_end
    .hidden quern_image_tensor_steps__sm_120f, quern_image_tensor_steps__sm_120f_end
quern_image_tensor_steps__sm_120f:
#if QUERN_HAS_NVCC
    .incbin "sm_120f/tensor_steps.fatbin"
#endif
    .byte 0
quern_image_tensor_steps__sm_120f_end = . - 1
#endif
#if QUERN_SELECTED(sm_100f, adam_pf32_gf32)
    .balign 64
    .global quern_image_adam_pf32_gf32__sm_100f, quern_image_adam_pf32_gf32__sm_100f_end
    .hidden quern_image_adam_pf32_gf32__sm_100f, quern_image_adam_pf32_gf32__sm_100f_end
quern_image_adam_pf32_gf32__sm_100f:
#if QUERN_HAS_NVCC
    .incbin "sm_100f/adam_pf32_gf32.fatbin"
#endif
    .byte 0
quern_image_adam_pf32_gf32__sm_100f_end = . - 1
#endif
#if QUERN_SELECTED(sm_100f, adam_pf32_gf16)
    .balign 64
    .global quern_image_adam_pf32_gf16__sm_100f, quern_image_adam_pf32_gf16__sm_100f_end
    .hidden quern_image_adam_pf32_gf16__sm_100f, quern_image_adam_pf32_gf16__sm_100f_end
quern_image_adam_pf32_gf16__sm_100f:
#if QUERN_HAS_NVCC
    .incbin "sm_100f/adam_pf32_gf16.fatbin"
#endif
    .byte 0
quern_image_adam_pf32_gf16__sm_100f_end = . - 1
#endif
#if QUERN_SELECTED(sm_100f, adam_pf32_gbf16)
    .balign 64
    .global quern_image_adam_pf32_gbf16__sm_100f, quern_image_adam_pf32_gbf16__sm_100f_end
    .hidden quern_image_adam_pf32_gbf16__sm_100f, quern_image_adam_pf32_gbf16__sm_100f_end
quern_image_adam_pf32_gbf16__sm_100f:
#if QUERN_HAS_NVCC
    .incbin "sm_100f/adam_pf32_gbf16.fatbin"
#endif
    .byte 0
quern_image_adam_pf32_gbf16__sm_100f_end = . - 1
#endif
#if QUERN_SELECTED(sm_100f, adam_pf16_gf32)
    .balign 64
    .global quern_image_adam_pf16_gf32__sm_100f, quern_image_adam_pf16_gf32__sm_100f_end
    .hidden quern_image_adam_pf16_gf32__sm_100f, quern_image_adam_pf16_gf32__sm_100f_end
quern_image_adam_pf16_gf32__sm_100f:
#if QUERN_HAS_NVCC
    .incbin "sm_100f/adam_pf16_gf32.fatbin"
#endif
    .byte 0
quern_image_adam_pf16_gf32__sm_100f_end = . - 1
#endif
#if QUERN_SELECTED(sm_100f, adam_pf16_gf16)
    .balign 64
    .global quern_image_adam_pf16_gf16__sm_100f, quern_image_adam_pf16_gf16__sm_100f_end
    .hidden quern_image_adam_pf16_gf16__sm_100f, quern_image_adam_pf16_gf16__sm_100f_end
quern_image_adam_pf16_gf16__sm_100f:
#if QUERN_HAS_NVCC
    .incbin "sm_100f/adam_pf16_gf16.fatbin"
#endif
    .byte 0
quern_image_adam_pf16_gf16__sm_100f_end = . - 1
#endif
#if QUERN_SELECTED(sm_100f, adam_pbf16_gf32)
    .balign 64
    .global quern_image_adam_pbf16_gf32__sm_100f, quern_image_adam_pbf16_gf32__sm_100f_end
    .hidden quern_image_adam_pbf16_gf32__sm_100f, quern_image_adam_pbf16_gf32__sm_100f_end
quern_image_adam_pbf16_gf32__sm_100f:
#if QUERN_HAS_NVCC
    .incbin "sm_100f/adam_pbf16_gf32.fatbin"
#endif
    .byte 0
quern_image_adam_pbf16_gf32__sm_100f_end = . - 1
#endif
#if QUERN_SELECTED(sm_100f, adam_pbf16_gbf16)
    .balign 64
    .global quern_image_adam_pbf16_gbf16__sm_100f, quern_image_adam_pbf16_gbf16__sm_100f_end
    .hidden quern_image_adam_pbf16_gbf16__sm_100f, quern_image_adam_pbf16_gbf16__sm_100f_end
quern_image_adam_pbf16_gbf16__sm_100f:
#if QUERN_HAS_NVCC
    .incbin "sm_100f/adam_pbf16_gbf16.fatbin"
#endif
    .byte 0
quern_image_adam_pbf16_gbf16__sm_100f_end = . - 1
#endif
#if QUERN_SELECTED(sm_100f, adam_pf32_gf32_full)
    .balign 64
    .global quern_image_adam_pf32_gf32_full__sm_100f, quern_image_adam_pf32_gf32_full__sm_100f_end
    .hidden quern_image_adam_pf32_gf32_full__sm_100f, quern_image_adam_pf32_gf32_full__sm_100f_end
quern_image_adam_pf32_gf32_full__sm_100f:
#if QUERN_HAS_NVCC
    .incbin "sm_100f/adam_pf32_gf32_full.fatbin"
#endif
    .byte 0
quern_image_adam_pf32_gf32_full__sm_100f_end = . - 1
#endif
#if QUERN_SELECTED(sm_100f, adam_pf32_gbf16_full)
    .balign 64
    .global quern_image_adam_pf32_gbf16_full__sm_100f, quern_image_adam_pf32_gbf16_full__sm_100f_end
    .hidden quern_image_adam_pf32_gbf16_full__sm_100f, quern_image_adam_pf32_gbf16_full__sm_100f_end
quern_image_adam_pf32_gbf16_full__sm_100f:
#if QUERN_HAS_NVCC
    .incbin "sm_100f/adam_pf32_gbf16_full.fatbin"
#endif
    .byte 0
quern_image_adam_pf32_gbf16_full__sm_100f_end = . - 1
#endif
#if QUERN_SELECTED(sm_100f, adam_pf16_gf16_full)
    .balign 64
    .global quern_image_adam_pf16_gf16_full__sm_100f, quern_image_adam_pf16_gf16_full__sm_100f_end
    .hidden quern_image_adam_pf16_gf16_full__sm_100f, quern_image_adam_pf16_gf16_full__sm_100f_end
quern_image_adam_pf16_gf16_full__sm_100f:
#if QUERN_HAS_NVCC
    .incbin "sm_100f/adam_pf16_gf16_full.fatbin"
#endif
    .byte 0
quern_image_adam_pf16_gf16_full__sm_100f_end = . - 1
#endif
#if QUERN_SELECTED(sm_100f, adam_pbf16_gf32_full)
    .balign 64
    .global quern_image_adam_pbf16_gf32_full__sm_100f, quern_image_adam_pbf16_gf32_full__sm_100f_end
    .hidden quern_image_adam_pbf16_gf32_full__sm_100f, quern_image_adam_pbf16_gf32_full__sm_100f_end
quern_image_adam_pbf16_gf32_full__sm_100f:
#if QUERN_HAS_NVCC
    .incbin "sm_100f/adam_pbf16_gf32_full.fatbin"
#endif
    .byte 0
quern_image_adam_pbf16_gf32_full__sm_100f_end = . - 1
#endif
#if QUERN_SELECTED(sm_100f, adam_pbf16_gbf16_full)
    .balign 64
    .global quern_image_adam_pbf16_gbf16_full__sm_100f, quern_image_adam_pbf16_gbf16_full__sm_100f_end
    .hidden quern_image_adam_pbf16_gbf16_full__sm_100f, quern_image_adam_pbf16_gbf16_full__sm_100f_end
quern_image_adam_pbf16_gbf16_full__sm_100f:
#if QUERN_HAS_NVCC
    .incbin "sm_100f/adam_pbf16_gbf16_full.fatbin"
#endif
    .byte 0
quern_image_adam_pbf16_gbf16_full__sm_100f_end = . - 1
#endif
#if QUERN_SELECTED(sm_100f, gradient_norm)
    .balign 64
    .global quern_image_gradient_norm__sm_100f, quern_image_gradient_norm__sm_100f_end
    .hidden quern_image_gradient_norm__sm_100f, quern_image_gradient_norm__sm_100f_end
quern_image_gradient_norm__sm_100f:
#if QUERN_HAS_NVCC
    .incbin "sm_100f/gradient_norm.fatbin"
#endif
    .byte 0
quern_image_gradient_norm__sm_100f_end = . - 1
#endif
#if QUERN_SELECTED(sm_100f, gradient_norm_combine)
    .balign 64
    .global quern_image_gradient_norm_combine__sm_100f, quern_image_gradient_norm_combine__sm_100f_end
    .hidden quern_image_gradient_norm_combine__sm_100f, quern_image_gradient_norm_combine__sm_100f_end
quern_image_gradient_norm_combine__sm_100f:
#if QUERN_HAS_NVCC
    .incbin "sm_100f/gradient_norm_combine.fatbin"
#endif
    .byte 0
quern_image_gradient_norm_combine__sm_100f_end = . - 1
#endif
#if QUERN_SELECTED(sm_100f, gradient_accumulate)
    .balign 64
    .global quern_image_gradient_accumulate__sm_100f, quern_image_gradient_accumulate__sm_100f_end
    .hidden quern_image_gradient_accumulate__sm_100f, quern_image_gradient_accumulate__sm_100f_end
quern_image_gradient_accumulate__sm_100f:
#if QUERN_HAS_NVCC
    .incbin "sm_100f/gradient_accumulate.fatbin"
#endif
    .byte 0
quern_image_gradient_accumulate__sm_100f_end = . - 1
#endif
#if QUERN_SELECTED(sm_100f, tensor_steps)
    .balign 64
    .global quern_image_tensor_steps__sm_100f, quern_image_tensor_steps__sm_100f_end
    .hidden quern_image_tensor_steps__sm_100f, quern_image_tensor_steps__sm_100f_end
quern_image_tensor_steps__sm_100f:
#if QUERN_HAS_NVCC
    .incbin "sm_100f/tensor_steps.fatbin"
#endif
    .byte 0
quern_image_tensor_steps__sm_100f_end = . - 1
#endif
#if QUERN_SELECTED(sm_90a, adam_pf32_gf32)
    .balign 64
    .global quern_image_adam_pf32_gf32__sm_90a, quern_image_adam_pf32_gf32__sm_90a_end
    .hidden quern_image_adam_pf32_gf32__sm_90a, quern_image_adam_pf32_gf32__sm_90a_end
quern_image_adam_pf32_gf32__sm_90a:
#if QUERN_HAS_NVCC
    .incbin "sm_90a/adam_pf32_gf32.fatbin"
#endif
    .byte 0
quern_image_adam_pf32_gf32__sm_90a_end = . - 1
#endif
#if QUERN_SELECTED(sm_90a, adam_pf32_gf16)
    .balign 64
    .global quern_image_adam_pf32_gf16__sm_90a, quern_image_adam_pf32_gf16__sm_90a_end
    .hidden quern_image_adam_pf32_gf16__sm_90a, quern_image_adam_pf32_gf16__sm_90a_end
quern_image_adam_pf32_gf16__sm_90a:
#if QUERN_HAS_NVCC
    .incbin "sm_90a/adam_pf32_gf16.fatbin"
#endif
    .byte 0
quern_image_adam_pf32_gf16__sm_90a_end = . - 1
#endif
#if QUERN_SELECTED(sm_90a, adam_pf32_gbf16)
    .balign 64
    .global quern_image_adam_pf32_gbf16__sm_90a, quern_image_adam_pf32_gbf16__sm_90a_end
    .hidden quern_image_adam_pf32_gbf16__sm_90a, quern_image_adam_pf32_gbf16__sm_90a_end
quern_image_adam_pf32_gbf16__sm_90a:
#if QUERN_HAS_NVCC
    .incbin "sm_90a/adam_pf32_gbf16.fatbin"
#endif
    .byte 0
quern_image_adam_pf32_gbf16__sm_90a_end = . - 1
#endif
#if QUERN_SELECTED(sm_90a, adam_pf16_gf32)
    .balign 64
    .global quern_image_adam_pf16_gf32__sm_90a, quern_image_adam_pf16_gf32__sm_90a_end
    .hidden quern_image_adam_pf16_gf32__sm_90a, quern_image_adam_pf16_gf32__sm_90a_end
quern_image_adam_pf16_gf32__sm_90a:
#if QUERN_HAS_NVCC
    .incbin "sm_90a/adam_pf16_gf32.fatbin"
#endif
    .byte 0
quern_image_adam_pf16_gf32__sm_90a_end = . - 1
#endif
#if QUERN_SELECTED(sm_90a, adam_pf16_gf16)
    .balign 64
    .global quern_image_adam_pf16_gf16__sm_90a, quern_image_adam_pf16_gf16__sm_90a_end
    .hidden quern_image_adam_pf16_gf16__sm_90a, quern_image_adam_pf16_gf16__sm_90a_end
quern_image_adam_pf16_gf16__sm_90a:
#if QUERN_HAS_NVCC
    .incbin "sm_90a/adam_pf16_gf16.fatbin"
#endif
    .byte 0
quern_image_adam_pf16_gf16__sm_90a_end = . - 1
#endif
#if QUERN_SELECTED(sm_90a, adam_pbf16_gf32)
    .balign 64
    .global quern_image_adam_pbf16_gf32__sm_90a, quern_image_adam_pbf16_gf32__sm_90a_end
    .hidden quern_image_adam_pbf16_gf32__sm_90a, quern_image_adam_pbf16_gf32__sm_90a_end
quern_image_adam_pbf16_gf32__sm_90a:
#if QUERN_HAS_NVCC
    .incbin "sm_90a/adam_pbf16_gf32.fatbin"
#endif
    .byte 0
quern_image_adam_pbf16_gf32__sm_90a_end = . - 1
#endif
#if QUERN_SELECTED(sm_90a, adam_pbf16_gbf16)
    .balign 64
    .global quern_image_adam_pbf16_gbf16__sm_90a, quern_image_adam_pbf16_gbf16__sm_90a_end
    .hidden quern_image_adam_pbf16_gbf16__sm_90a, quern_image_adam_pbf16_gbf16__sm_90a_end
quern_image_adam_pbf16_gbf16__sm_90a:
#if QUERN_HAS_NVCC
    .incbin "sm_90a/adam_pbf16_gbf16.fatbin"
#endif
    .byte 0
quern_image_adam_pbf16_gbf16__sm_90a_end = . - 1
#endif
#if QUERN_SELECTED(sm_90a, adam_pf32_gf32_full)
    .balign 64
    .global quern_image_adam_pf32_gf32_full__sm_90a, quern_image_adam_pf32_gf32_full__sm_90a_end
    .hidden quern_image_adam_pf32_gf32_full__sm_90a, quern_image_adam_pf32_gf32_full__sm_90a_end
quern_image_adam_pf32_gf32_full__sm_90a:
#if QUERN_HAS_NVCC
    .incbin "sm_90a/adam_pf32_gf32_full.fatbin"
#endif
    .byte 0
quern_image_adam_pf32_gf32_full__sm_90a_end = . - 1
#endif
#if QUERN_SELECTED(sm_90a, adam_pf32_gbf16_full)
    .balign 64
    .global quern_image_adam_pf32_gbf16_full__sm_90a, quern_image_adam_pf32_gbf16_full__sm_90a_end
    .hidden quern_image_adam_pf32_gbf16_full__sm_90a, quern_image_adam_pf32_gbf16_full__sm_90a_end
quern_image_adam_pf32_gbf16_full__sm_90a:
#if QUERN_HAS_NVCC
    .incbin "sm_90a/adam_pf32_gbf16_full.fatbin"
#endif
    .byte 0
quern_image_adam_pf32_gbf16_full__sm_90a_end = . - 1
#endif
#if QUERN_SELECTED(sm_90a, adam_pf16_gf16_full)
    .balign 64
    .global quern_image_adam_pf16_gf16_full__sm_90a, quern_image_adam_pf16_gf16_full__sm_90a_end
    .hidden quern_image_adam_pf16_gf16_full__sm_90a, quern_image_adam_pf16_gf16_full__sm_90a_end
quern_image_adam_pf16_gf16_full__sm_90a:
#if QUERN_HAS_NVCC
    .incbin "sm_90a/adam_pf16_gf16_full.fatbin"
#endif
    .byte 0
quern_image_adam_pf16_gf16_full__sm_90a_end = . - 1
#endif
#if QUERN_SELECTED(sm_90a, adam_pbf16_gf32_full)
    .balign 64
    .global quern_image_adam_pbf16_gf32_full__sm_90a, quern_image_adam_pbf16_gf32_full__sm_90a_end
    .hidden quern_image_adam_pbf16_gf32_full__sm_90a, quern_image_adam_pbf16_gf32_full__sm_90a_end
quern_image_adam_pbf16_gf32_full__sm_90a:
#if QUERN_HAS_NVCC
    .incbin "sm_90a/adam_pbf16_gf32_full.fatbin"
#endif
    .byte 0
quern_image_adam_pbf16_gf32_full__sm_90a_end = . - 1
#endif
#if QUERN_SELECTED(sm_90a, adam_pbf16_gbf16_full)
    .balign 64
    .global quern_image_adam_pbf16_gbf16_full__sm_90a, quern_image_adam_pbf16_gbf16_full__sm_90a_end
    .hidden quern_image_adam_pbf16_gbf16_full__sm_90a, quern_image_adam_pbf16_gbf16_full__sm_90a_end
quern_image_adam_pbf16_gbf16_full__sm_90a:
#if QUERN_HAS_NVCC
    .incbin "sm_90a/adam_pbf16_gbf16_full.fatbin"
#endif
    .byte 0
quern_image_adam_pbf16_gbf16_full__sm_90a_end = . - 1
#endif
#if QUERN_SELECTED(sm_90a, gradient_norm)
    .balign 64
    .global quern_image_gradient_norm__sm_90a, quern_image_gradient_norm__sm_90a_end
    .hidden quern_image_gradient_norm__sm_90a, quern_image_gradient_norm__sm_90a_end
quern_image_gradient_norm__sm_90a:
#if QUERN_HAS_NVCC
    .incbin "sm_90a/gradient_norm.fatbin"
#endif
    .byte 0
quern_image_gradient_norm__sm_90a_end = . - 1
#endif
#if QUERN_SELECTED(sm_90a, gradient_norm_combine)
    .balign 64
    .global quern_image_gradient_norm_combine__sm_90a, quern_image_gradient_norm_combine__sm_90a_end
    .hidden quern_image_gradient_norm_combine__sm_90a, quern_image_gradient_norm_combine__sm_90a_end
quern_image_gradient_norm_combine__sm_90a:
#if QUERN_HAS_NVCC
    .incbin "sm_90a/gradient_norm_combine.fatbin"
#endif
    .byte 0
quern_image_gradient_norm_combine__sm_90a_end = . - 1
#endif
#if QUERN_SELECTED(sm_90a, gradient_accumulate)
    .balign 64
    .global quern_image_gradient_accumulate__sm_90a, quern_image_gradient_accumulate__sm_90a_end
    .hidden quern_image_gradient_accumulate__sm_90a, quern_image_gradient_accumulate__sm_90a_end
quern_image_gradient_accumulate__sm_90a:
#if QUERN_HAS_NVCC
    .incbin "sm_90a/gradient_accumulate.fatbin"
#endif
    .byte 0
quern_image_gradient_accumulate__sm_90a_end = . - 1
#endif
#if QUERN_SELECTED(sm_90a, tensor_steps)
    .balign 64
    .global quern_image_tensor_steps__sm_90a, quern_image_tensor_steps__sm_90a_end
    .hidden quern_image_tensor_steps__sm_90a, quern_image_tensor_steps__sm_90a_end
quern_image_tensor_steps__sm_90a:
#if QUERN_HAS_NVCC
    .incbin "sm_90a/tensor_steps.fatbin"
#endif
    .byte 0
quern_image_tensor_steps__sm_90a_end = . - 1
#endif
#if QUERN_SELECTED(sm_89, adam_pf32_gf32)
    .balign 64
    .global quern_image_adam_pf32_gf32__sm_89, quern_image_adam_pf32_gf32__sm_89_end
    .hidden quern_image_adam_pf32_gf32__sm_89, quern_image_adam_pf32_gf32__sm_89_end
quern_image_adam_pf32_gf32__sm_89:
#if QUERN_HAS_NVCC
    .incbin "sm_89/adam_pf32_gf32.fatbin"
#endif
    .byte 0
quern_image_adam_pf32_gf32__sm_89_end = . - 1
#endif
#if QUERN_SELECTED(sm_89, adam_pf32_gf16)
    .balign 64
    .global quern_image_adam_pf32_gf16__sm_89, quern_image_adam_pf32_gf16__sm_89_end
    .hidden quern_image_adam_pf32_gf16__sm_89, quern_image_adam_pf32_gf16__sm_89_end
quern_image_adam_pf32_gf16__sm_89:
#if QUERN_HAS_NVCC
    .incbin "sm_89/adam_pf32_gf16.fatbin"
#endif
    .byte 0
quern_image_adam_pf32_gf16__sm_89_end = . - 1
#endif
#if QUERN_SELECTED(sm_89, adam_pf32_gbf16)
    .balign 64
    .global quern_image_adam_pf32_gbf16__sm_89, quern_image_adam_pf32_gbf16__sm_89_end
    .hidden quern_image_adam_pf32_gbf16__sm_89, quern_image_adam_pf32_gbf16__sm_89_end
quern_image_adam_pf32_gbf16__sm_89:
#if QUERN_HAS_NVCC
    .incbin "sm_89/adam_pf32_gbf16.fatbin"
#endif
    .byte 0
quern_image_adam_pf32_gbf16__sm_89_end = . - 1
#endif
#if QUERN_SELECTED(sm_89, adam_pf16_gf32)
    .balign 64
    .global quern_image_adam_pf16_gf32__sm_89, quern_image_adam_pf16_gf32__sm_89_end
    .hidden quern_image_adam_pf16_gf32__sm_89, quern_image_adam_pf16_gf32__sm_89_end
quern_image_adam_pf16_gf32__sm_89:
#if QUERN_HAS_NVCC
    .incbin "sm_89/adam_pf16_gf32.fatbin"
#endif
    .byte 0
quern_image_adam_pf16_gf32__sm_89_end = . - 1
#endif
#if QUERN_SELECTED(sm_89, adam_pf16_gf16)
    .balign 64
    .global quern_image_adam_pf16_gf16__sm_89, quern_image_adam_pf16_gf16__sm_89_end
    .hidden quern_image_adam_pf16_gf16__sm_89, quern_image_adam_pf16_gf16__sm_89_end
quern_image_adam_pf16_gf16__sm_89:
#if QUERN_HAS_NVCC
    .incbin "sm_89/adam_pf16_gf16.fatbin"
#endif
    .byte 0
quern_image_adam_pf16_gf16__sm_89_end = . - 1
#endif
#if QUERN_SELECTED(sm_89, adam_pbf16_gf32)
    .balign 64
    .global quern_image_adam_pbf16_gf32__sm_89, quern_image_adam_pbf16_gf32__sm_89_end
    .hidden quern_image_adam_pbf16_gf32__sm_89, quern_image_adam_pbf16_gf32__sm_89_end
quern_image_adam_pbf16_gf32__sm_89:
#if QUERN_HAS_NVCC
    .incbin "sm_89/adam_pbf16_gf32.fatbin"
#endif
    .byte 0
quern_image_adam_pbf16_gf32__sm_89_end = . - 1
#endif
#if QUERN_SELECTED(sm_89, adam_pbf16_gbf16)
    .balign 64
    .global quern_image_adam_pbf16_gbf16__sm_89, quern_image_adam_pbf16_gbf16__sm_89_end
    .hidden quern_image_adam_pbf16_gbf16__sm_89, quern_image_adam_pbf16_gbf16__sm_89_end
quern_image_adam_pbf16_gbf16__sm_89:
#if QUERN_HAS_NVCC
    .incbin "sm_89/adam_pbf16_gbf16.fatbin"
#endif
    .byte 0
quern_image_adam_pbf16_gbf16__sm_89_end = . - 1
#endif
#if QUERN_SELECTED(sm_89, adam_pf32_gf32_full)
    .balign 64
    .global quern_image_adam_pf32_gf32_full__sm_89, quern_image_adam_pf32_gf32_full__sm_89_end
    .hidden quern_image_adam_pf32_gf32_full__sm_89, quern_image_adam_pf32_gf32_full__sm_89_end
quern_image_adam_pf32_gf32_full__sm_89:
#if QUERN_HAS_NVCC
    .incbin "sm_89/adam_pf32_gf32_full.fatbin"
#endif
    .byte 0
quern_image_adam_pf32_gf32_full__sm_89_end = . - 1
#endif
#if QUERN_SELECTED(sm_89, adam_pf32_gbf16_full)
    .balign 64
    .global quern_image_adam_pf32_gbf16_full__sm_89, quern_image_adam_pf32_gbf16_full__sm_89_end
    .hidden quern_image_adam_pf32_gbf16_full__sm_89, quern_image_adam_pf32_gbf16_full__sm_89_end
quern_image_adam_pf32_gbf16_full__sm_89:
#if QUERN_HAS_NVCC
    .incbin "sm_89/adam_pf32_gbf16_full.fatbin"
#endif
    .byte 0
quern_image_adam_pf32_gbf16_full__sm_89_end = . - 1
#endif
#if QUERN_SELECTED(sm_89, adam_pf16_gf16_full)
    .balign 64
    .global quern_image_adam_pf16_gf16_full__sm_89, quern_image_adam_pf16_gf16_full__sm_89_end
    .hidden quern_image_adam_pf16_gf16_full__sm_89, quern_image_adam_pf16_gf16_full__sm_89_end
quern_image_adam_pf16_gf16_full__sm_89:
#if QUERN_HAS_NVCC
    .incbin "sm_89/adam_pf16_gf16_full.fatbin"
#endif
    .byte 0
quern_image_adam_pf16_gf16_full__sm_89_end = . - 1
#endif
#if QUERN_SELECTED(sm_89, adam_pbf16_gf32_full)
    .balign 64
    .global quern_image_adam_pbf16_gf32_full__sm_89, quern_image_adam_pbf16_gf32_full__sm_89_end
    .hidden quern_image_adam_pbf16_gf32_full__sm_89, quern_image_adam_pbf16_gf32_full__sm_89_end
quern_image_adam_pbf16_gf32_full__sm_89:
#if QUERN_HAS_NVCC
    .incbin "sm_89/adam_pbf16_gf32_full.fatbin"
#endif
    .byte 0
quern_image_adam_pbf16_gf32_full__sm_89_end = . - 1
#endif
#if QUERN_SELECTED(sm_89, adam_pbf16_gbf16_full)
    .balign 64
    .global quern_image_adam_pbf16_gbf16_full__sm_89, quern_image_adam_pbf16_gbf16_full__sm_89_end
    .hidden quern_image_adam_pbf16_gbf16_full__sm_89, quern_image_adam_pbf16_gbf16_full__sm_89_end
quern_image_adam_pbf16_gbf16_full__sm_89:
#if QUERN_HAS_NVCC
    .incbin "sm_89/adam_pbf16_gbf16_full.fatbin"
#endif
    .byte 0
quern_image_adam_pbf16_gbf16_full__sm_89_end = . - 1
#endif
#if QUERN_SELECTED(sm_89, gradient_norm)
    .balign 64
    .global quern_image_gradient_norm__sm_89, quern_image_gradient_norm__sm_89_end
    .hidden quern_image_gradient_norm__sm_89, quern_image_gradient_norm__sm_89_end
quern_image_gradient_norm__sm_89:
#if QUERN_HAS_NVCC
    .incbin "sm_89/gradient_norm.fatbin"
#endif
    .byte 0
quern_image_gradient_norm__sm_89_end = . - 1
#endif
#if QUERN_SELECTED(sm_89, gradient_norm_combine)
    .balign 64
    .global quern_image_gradient_norm_combine__sm_89, quern_image_gradient_norm_combine__sm_89_end
    .hidden quern_image_gradient_norm_combine__sm_89, quern_image_gradient_norm_combine__sm_89_end
quern_image_gradient_norm_combine__sm_89:
#if QUERN_HAS_NVCC
    .incbin "sm_89/gradient_norm_combine.fatbin"
#endif
    .byte 0
quern_image_gradient_norm_combine__sm_89_end = . - 1
#endif
#if QUERN_SELECTED(sm_89, gradient_accumulate)
    .balign 64
    .global quern_image_gradient_accumulate__sm_89, quern_image_gradient_accumulate__sm_89_end
    .hidden quern_image_gradient_accumulate__sm_89, quern_image_gradient_accumulate__sm_89_end
quern_image_gradient_accumulate__sm_89:
#if QUERN_HAS_NVCC
    .incbin "sm_89/gradient_accumulate.fatbin"
#endif
    .byte 0
quern_image_gradient_accumulate__sm_89_end = . - 1
#endif
#if QUERN_SELECTED(sm_89, tensor_steps)
    .balign 64
    .global quern_image_tensor_steps__sm_89, quern_image_tensor_steps__sm_89_end
    .hidden quern_image_tensor_steps__sm_89, quern_image_tensor_steps__sm_89_end
quern_image_tensor_steps__sm_89:
#if QUERN_HAS_NVCC
    .incbin "sm_89/tensor_steps.fatbin"
#endif
    .byte 0
quern_image_tensor_steps__sm_89_end = . - 1
#endif
#if QUERN_SELECTED(sm_86, adam_pf32_gf32)
    .balign 64
    .global quern_image_adam_pf32_gf32__sm_86, quern_image_adam_pf32_gf32__sm_86_end
    .hidden quern_image_adam_pf32_gf32__sm_86, quern_image_adam_pf32_gf32__sm_86_end
quern_image_adam_pf32_gf32__sm_86:
#if QUERN_HAS_NVCC
    .incbin "sm_86/adam_pf32_gf32.fatbin"
#endif
    .byte 0
quern_image_adam_pf32_gf32__sm_86_end = . - 1
#endif
#if QUERN_SELECTED(sm_86, adam_pf32_gf16)
    .balign 64
    .global quern_image_adam_pf32_gf16__sm_86, quern_image_adam_pf32_gf16__sm_86_end
    .hidden quern_image_adam_pf32_gf16__sm_86, quern_image_adam_pf32_gf16__sm_86_end
quern_image_adam_pf32_gf16__sm_86:
#if QUERN_HAS_NVCC
    .incbin "sm_86/adam_pf32_gf16.fatbin"
#endif
    .byte 0
quern_image_adam_pf32_gf16__sm_86_end = . - 1
#endif
#if QUERN_SELECTED(sm_86, adam_pf32_gbf16)
    .balign 64
    .global quern_image_adam_pf32_gbf16__sm_86, quern_image_adam_pf32_gbf16__sm_86_end
    .hidden quern_image_adam_pf32_gbf16__sm_86, quern_image_adam_pf32_gbf16__sm_86_end
quern_image_adam_pf32_gbf16__sm_86:
#if QUERN_HAS_NVCC
    .incbin "sm_86/adam_pf32_gbf16.fatbin"
#endif
    .byte 0
quern_image_adam_pf32_gbf16__sm_86_end = . - 1
#endif
#if QUERN_SELECTED(sm_86, adam_pf16_gf32)
    .balign 64
    .global quern_image_adam_pf16_gf32__sm_86, quern_image_adam_pf16_gf32__sm_86_end
    .hidden quern_image_adam_pf16_gf32__sm_86, quern_image_adam_pf16_gf32__sm_86_end
quern_image_adam_pf16_gf32__sm_86:
#if QUERN_HAS_NVCC
    .incbin "sm_86/adam_pf16_gf32.fatbin"
#endif
    .byte 0
quern_image_adam_pf16_gf32__sm_86_end = . - 1
#endif
#if QUERN_SELECTED(sm_86, adam_pf16_gf16)
    .balign 64
    .global quern_image_adam_pf16_gf16__sm_86, quern_image_adam_pf16_gf16__sm_86_end
    .hidden quern_image_adam_pf16_gf16__sm_86, quern_image_adam_pf16_gf16__sm_86_end
quern_image_adam_pf16_gf16__sm_86:
#if QUERN_HAS_NVCC
    .incbin "sm_86/adam_pf16_gf16.fatbin"
#endif
    .byte 0
quern_image_adam_pf16_gf16__sm_86_end = . - 1
#endif
#if QUERN_SELECTED(sm_86, adam_pbf16_gf32)
    .balign 64
    .global quern_image_adam_pbf16_gf32__sm_86, quern_image_adam_pbf16_gf32__sm_86_end
    .hidden quern_image_adam_pbf16_gf32__sm_86, quern_image_adam_pbf16_gf32__sm_86_end
quern_image_adam_pbf16_gf32__sm_86:
#if QUERN_HAS_NVCC
    .incbin "sm_86/adam_pbf16_gf32.fatbin"
#endif
    .byte 0
quern_image_adam_pbf16_gf32__sm_86_end = . - 1
#endif
#if QUERN_SELECTED(sm_86, adam_pbf16_gbf16)
    .balign 64
    .global quern_image_adam_pbf16_gbf16__sm_86, quern_image_adam_pbf16_gbf16__sm_86_end
    .hidden quern_image_adam_pbf16_gbf16__sm_86, quern_image_adam_pbf16_gbf16__sm_86_end
quern_image_adam_pbf16_gbf16__sm_86:
#if QUERN_HAS_NVCC
    .incbin "sm_86/adam_pbf16_gbf16.fatbin"
#endif
    .byte 0
quern_image_adam_pbf16_gbf16__sm_86_end = . - 1
#endif
#if QUERN_SELECTED(sm_86, adam_pf32_gf32_full)
    .balign 64
    .global quern_image_adam_pf32_gf32_full__sm_86, quern_image_adam_pf32_gf32_full__sm_86_end
    .hidden quern_image_adam_pf32_gf32_full__sm_86, quern_image_adam_pf32_gf32_full__sm_86_end
quern_image_adam_pf32_gf32_full__sm_86:
#if QUERN_HAS_NVCC
    .incbin "sm_86/adam_pf32_gf32_full.fatbin"
#endif
    .byte 0
quern_image_adam_pf32_gf32_full__sm_86_end = . - 1
#endif
#if QUERN_SELECTED(sm_86, adam_pf32_gbf16_full)
    .balign 64
    .global quern_image_adam_pf32_gbf16_full__sm_86, quern_image_adam_pf32_gbf16_full__sm_86_end
    .hidden quern_image_adam_pf32_gbf16_full__sm_86, quern_image_adam_pf32_gbf16_full__sm_86_end
quern_image_adam_pf32_gbf16_full__sm_86:
#if QUERN_HAS_NVCC
    .incbin "sm_86/adam_pf32_gbf16_full.fatbin"
#endif
    .byte 0
quern_image_adam_pf32_gbf16_full__sm_86_end = . - 1
#endif
#if QUERN_SELECTED(sm_86, adam_pf16_gf16_full)
    .balign 64
    .global quern_image_adam_pf16_gf16_full__sm_86, quern_image_adam_pf16_gf16_full__sm_86_end
    .hidden quern_image_adam_pf16_gf16_full__sm_86, quern_image_adam_pf16_gf16_full__sm_86_end
quern_image_adam_pf16_gf16_full__sm_86:
#if QUERN_HAS_NVCC
    .incbin "sm_86/adam_pf16_gf16_full.fatbin"
#endif
    .byte 0
quern_image_adam_pf16_gf16_full__sm_86_end = . - 1
#endif
#if QUERN_SELECTED(sm_86, adam_pbf16_gf32_full)
    .balign 64
    .global quern_image_adam_pbf16_gf32_full__sm_86, quern_image_adam_pbf16_gf32_full__sm_86_end
    .hidden quern_image_adam_pbf16_gf32_full__sm_86, quern_image_adam_pbf16_gf32_full__sm_86_end
quern_image_adam_pbf16_gf32_full__sm_86:
#if QUERN_HAS_NVCC
    .incbin "sm_86/adam_pbf16_gf32_full.fatbin"
#endif
    .byte 0
quern_image_adam_pbf16_gf32_full__sm_86_end = . - 1
#endif
#if QUERN_SELECTED(sm_86, adam_pbf16_gbf16_full)
    .balign 64
    .global quern_image_adam_pbf16_gbf16_full__sm_86, quern_image_adam_pbf16_gbf16_full__sm_86_end
    .hidden quern_image_adam_pbf16_gbf16_full__sm_86, quern_image_adam_pbf16_gbf16_full__sm_86_end
quern_image_adam_pbf16_gbf16_full__sm_86:
#if QUERN_HAS_NVCC
    .incbin "sm_86/adam_pbf16_gbf16_full.fatbin"
#endif
    .byte 0
quern_image_adam_pbf16_gbf16_full__sm_86_end = . - 1
#endif
#if QUERN_SELECTED(sm_86, gradient_norm)
    .balign 64
    .global quern_image_gradient_norm__sm_86, quern_image_gradient_norm__sm_86_end
    .hidden quern_image_gradient_norm__sm_86, quern_image_gradient_norm__sm_86_end
quern_image_gradient_norm__sm_86:
#if QUERN_HAS_NVCC
    .incbin "sm_86/gradient_norm.fatbin"
#endif
    .byte 0
quern_image_gradient_norm__sm_86_end = . - 1
#endif
#if QUERN_SELECTED(sm_86, gradient_norm_combine)
    .balign 64
    .global quern_image_gradient_norm_combine__sm_86, quern_image_gradient_norm_combine__sm_86_end
    .hidden quern_image_gradient_norm_combine__sm_86, quern_image_gradient_norm_combine__sm_86_end
quern_image_gradient_norm_combine__sm_86:
#if QUERN_HAS_NVCC
    .incbin "sm_86/gradient_norm_combine.fatbin"
#endif
    .byte 0
quern_image_gradient_norm_combine__sm_86_end = . - 1
#endif
#if QUERN_SELECTED(sm_86, gradient_accumulate)
    .balign 64
    .global quern_image_gradient_accumulate__sm_86, quern_image_gradient_accumulate__sm_86_end
    .hidden quern_image_gradient_accumulate__sm_86, quern_image_gradient_accumulate__sm_86_end
quern_image_gradient_accumulate__sm_86:
#if QUERN_HAS_NVCC
    .incbin "sm_86/gradient_accumulate.fatbin"
#endif
    .byte 0
quern_image_gradient_accumulate__sm_86_end = . - 1
#endif
#if QUERN_SELECTED(sm_86, tensor_steps)
    .balign 64
    .global quern_image_tensor_steps__sm_86, quern_image_tensor_steps__sm_86_end
    .hidden quern_image_tensor_steps__sm_86, quern_image_tensor_steps__sm_86_end
quern_image_tensor_steps__sm_86:
#if QUERN_HAS_NVCC
    .incbin "sm_86/tensor_steps.fatbin"
#endif
    .byte 0
quern_image_tensor_steps__sm_86_end = . - 1
#endif
#if QUERN_SELECTED(sm_80, adam_pf32_gf32)
    .balign 64
    .global quern_image_adam_pf32_gf32__sm_80, quern_image_adam_pf32_gf32__sm_80_end
    .hidden quern_image_adam_pf32_gf32__sm_80, quern_image_adam_pf32_gf32__sm_80_end
quern_image_adam_pf32_gf32__sm_80:
#if QUERN_HAS_NVCC
    .incbin "sm_80/adam_pf32_gf32.fatbin"
#endif
    .byte 0
quern_image_adam_pf32_gf32__sm_80_end = . - 1
#endif
#if QUERN_SELECTED(sm_80, adam_pf32_gf16)
    .balign 64
    .global quern_image_adam_pf32_gf16__sm_80, quern_image_adam_pf32_gf16__sm_80_end
    .hidden quern_image_adam_pf32_gf16__sm_80, quern_image_adam_pf32_gf16__sm_80_end
quern_image_adam_pf32_gf16__sm_80:
#if QUERN_HAS_NVCC
    .incbin "sm_80/adam_pf32_gf16.fatbin"
#endif
    .byte 0
quern_image_adam_pf32_gf16__sm_80_end = . - 1
#endif
#if QUERN_SELECTED(sm_80, adam_pf32_gbf16)
    .balign 64
    .global quern_image_adam_pf32_gbf16__sm_80, quern_image_adam_pf32_gbf16__sm_80_end
    .hidden quern_image_adam_pf32_gbf16__sm_80, quern_image_adam_pf32_gbf16__sm_80_end
quern_image_adam_pf32_gbf16__sm_80:
#if QUERN_HAS_NVCC
    .incbin "sm_80/adam_pf32_gbf16.fatbin"
#endif
    .byte 0
quern_image_adam_pf32_gbf16__sm_80_end = . - 1
#endif
#if QUERN_SELECTED(sm_80, adam_pf16_gf32)
    .balign 64
    .global quern_image_adam_pf16_gf32__sm_80, quern_image_adam_pf16_gf32__sm_80_end
    .hidden quern_image_adam_pf16_gf32__sm_80, quern_image_adam_pf16_gf32__sm_80_end
quern_image_adam_pf16_gf32__sm_80:
#if QUERN_HAS_NVCC
    .incbin "sm_80/adam_pf16_gf32.fatbin"
#endif
    .byte 0
quern_image_adam_pf16_gf32__sm_80_end = . - 1
#endif
#if QUERN_SELECTED(sm_80, adam_pf16_gf16)
    .balign 64
    .global quern_image_adam_pf16_gf16__sm_80, quern_image_adam_pf16_gf16__sm_80_end
    .hidden quern_image_adam_pf16_gf16__sm_80, quern_image_adam_pf16_gf16__sm_80_end
quern_image_adam_pf16_gf16__sm_80:
#if QUERN_HAS_NVCC
    .incbin "sm_80/adam_pf16_gf16.fatbin"
#endif
    .byte 0
quern_image_adam_pf16_gf16__sm_80_end = . - 1
#endif
#if QUERN_SELECTED(sm_80, adam_pbf16_gf32)
    .balign 64
    .global quern_image_adam_pbf16_gf32__sm_80, quern_image_adam_pbf16_gf32__sm_80_end
    .hidden quern_image_adam_pbf16_gf32__sm_80, quern_image_adam_pbf16_gf32__sm_80_end
quern_image_adam_pbf16_gf32__sm_80:
#if QUERN_HAS_NVCC
    .incbin "sm_80/adam_pbf16_gf32.fatbin"
#endif
    .byte 0
quern_image_adam_pbf16_gf32__sm_80_end = . - 1
#endif
#if QUERN_SELECTED(sm_80, adam_pbf16_gbf16)
    .balign 64
    .global quern_image_adam_pbf16_gbf16__sm_80, quern_image_adam_pbf16_gbf16__sm_80_end
    .hidden quern_image_adam_pbf16_gbf16__sm_80, quern_image_adam_pbf16_gbf16__sm_80_end
quern_image_adam_pbf16_gbf16__sm_80:
#if QUERN_HAS_NVCC
    .incbin "sm_80/adam_pbf16_gbf16.fatbin"
#endif
    .byte 0
quern_image_adam_pbf16_gbf16__sm_80_end = . - 1
#endif
#if QUERN_SELECTED(sm_80, adam_pf32_gf32_full)
    .balign 64
    .global quern_image_adam_pf32_gf32_full__sm_80, quern_image_adam_pf32_gf32_full__sm_80_end
    .hidden quern_image_adam_pf32_gf32_full__sm_80, quern_image_adam_pf32_gf32_full__sm_80_end
quern_image_adam_pf32_gf32_full__sm_80:
#if QUERN_HAS_NVCC
    .incbin "sm_80/adam_pf32_gf32_full.fatbin"
#endif
    .byte 0
quern_image_adam_pf32_gf32_full__sm_80_end = . - 1
#endif
#if QUERN_SELECTED(sm_80, adam_pf32_gbf16_full)
    .balign 64
    .global quern_image_adam_pf32_gbf16_full__sm_80, quern_image_adam_pf32_gbf16_full__sm_80_end
    .hidden quern_image_adam_pf32_gbf16_full__sm_80, quern_image_adam_pf32_gbf16_full__sm_80_end
quern_image_adam_pf32_gbf16_full__sm_80:
#if QUERN_HAS_NVCC
    .incbin "sm_80/adam_pf32_gbf16_full.fatbin"
#endif
    .byte 0
quern_image_adam_pf32_gbf16_full__sm_80_end = . - 1
#endif
#if QUERN_SELECTED(sm_80, adam_pf16_gf16_full)
    .balign 64
    .global quern_image_adam_pf16_gf16_full__sm_80, quern_image_adam_pf16_gf16_full__sm_80_end
    .hidden quern_image_adam_pf16_gf16_full__sm_80, quern_image_adam_pf16_gf16_full__sm_80_end
quern_image_adam_pf16_gf16_full__sm_80:
#if QUERN_HAS_NVCC
    .incbin "sm_80/adam_pf16_gf16_full.fatbin"
#endif
    .byte 0
quern_image_adam_pf16_gf16_full__sm_80_end = . - 1
#endif
#if QUERN_SELECTED(sm_80, adam_pbf16_gf32_full)
    .balign 64
    .global quern_image_adam_pbf16_gf32_full__sm_80, quern_image_adam_pbf16_gf32_full__sm_80_end
    .hidden quern_image_adam_pbf16_gf32_full__sm_80, quern_image_adam_pbf16_gf32_full__sm_80_end
quern_image_adam_pbf16_gf32_full__sm_80:
#if QUERN_HAS_NVCC
    .incbin "sm_80/adam_pbf16_gf32_full.fatbin"
#endif
    .byte 0
quern_image_adam_pbf16_gf32_full__sm_80_end = . - 1
#endif
#if QUERN_SELECTED(sm_80, adam_pbf16_gbf16_full)
    .balign 64
    .global quern_image_adam_pbf16_gbf16_full__sm_80, quern_image_adam_pbf16_gbf16_full__sm_80_end
    .hidden quern_image_adam_pbf16_gbf16_full__sm_80, quern_image_adam_pbf16_gbf16_full__sm_80_end
quern_image_adam_pbf16_gbf16_full__sm_80:
#if QUERN_HAS_NVCC
    .incbin "sm_80/adam_pbf16_gbf16_full.fatbin"
#endif
    .byte 0
quern_image_adam_pbf16_gbf16_full__sm_80_end = . - 1
#endif
#if QUERN_SELECTED(sm_80, gradient_norm)
    .balign 64
    .global quern_image_gradient_norm__sm_80, quern_image_gradient_norm__sm_80_end
    .hidden quern_image_gradient_norm__sm_80, quern_image_gradient_norm__sm_80_end
quern_image_gradient_norm__sm_80:
#if QUERN_HAS_NVCC
    .incbin "sm_80/gradient_norm.fatbin"
#endif
    .byte 0
quern_image_gradient_norm__sm_80_end = . - 1
#endif
#if QUERN_SELECTED(sm_80, gradient_norm_combine)
    .balign 64
    .global quern_image_gradient_norm_combine__sm_80, quern_image_gradient_norm_combine__sm_80_end
    .hidden quern_image_gradient_norm_combine__sm_80, quern_image_gradient_norm_combine__sm_80_end
quern_image_gradient_norm_combine__sm_80:
#if QUERN_HAS_NVCC
    .incbin "sm_80/gradient_norm_combine.fatbin"
#endif
    .byte 0
quern_image_gradient_norm_combine__sm_80_end = . - 1
#endif
#if QUERN_SELECTED(sm_80, gradient_accumulate)
    .balign 64
    .global quern_image_gradient_accumulate__sm_80, quern_image_gradient_accumulate__sm_80_end
    .hidden quern_image_gradient_accumulate__sm_80, quern_image_gradient_accumulate__sm_80_end
quern_image_gradient_accumulate__sm_80:
#if QUERN_HAS_NVCC
    .incbin "sm_80/gradient_accumulate.fatbin"
#endif
    .byte 0
quern_image_gradient_accumulate__sm_80_end = . - 1
#endif
#if QUERN_SELECTED(sm_80, tensor_steps)
    .balign 64
    .global quern_image_tensor_steps__sm_80, quern_image_tensor_steps__sm_80_end
    .hidden quern_image_tensor_steps__sm_80, quern_image_tensor_steps__sm_80_end
quern_image_tensor_steps__sm_80:
#if QUERN_HAS_NVCC
    .incbin "sm_80/tensor_steps.fatbin"
#endif
    .byte 0
quern_image_tensor_steps__sm_80_end = . - 1
#endif
#if QUERN_SELECTED(sm_75, adam_pf32_gf32)
    .balign 64
    .global quern_image_adam_pf32_gf32__sm_75, quern_image_adam_pf32_gf32__sm_75_end
    .hidden quern_image_adam_pf32_gf32__sm_75, quern_image_adam_pf32_gf32__sm_75_end
quern_image_adam_pf32_gf32__sm_75:
#if QUERN_HAS_NVCC
    .incbin "sm_75/adam_pf32_gf32.fatbin"
#endif
    .byte 0
quern_image_adam_pf32_gf32__sm_75_end = . - 1
#endif
#if QUERN_SELECTED(sm_75, adam_pf32_gf16)
    .balign 64
    .global quern_image_adam_pf32_gf16__sm_75, quern_image_adam_pf32_gf16__sm_75_end
    .hidden quern_image_adam_pf32_gf16__sm_75, quern_image_adam_pf32_gf16__sm_75_end
quern_image_adam_pf32_gf16__sm_75:
#if QUERN_HAS_NVCC
    .incbin "sm_75/adam_pf32_gf16.fatbin"
#endif
    .byte 0
quern_image_adam_pf32_gf16__sm_75_end = . - 1
#endif
#if QUERN_SELECTED(sm_75, adam_pf32_gbf16)
    .balign 64
    .global quern_image_adam_pf32_gbf16__sm_75, quern_image_adam_pf32_gbf16__sm_75_end
    .hidden quern_image_adam_pf32_gbf16__sm_75, quern_image_adam_pf32_gbf16__sm_75_end
quern_image_adam_pf32_gbf16__sm_75:
#if QUERN_HAS_NVCC
    .incbin "sm_75/adam_pf32_gbf16.fatbin"
#endif
    .byte 0
quern_image_adam_pf32_gbf16__sm_75_end = . - 1
#endif
#if QUERN_SELECTED(sm_75, adam_pf16_gf32)
    .balign 64
    .global quern_image_adam_pf16_gf32__sm_75, quern_image_adam_pf16_gf32__sm_75_end
    .hidden quern_image_adam_pf16_gf32__sm_75, quern_image_adam_pf16_gf32__sm_75_end
quern_image_adam_pf16_gf32__sm_75:
#if QUERN_HAS_NVCC
    .incbin "sm_75/adam_pf16_gf32.fatbin"
#endif
    .byte 0
quern_image_adam_pf16_gf32__sm_75_end = . - 1
#endif
#if QUERN_SELECTED(sm_75, adam_pf16_gf16)
    .balign 64
    .global quern_image_adam_pf16_gf16__sm_75, quern_image_adam_pf16_gf16__sm_75_end
    .hidden quern_image_adam_pf16_gf16__sm_75, quern_image_adam_pf16_gf16__sm_75_end
quern_image_adam_pf16_gf16__sm_75:
#if QUERN_HAS_NVCC
    .incbin "sm_75/adam_pf16_gf16.fatbin"
#endif
    .byte 0
quern_image_adam_pf16_gf16__sm_75_end = . - 1
#endif
#if QUERN_SELECTED(sm_75, adam_pbf16_gf32)
    .balign 64
    .global quern_image_adam_pbf16_gf32__sm_75, quern_image_adam_pbf16_gf32__sm_75_end
    .hidden quern_image_adam_pbf16_gf32__sm_75, quern_image_adam_pbf16_gf32__sm_75_end
quern_image_adam_pbf16_gf32__sm_75:
#if QUERN_HAS_NVCC
    .incbin "sm_75/adam_pbf16_gf32.fatbin"
#endif
    .byte 0
quern_image_adam_pbf16_gf32__sm_75_end = . - 1
#endif
#if QUERN_SELECTED(sm_75, adam_pbf16_gbf16)
    .balign 64
    .global quern_image_adam_pbf16_gbf16__sm_75, quern_image_adam_pbf16_gbf16__sm_75_end
    .hidden quern_image_adam_pbf16_gbf16__sm_75, quern_image_adam_pbf16_gbf16__sm_75_end
quern_image_adam_pbf16_gbf16__sm_75:
#if QUERN_HAS_NVCC
    .incbin "sm_75/adam_pbf16_gbf16.fatbin"
#endif
    .byte 0
quern_image_adam_pbf16_gbf16__sm_75_end = . - 1
#endif
#if QUERN_SELECTED(sm_75, adam_pf32_gf32_full)
    .balign 64
    .global quern_image_adam_pf32_gf32_full__sm_75, quern_image_adam_pf32_gf32_full__sm_75_end
    .hidden quern_image_adam_pf32_gf32_full__sm_75, quern_image_adam_pf32_gf32_full__sm_75_end
quern_image_adam_pf32_gf32_full__sm_75:
#if QUERN_HAS_NVCC
    .incbin "sm_75/adam_pf32_gf32_full.fatbin"
#endif
    .byte 0
quern_image_adam_pf32_gf32_full__sm_75_end = . - 1
#endif
#if QUERN_SELECTED(sm_75, adam_pf32_gbf16_full)
    .balign 64
    .global quern_image_adam_pf32_gbf16_full__sm_75, quern_image_adam_pf32_gbf16_full__sm_75_end
    .hidden quern_image_adam_pf32_gbf16_full__sm_75, quern_image_adam_pf32_gbf16_full__sm_75_end
quern_image_adam_pf32_gbf16_full__sm_75:
#if QUERN_HAS_NVCC
    .incbin "sm_75/adam_pf32_gbf16_full.fatbin"
#endif
    .byte 0
quern_image_adam_pf32_gbf16_full__sm_75_end = . - 1
#endif
#if QUERN_SELECTED(sm_75, adam_pf16_gf16_full)
    .balign 64
    .global quern_image_adam_pf16_gf16_full__sm_75, quern_image_adam_pf16_gf16_full__sm_75_end
    .hidden quern_image_adam_pf16_gf16_full__sm_75, quern_image_adam_pf16_gf16_full__sm_75_end
quern_image_adam_pf16_gf16_full__sm_75:
#if QUERN_HAS_NVCC
    .incbin "sm_75/adam_pf16_gf16_full.fatbin"
#endif
    .byte 0
quern_image_adam_pf16_gf16_full__sm_75_end = . - 1
#endif
#if QUERN_SELECTED(sm_75, adam_pbf16_gf32_full)
    .balign 64
    .global quern_image_adam_pbf16_gf32_full__sm_75, quern_image_adam_pbf16_gf32_full__sm_75_end
    .hidden quern_image_adam_pbf16_gf32_full__sm_75, quern_image_adam_pbf16_gf32_full__sm_75_end
quern_image_adam_pbf16_gf32_full__sm_75:
#if QUERN_HAS_NVCC
    .incbin "sm_75/adam_pbf16_gf32_full.fatbin"
#endif
    .byte 0
quern_image_adam_pbf16_gf32_full__sm_75_end = . - 1
#endif
#if QUERN_SELECTED(sm_75, adam_pbf16_gbf16_full)
    .balign 64
    .global quern_image_adam_pbf16_gbf16_full__sm_75, quern_image_adam_pbf16_gbf16_full__sm_75_end
    .hidden quern_image_adam_pbf16_gbf16_full__sm_75, quern_image_adam_pbf16_gbf16_full__sm_75_end
quern_image_adam_pbf16_gbf16_full__sm_75:
#if QUERN_HAS_NVCC
    .incbin "sm_75/adam_pbf16_gbf16_full.fatbin"
#endif
    .byte 0
quern_image_adam_pbf16_gbf16_full__sm_75_end = . - 1
#endif
#if QUERN_SELECTED(sm_75, gradient_norm)
    .balign 64
    .global quern_image_gradient_norm__sm_75, quern_image_gradient_norm__sm_75_end
    .hidden quern_image_gradient_norm__sm_75, quern_image_gradient_norm__sm_75_end
quern_image_gradient_norm__sm_75:
#if QUERN_HAS_NVCC
    .incbin "sm_75/gradient_norm.fatbin"
#endif
    .byte 0
quern_image_gradient_norm__sm_75_end = . - 1
#endif
#if QUERN_SELECTED(sm_75, gradient_norm_combine)
    .balign 64
    .global quern_image_gradient_norm_combine__sm_75, quern_image_gradient_norm_combine__sm_75_end
    .hidden quern_image_gradient_norm_combine__sm_75, quern_image_gradient_norm_combine__sm_75_end
quern_image_gradient_norm_combine__sm_75:
#if QUERN_HAS_NVCC
    .incbin "sm_75/gradient_norm_combine.fatbin"
#endif
    .byte 0
quern_image_gradient_norm_combine__sm_75_end = . - 1
#endif
#if QUERN_SELECTED(sm_75, gradient_accumulate)
    .balign 64
    .global quern_image_gradient_accumulate__sm_75, quern_image_gradient_accumulate__sm_75_end
    .hidden quern_image_gradient_accumulate__sm_75, quern_image_gradient_accumulate__sm_75_end
quern_image_gradient_accumulate__sm_75:
#if QUERN_HAS_NVCC
    .incbin "sm_75/gradient_accumulate.fatbin"
#endif
    .byte 0
quern_image_gradient_accumulate__sm_75_end = . - 1
#endif
#if QUERN_SELECTED(sm_75, tensor_steps)
    .balign 64
    .global quern_image_tensor_steps__sm_75, quern_image_tensor_steps__sm_75_end
    .hidden quern_image_tensor_steps__sm_75, quern_image_tensor_steps__sm_75_end
quern_image_tensor_steps__sm_75:
#if QUERN_HAS_NVCC
    .incbin "sm_75/tensor_steps.fatbin"
#endif
    .byte 0
quern_image_tensor_steps__sm_75_end = . - 1
#endif
#if QUERN_SELECTED(compute_90, adam_pf32_gf32)
    .balign 64
    .global quern_image_adam_pf32_gf32__compute_90, quern_image_adam_pf32_gf32__compute_90_end
    .hidden quern_image_adam_pf32_gf32__compute_90, quern_image_adam_pf32_gf32__compute_90_end
quern_image_adam_pf32_gf32__compute_90:
#if QUERN_HAS_NVCC
    .incbin "compute_90/adam_pf32_gf32.fatbin"
#endif
    .byte 0
quern_image_adam_pf32_gf32__compute_90_end = . - 1
#endif
#if QUERN_SELECTED(compute_90, adam_pf32_gf16)
    .balign 64
    .global quern_image_adam_pf32_gf16__compute_90, quern_image_adam_pf32_gf16__compute_90_end
    .hidden quern_image_adam_pf32_gf16__compute_90, quern_image_adam_pf32_gf16__compute_90_end
quern_image_adam_pf32_gf16__compute_90:
#if QUERN_HAS_NVCC
    .incbin "compute_90/adam_pf32_gf16.fatbin"
#endif
    .byte 0
quern_image_adam_pf32_gf16__compute_90_end = . - 1
#endif
#if QUERN_SELECTED(compute_90, adam_pf32_gbf16)
    .balign 64
    .global quern_image_adam_pf32_gbf16__compute_90, quern_image_adam_pf32_gbf16__compute_90_end
    .hidden quern_image_adam_pf32_gbf16__compute_90, quern_image_adam_pf32_gbf16__compute_90_end
quern_image_adam_pf32_gbf16__compute_90:
#if QUERN_HAS_NVCC
    .incbin "compute_90/adam_pf32_gbf16.fatbin"
#endif
    .byte 0
quern_image_adam_pf32_gbf16__compute_90_end = . - 1
#endif
#if QUERN_SELECTED(compute_90, adam_pf16_gf32)
    .balign 64
    .global quern_image_adam_pf16_gf32__compute_90, quern_image_adam_pf16_gf32__compute_90_end
    .hidden quern_image_adam_pf16_gf32__compute_90, quern_image_adam_pf16_gf32__compute_90_end
quern_image_adam_pf16_gf32__compute_90:
#if QUERN_HAS_NVCC
    .incbin "compute_90/adam_pf16_gf32.fatbin"
#endif
    .byte 0
quern_image_adam_pf16_gf32__compute_90_end = . - 1
#endif
#if QUERN_SELECTED(compute_90, adam_pf16_gf16)
    .balign 64
    .global quern_image_adam_pf16_gf16__compute_90, quern_image_adam_pf16_gf16__compute_90_end
    .hidden quern_image_adam_pf16_gf16__compute_90, quern_image_adam_pf16_gf16__compute_90_end
quern_image_adam_pf16_gf16__compute_90:
#if QUERN_HAS_NVCC
    .incbin "compute_90/adam_pf16_gf16.fatbin"
#endif
    .byte 0
quern_image_adam_pf16_gf16__compute_90_end = . - 1
#endif
#if QUERN_SELECTED(compute_90, adam_pbf16_gf32)
    .balign 64
    .global quern_image_adam_pbf16_gf32__compute_90, quern_image_adam_pbf16_gf32__compute_90_end
    .hidden quern_image_adam_pbf16_gf32__compute_90, quern_image_adam_pbf16_gf32__compute_90_end
quern_image_adam_pbf16_gf32__compute_90:
#if QUERN_HAS_NVCC
    .incbin "compute_90/adam_pbf16_gf32.fatbin"
#endif
    .byte 0
quern_image_adam_pbf16_gf32__compute_90_end = . - 1
#endif
#if QUERN_SELECTED(compute_90, adam_pbf16_gbf16)
    .balign 64
    .global quern_image_adam_pbf16_gbf16__compute_90, quern_image_adam_pbf16_gbf16__compute_90_end
    .hidden quern_image_adam_pbf16_gbf16__compute_90, quern_image_adam_pbf16_gbf16__compute_90_end
quern_image_adam_pbf16_gbf16__compute_90:
#if QUERN_HAS_NVCC
    .incbin "compute_90/adam_pbf16_gbf16.fatbin"
#endif
    .byte 0
quern_image_adam_pbf16_gbf16__compute_90_end = . - 1
#endif
#if QUERN_SELECTED(compute_90, adam_pf32_gf32_full)
    .balign 64
    .global quern_image_adam_pf32_gf32_full__compute_90, quern_image_adam_pf32_gf32_full__compute_90_end
    .hidden quern_image_adam_pf32_gf32_full__compute_90, quern_image_adam_pf32_gf32_full__compute_90_end
quern_image_adam_pf32_gf32_full__compute_90:
#if QUERN_HAS_NVCC
    .incbin "compute_90/adam_pf32_gf32_full.fatbin"
#endif
    .byte 0
quern_image_adam_pf32_gf32_full__compute_90_end = . - 1
#endif
#if QUERN_SELECTED(compute_90, adam_pf32_gbf16_full)
    .balign 64
    .global quern_image_adam_pf32_gbf16_full__compute_90, quern_image_adam_pf32_gbf16_full__compute_90_end
    .hidden quern_image_adam_pf32_gbf16_full__compute_90, quern_image_adam_pf32_gbf16_full__compute_90_end
quern_image_adam_pf32_gbf16_full__compute_90:
#if QUERN_HAS_NVCC
    .incbin "compute_90/adam_pf32_gbf16_full.fatbin"
#endif
    .byte 0
quern_image_adam_pf32_gbf16_full__compute_90_end = . - 1
#endif
#if QUERN_SELECTED(compute_90, adam_pf16_gf16_full)
    .balign 64
    .global quern_image_adam_pf16_gf16_full__compute_90, quern_image_adam_pf16_gf16_full__compute_90_end
    .hidden quern_image_adam_pf16_gf16_full__compute_90, quern_image_adam_pf16_gf16_full__compute_90_end
quern_image_adam_pf16_gf16_full__compute_90:
#if QUERN_HAS_NVCC
    .incbin "compute_90/adam_pf16_gf16_full.fatbin"
#endif
    .byte 0
quern_image_adam_pf16_gf16_full__compute_90_end = . - 1
#endif
#if QUERN_SELECTED(compute_90, adam_pbf16_gf32_full)
    .balign 64
    .global quern_image_adam_pbf16_gf32_full__compute_90, quern_image_adam_pbf16_gf32_full__compute_90_end
    .hidden quern_image_adam_pbf16_gf32_full__compute_90, quern_image_adam_pbf16_gf32_full__compute_90_end
quern_image_adam_pbf16_gf32_full__compute_90:
#if QUERN_HAS_NVCC
    .incbin "compute_90/adam_pbf16_gf32_full.fatbin"
#endif
    .byte 0
quern_image_adam_pbf16_gf32_full__compute_90_end = . - 1
#endif
#if QUERN_SELECTED(compute_90, adam_pbf16_gbf16_full)
    .balign 64
    .global quern_image_adam_pbf16_gbf16_full__compute_90, quern_image_adam_pbf16_gbf16_full__compute_90_end
    .hidden quern_image_adam_pbf16_gbf16_full__compute_90, quern_image_adam_pbf16_gbf16_full__compute_90_end
quern_image_adam_pbf16_gbf16_full__compute_90:
#if QUERN_HAS_NVCC
    .incbin "compute_90/adam_pbf16_gbf16_full.fatbin"
#endif
    .byte 0
quern_image_adam_pbf16_gbf16_full__compute_90_end = . - 1
#endif
#if QUERN_SELECTED(compute_90, gradient_norm)
    .balign 64
    .global quern_image_gradient_norm__compute_90, quern_image_gradient_norm__compute_90_end
    .hidden quern_image_gradient_norm__compute_90, quern_image_gradient_norm__compute_90_end
quern_image_gradient_norm__compute_90:
#if QUERN_HAS_NVCC
    .incbin "compute_90/gradient_norm.fatbin"
#endif
    .byte 0
quern_image_gradient_norm__compute_90_end = . - 1
#endif
#if QUERN_SELECTED(compute_90, gradient_norm_combine)
    .balign 64
    .global quern_image_gradient_norm_combine__compute_90, quern_image_gradient_norm_combine__compute_90_end
    .hidden quern_image_gradient_norm_combine__compute_90, quern_image_gradient_norm_combine__compute_90_end
quern_image_gradient_norm_combine__compute_90:
#if QUERN_HAS_NVCC
    .incbin "compute_90/gradient_norm_combine.fatbin"
#endif
    .byte 0
quern_image_gradient_norm_combine__compute_90_end = . - 1
#endif
#if QUERN_SELECTED(compute_90, gradient_accumulate)
    .balign 64
    .global quern_image_gradient_accumulate__compute_90, quern_image_gradient_accumulate__compute_90_end
    .hidden quern_image_gradient_accumulate__compute_90, quern_image_gradient_accumulate__compute_90_end
quern_image_gradient_accumulate__compute_90:
#if QUERN_HAS_NVCC
    .incbin "compute_90/gradient_accumulate.fatbin"
#endif
    .byte 0
quern_image_gradient_accumulate__compute_90_end = . - 1
#endif
#if QUERN_SELECTED(compute_90, tensor_steps)
    .balign 64
    .global quern_image_tensor_steps__compute_90, quern_image_tensor_steps__compute_90_end
    .hidden quern_image_tensor_steps__compute_90, quern_image_tensor_steps__compute_90_end
quern_image_tensor_steps__compute_90:
#if QUERN_HAS_NVCC
    .incbin "compute_90/tensor_steps.fatbin"
#endif
    .byte 0
quern_image_tensor_steps__compute_90_end = . - 1
#endif
    .section .note.GNU-stack, "", @progbits
