// Writes NumPy arrays (format 1.0, C order, little-endian), so that anyone can check a run with tools of
// their own.
#pragma once
#include <cstdint>
#include <span>
#include <string>

namespace mqalab {

enum class NpyType : uint8_t { uint8, int32, float32 };

// Atomically: a reader finds the old file or the whole new one.  Throws std::runtime_error with the path and
// the reason.
void write_npy(const std::string& path, NpyType type, std::span<const int64_t> shape, const void* data);

} // namespace mqalab
