/*
 * The stages of a cross-entropy that serve all types of logits.
 *
 * It is compiled for each target with QUERN_BF16_CONVERT and QUERN_EARLY_START.
 * Rendered by gen/ from templates/cross_entropy/stages.cu.j2; do not edit.
 */
#include "kernels/cuda/cross_entropy_divergence.cuh"
#include "kernels/cuda/cross_entropy_portable_combine.cuh"
#include "kernels/cuda/cross_entropy_stages.cuh"

extern "C" __global__ void __launch_bounds__(32)
cross_entropy_portable_combine(const __grid_constant__ quern_cross_entropy_problem problem) {
    run_portable_combine<32>(problem);
}
extern "C" __global__ void __launch_bounds__(256)
cross_entropy_combine(const __grid_constant__ quern_cross_entropy_problem problem) {
    run_combine<256>(problem);
}
extern "C" __global__ void __launch_bounds__(512)
cross_entropy_labels(const __grid_constant__ quern_cross_entropy_problem problem) {
    run_labels<512>(problem);
}
extern "C" __global__ void __launch_bounds__(1024)
cross_entropy_reduce(const __grid_constant__ quern_cross_entropy_problem problem) {
    run_reduce<1024>(problem);
}
extern "C" __global__ void __launch_bounds__(512)
cross_entropy_columns(const __grid_constant__ quern_columns_problem problem) {
    run_columns<512>(problem);
}
extern "C" __global__ void __launch_bounds__(256)
cross_entropy_log_probs(const __grid_constant__ quern_columns_problem problem) {
    run_log_probs<256>(problem);
}
extern "C" __global__ void __launch_bounds__(128)
cross_entropy_listed(const __grid_constant__ quern_columns_problem problem) {
    run_listed<128>(problem);
}
