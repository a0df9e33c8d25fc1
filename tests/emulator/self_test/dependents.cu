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
