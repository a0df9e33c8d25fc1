// Kernels of which the second starts before the first has ended, by griddepcontrol. Names say what each one does in which order.
#define KERNEL extern "C" __global__ void
#define LET() asm volatile("griddepcontrol.launch_dependents;" ::: "memory")
#define WAIT() asm volatile("griddepcontrol.wait;" ::: "memory")

__device__ __forceinline__ unsigned place() { return blockIdx.x * blockDim.x + threadIdx.x; }

KERNEL let_write(int *data, int value) {
  LET();
  data[place()] = value;
}

KERNEL let_trap() {
  LET();
  __trap();
}

KERNEL write_only(int *data, int value) { data[place()] = value; }

// What a thread writes last is written when the block's last thread has let the next grid start.
KERNEL one_lets_write(int *data, int value) {
  if (threadIdx.x == 0) LET();
  __syncthreads();
  data[place()] = value;
}

KERNEL let_read(const int *data, int *out) {
  LET();
  out[place()] = data[place()];
}

KERNEL wait_read(const int *data, int *out) {
  WAIT();
  out[place()] = data[place()];
}

KERNEL one_waits_read(const int *data, int *out) {
  if (threadIdx.x == 0) WAIT();
  __syncthreads();
  out[place()] = data[place()];
}

KERNEL read_wait(const int *data, int *out) {
  const int early = data[place()];
  WAIT();
  out[place()] = early;
}

// A bulk copy that is issued before the wait.
KERNEL copy_wait(const int *data, int *out) {
  __shared__ alignas(16) int here[64];
  __shared__ unsigned long long copied;
  const unsigned to = (unsigned)__cvta_generic_to_shared(here), done = (unsigned)__cvta_generic_to_shared(&copied);
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared.b64 [%0], 1; fence.mbarrier_init.release.cluster;" :: "r"(done) : "memory");
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], 256;" :: "r"(done) : "memory");
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 256, [%2];"
                 :: "r"(to), "l"(data + place()), "r"(done) : "memory");
  }
  WAIT();
  __syncthreads();
  asm volatile("{ .reg .pred p; again: mbarrier.try_wait.parity.shared.b64 p, [%0], 0; @!p bra again; }" :: "r"(done) : "memory");
  out[place()] = here[threadIdx.x];
}

KERNEL write_wait(int *data, int value) {
  data[place()] = value;
  WAIT();
}

// Between two grids.
KERNEL wait_let_add(const int *data, int *out, int value) {
  WAIT();
  LET();
  out[place()] = data[place()] + value;
}
