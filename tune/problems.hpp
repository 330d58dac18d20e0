// The problems file: what to tune for.  A JSON array, or one JSON object a line; each is a case whose shape
// and strides count, with an optional "weight" (launches a day, say: only the proportions matter).
#pragma once
#include "fuzz/case.hpp"
#include "kernels/launch.hpp"

#include <string>
#include <vector>

namespace mqalab {

struct TuneProblem {
  Case shape; // context_lens default to max_model_len
  double weight = 1;
  std::string key; // its bucket
};

// Heaviest first; of several problems in one bucket the first stands for all, with their weights summed.
// Throws CaseError naming origin, entry and field.
std::vector<TuneProblem> problems_from_json(const std::string& text, const std::string& origin);
std::vector<TuneProblem> load_problems(const std::string& path);

// The bucket of a legal case.
std::string problem_key_text(const Case&);

} // namespace mqalab
