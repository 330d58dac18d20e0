// Hopper's warpgroup matrix instruction, FP8: 64 tokens x N heads x 32 dims, A (keys) and B (queries) from
// shared memory.
#pragma once
#include <cstdint>

namespace mqa::hopper {

// Makes register writes before it visible to the matrix unit; must precede the first product of a tile.
__device__ inline void fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ inline void commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int Pending> __device__ inline void wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(Pending) : "memory");
}
// Shared memory written by ordinary stores is read by the matrix unit through another proxy.
__device__ inline void fence_shared() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

// Rows of 128 bytes with 128-byte swizzle: 16-byte chunk c of row r lies at chunk c ^ (r % 8).  8 rows are
// 1024 bytes.
__device__ inline uint64_t descriptor(const void* rows) {
  const auto address = static_cast<uint32_t>(__cvta_generic_to_shared(rows));
  constexpr uint64_t kSwizzle128 = uint64_t{1} << 62, kStride1024 = uint64_t{1024 >> 4} << 32,
                     kLeading = 1 << 16;
  return kSwizzle128 | kStride1024 | kLeading | (address >> 4 & 0x3fff);
}
// The next 32 dims of the same rows.
inline constexpr uint64_t kNextStep = 32 >> 4;

// Rows in groups of 8, not swizzled: 16-byte chunk c of row r lies at c * 1024 + r * 16, for 64 rows.  A
// shuffled cache's column tiles of 16 tokens fit in as they are.
inline constexpr int kColumnBytes = 1024;
__device__ inline uint64_t column_descriptor(const void* columns) {
  const auto address = static_cast<uint32_t>(__cvta_generic_to_shared(columns));
  constexpr uint64_t kStride128 = uint64_t{128 >> 4} << 32, kLeading = uint64_t{kColumnBytes >> 4} << 16;
  return kStride128 | kLeading | (address >> 4 & 0x3fff);
}
inline constexpr uint64_t kNextColumnStep = 2 * kColumnBytes >> 4;

// sum (+)= keys x queries, 32 dims.  First: the sum starts at zero.  Register i of lane 4g + t in warp w
// holds token 16w + g + 8 * (i / 2 % 2), head 8 * (i / 4) + 2t + i % 2.
template <bool First> __device__ inline void product(float (&d)[64], uint64_t keys, uint64_t queries) {
  asm volatile(
      "{ .reg .pred p; setp.ne.b32 p, %66, 0;"
      " wgmma.mma_async.sync.aligned.m64n128k32.f32.e4m3.e4m3 {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, "
      "%11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, "
      "%31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, "
      "%51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, %64, %65, p, 1, 1; }"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
        "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]),
        "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]),
        "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]),
        "+f"(d[30]), "+f"(d[31]), "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]),
        "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43]),
        "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]), "+f"(d[48]), "+f"(d[49]), "+f"(d[50]),
        "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]), "+f"(d[56]), "+f"(d[57]),
        "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63])
      : "l"(keys), "l"(queries), "r"(int{!First}));
}
template <bool First> __device__ inline void product(float (&d)[32], uint64_t keys, uint64_t queries) {
  asm volatile("{ .reg .pred p; setp.ne.b32 p, %34, 0;"
               " wgmma.mma_async.sync.aligned.m64n64k32.f32.e4m3.e4m3"
               " {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, "
               "%20, %21, %22, %23,"
               "  %24, %25, %26, %27, %28, %29, %30, %31}, %32, %33, p, 1, 1; }"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]),
                 "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]),
                 "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]),
                 "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]),
                 "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31])
               : "l"(keys), "l"(queries), "r"(int{!First}));
}
template <bool First> __device__ inline void product(float (&d)[16], uint64_t keys, uint64_t queries) {
  asm volatile("{ .reg .pred p; setp.ne.b32 p, %18, 0;"
               " wgmma.mma_async.sync.aligned.m64n32k32.f32.e4m3.e4m3"
               " {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15}, %16, %17, p, 1, 1; }"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]),
                 "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]),
                 "+f"(d[14]), "+f"(d[15])
               : "l"(keys), "l"(queries), "r"(int{!First}));
}

} // namespace mqa::hopper
