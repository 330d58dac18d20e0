// The scalar fields of a case as one table: name, group, default, get, set.  Mutator, crossover, minimiser
// and law search walk this table instead of each knowing every field.  The context lengths are a list and not
// in it.
#pragma once
#include "fuzz/case.hpp"

#include <array>
#include <span>
#include <string_view>

namespace mqalab {

// The variants that the kernels of this build have; drawing others would only be refused.
inline constexpr auto kVariants = std::to_array<int32_t>({
    MQA_VARIANT_AUTO,
    MQA_VARIANT_STAGED,
    MQA_VARIANT_DIRECT,
    MQA_VARIANT_GENERAL,
    MQA_VARIANT_SCHEDULED,
#ifdef MQA_PLATFORM_NVIDIA
    MQA_VARIANT_WGMMA,
#endif
});

// What crossover takes from one parent as a whole.  operation: the op, and what only few of them know.
enum class FieldGroup : uint8_t { operation, shape, strides, table, data, config };

struct Field {
  std::string_view name;
  FieldGroup group;
  int64_t smallest; // the default
  int64_t (*get)(const Case&);
  void (*set)(Case&, int64_t);
};

std::span<const Field> fields();
const Field& field(std::string_view name); // throws std::out_of_range

// Does the operation know the field?  Also asked for the lists "context_lens", "starts", "block_table.set",
// "data.set". A field without meaning must be at its default.
bool has_meaning(Operation, std::string_view field);
// Brings every field without meaning for the operation to its default.
void drop_meaningless(Case&);

// 32, 64 and 128: what the matrix-unit kernels are built for.
bool has_fast_head_dim(const Case&);
// The slow path: asked for, or what is left for the head_dim.
bool runs_general(const Case&);
// Tokens that all rows see together, no row fewer than `least`: near enough for costs.
int64_t visible_tokens(const Case&, int64_t least = 0);

// Longest context length; 0 when there is none.
int64_t longest_context(const Case&);
int64_t rows(const Case&);
// Entries that context_lens must have.
int64_t lens_wanted(const Case&);
// Chunk of the configuration; what `automatic` stands for in boundary arithmetic is the kernel's usual
// choice.
int64_t chunk_tokens(const Case&);
// Fields that are not at their default; the context lengths count as one field.
int64_t non_default_fields(const Case&);

} // namespace mqalab
