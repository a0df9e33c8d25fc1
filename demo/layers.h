/* The layers between the matrix products, forward and backward; rows are tokens, sequence by sequence. */
#ifndef LAYERS_H
#define LAYERS_H

#include <stdint.h>

struct thread_pool;

/* out[r] = in[r] / rms(in[r]) (Zhang and Sennrich 2019, without gain); keeps 1 / rms for the backward pass. */
void rms_norm(struct thread_pool *pool, int64_t rows, int64_t width, const float *in, float *out, float *inverse_rms);

/* Adds the gradient with respect to `in` to in_grad; `out` and inverse_rms are what rms_norm wrote. */
void rms_norm_backward(struct thread_pool *pool, int64_t rows, int64_t width, const float *out, const float *inverse_rms,
                       const float *out_grad, float *in_grad);

/* out = max(in, 0)^2 (So et al. 2021); backward overwrites grad with the gradient with respect to `in`. */
void squared_relu(struct thread_pool *pool, int64_t count, const float *in, float *out);
void squared_relu_backward(struct thread_pool *pool, int64_t count, const float *in, float *grad);

struct attention_shape {
    int64_t sequences, length, heads, head_width;
};

/*
 * Causal self-attention (Vaswani et al. 2017).  qkv [rows, 3 width]: queries, keys and values side by side;
 * out [rows, width]; weights [sequences, heads, length, length] keeps the softmax for the backward pass.
 */
void attention(struct thread_pool *pool, struct attention_shape shape, const float *qkv, float *weights, float *out);

/* Writes qkv_grad; `scratch` is as large as weights. */
void attention_backward(struct thread_pool *pool, struct attention_shape shape, const float *qkv, const float *weights,
                        const float *out_grad, float *qkv_grad, float *scratch);

#endif
