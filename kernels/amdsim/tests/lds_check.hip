// What AMDSIM_LDS_CHECK must name, and what it must leave alone; run one case by name.  A case that the simulator stops
// prints the runtime's error and ends with status 3, any other with 0.  lds_check.cases lists what each must say.
#include "check.h"
#include <string>

constexpr int THREADS = 256;  // four waves

__global__ void missing_barrier(int* out) {
  __shared__ int s[THREADS];
  s[threadIdx.x] = threadIdx.x;
  out[threadIdx.x] = s[blockDim.x - 1 - threadIdx.x];
}
__global__ void with_barrier(int* out) {
  __shared__ int s[THREADS];
  s[threadIdx.x] = threadIdx.x;
  __syncthreads();
  out[threadIdx.x] = s[THREADS - 1 - threadIdx.x];
}
// Every round reads what the round before wrote; without the second barrier a fast wave overwrites what a slow one reads.
__global__ void rounds(int* out, int barriers) {
  __shared__ int s[THREADS];
  int v = threadIdx.x;
  for (int round = 0; round < 3; round++) {
    s[threadIdx.x] = v;
    __syncthreads();
    v += s[(threadIdx.x + 64) % THREADS];
    if (barriers == 2) __syncthreads();
  }
  out[threadIdx.x] = v;
}
__global__ void write_write(int* out) {
  __shared__ int s[64];
  s[threadIdx.x % 64] = threadIdx.x;
  __syncthreads();
  out[threadIdx.x] = s[threadIdx.x % 64];
}
__global__ void uninitialised(int* out, int written) {
  __shared__ volatile int s[64];
  if ((int)threadIdx.x < written) s[threadIdx.x] = 1;
  __syncthreads();
  out[threadIdx.x] = s[threadIdx.x];
}
__global__ void uninitialised_byte(int* out) {
  __shared__ volatile char s[256];
  if (threadIdx.x != 0x21) s[threadIdx.x] = 1;
  __syncthreads();
  out[threadIdx.x] = s[threadIdx.x];
}
__global__ void past_global(int* out, int n) { out[threadIdx.x] = n; }
// Each wave has a quarter of LDS for itself; its lanes run in step, so that no barrier is needed.
__global__ void wave_private(int* out) {
  __shared__ int s[THREADS];
  int* mine = s + threadIdx.x / 64 * 64;
  mine[threadIdx.x % 64] = threadIdx.x;
  __builtin_amdgcn_wave_barrier();
  out[threadIdx.x] = mine[63 - threadIdx.x % 64];
}
__global__ void atomics(int* out) {
  __shared__ int sum;
  if (threadIdx.x == 0) sum = 0;
  __syncthreads();
  atomicAdd(&sum, (int)threadIdx.x);
  __syncthreads();
  out[threadIdx.x] = sum;
}
__global__ void atomic_and_read(int* out) {
  __shared__ int sum;
  if (threadIdx.x == 0) sum = 0;
  __syncthreads();
  atomicAdd(&sum, (int)threadIdx.x);
  out[threadIdx.x] = sum;
}
// Four waves own the four bytes of every dword: neighbours, but nobody's byte is anybody else's.
__global__ void shared_dwords(int* out, int shift) {
  __shared__ volatile unsigned char s[THREADS];
  const int wave = threadIdx.x / 64, lane = threadIdx.x % 64;
  s[4 * lane + wave] = wave;
  out[threadIdx.x] = s[4 * lane + (wave + shift) % 4];
}
// Padded rows of 16-byte vectors, written by rows and read by columns: the quick paths' strides.
__global__ void padded_rows(int4* out, int barrier) {
  __shared__ int4 s[16][17];
  s[threadIdx.x / 16][threadIdx.x % 16] = int4{1, 2, 3, (int)threadIdx.x};
  if (barrier) __syncthreads();
  out[threadIdx.x] = s[threadIdx.x % 16][threadIdx.x / 16];
}

int run(const std::string& c, int* out) {
  const dim3 block(THREADS);
  if (c == "missing_barrier") missing_barrier<<<2, block>>>(out);
  else if (c == "with_barrier") with_barrier<<<2, block>>>(out);
  else if (c == "one_wave_needs_none") missing_barrier<<<2, 64>>>(out);
  else if (c == "write_after_read") rounds<<<1, block>>>(out, 1);
  else if (c == "two_barriers_a_round") rounds<<<1, block>>>(out, 2);
  else if (c == "write_write") write_write<<<1, block>>>(out);
  else if (c == "uninitialised") uninitialised<<<1, 64>>>(out, 3);
  else if (c == "initialised") uninitialised<<<3, 64>>>(out, 64);
  else if (c == "next_block_starts_afresh") uninitialised<<<1, 64>>>(out, 64), uninitialised<<<1, 64>>>(out, 63);
  else if (c == "uninitialised_byte") uninitialised_byte<<<1, block>>>(out);
  else if (c == "past_global") past_global<<<1, block>>>(out + 4 * THREADS - (THREADS - 1), 1);
  else if (c == "wave_private") wave_private<<<1, block>>>(out);
  else if (c == "atomics") atomics<<<1, block>>>(out);
  else if (c == "atomic_and_read") atomic_and_read<<<1, block>>>(out);
  else if (c == "bytes_of_a_dword") shared_dwords<<<1, block>>>(out, 0);
  else if (c == "others_byte_of_a_dword") shared_dwords<<<1, block>>>(out, 1);
  else if (c == "padded_rows") padded_rows<<<1, block>>>((int4*)out, 1);
  else if (c == "padded_rows_without_barrier") padded_rows<<<1, block>>>((int4*)out, 0);
  else { printf("no such case: %s\n", c.c_str()); return 9; }
  const hipError_t launch = hipGetLastError(), end = hipDeviceSynchronize();
  printf("%s: launch %s, synchronize %s\n", c.c_str(), hipGetErrorName(launch), hipGetErrorName(end));
  return end == hipSuccess ? 0 : 3;
}
int main(int argc, char** argv) {
  int* out;
  OK(hipMalloc((void**)&out, 4 * THREADS * sizeof(int)));
  return run(argc > 1 ? argv[1] : "", out);
}
