/* A BLAS for the demo, the same on each processor: tests/checks/aarch64.py.  Matrices by rows; 112 is CblasTrans. */
void cblas_sgemm(int order, int transpose_a, int transpose_b, int m, int n, int k, float alpha, const float *a, int a_stride,
                 const float *b, int b_stride, float beta, float *c, int c_stride);

void cblas_sgemm(int order, int transpose_a, int transpose_b, int m, int n, int k, float alpha, const float *a, int a_stride,
                 const float *b, int b_stride, float beta, float *c, int c_stride) {
    (void)order;
    for (int i = 0; i < m; i++) {
        for (int j = 0; j < n; j++) {
            float sum = 0, *out = &c[i * c_stride + j];
            for (int l = 0; l < k; l++) {
                float left = transpose_a == 112 ? a[l * a_stride + i] : a[i * a_stride + l];
                float right = transpose_b == 112 ? b[j * b_stride + l] : b[l * b_stride + j];
                sum += left * right;
            }
            *out = (beta == 0 ? 0 : beta * *out) + alpha * sum;
        }
    }
}
