// The rules that arguments are checked by: each gives "" or one sentence that names the argument, the value
// given and what is allowed.
#pragma once
#include <cstdint>
#include <initializer_list>
#include <string>

namespace mqa {

inline constexpr int64_t kMostColumns = 1 << 24;
inline constexpr int64_t kMostBlocks = INT32_MAX;
inline constexpr int64_t kMostHeads = 1024;

__attribute__((format(printf, 1, 2))) std::string words(const char* format, ...);

// Outside [low, high].
std::string range_error(const char* name, int64_t given, int64_t low, int64_t high);
std::string block_size_error(int32_t block_size, int32_t layout); // includes the layout itself
std::string head_dim_error(int32_t head_dim);

// `given` must be at least `least`, or 0 where sharing is legal; for one item or none any value from 0 on
// will do.
struct StrideRule {
  const char* name;
  int64_t given, least;
  bool may_share;
  int64_t items;
};
std::string stride_error(std::initializer_list<StrideRule>);

// Elements from the first to the last of a [rows, columns] matrix; at least 1.  Never wraps: what does not
// fit is INT64_MAX, more than any stride may be.
int64_t plane_extent(int64_t rows, int64_t stride, int64_t columns);

struct PointerRule {
  const char* name;
  const void* given;
  uintptr_t alignment;
  bool needed;
};
std::string pointer_error(std::initializer_list<PointerRule>);

// A caller built against another header.
std::string struct_size_error(const char* type, size_t given, size_t wanted);

// The first that is not empty.
inline std::string first_error(std::initializer_list<std::string> errors) {
  for (const std::string& error : errors)
    if (!error.empty()) return error;
  return "";
}

} // namespace mqa
