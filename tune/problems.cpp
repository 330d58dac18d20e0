// See problems.hpp.
#include "tune/problems.hpp"

#include "fuzz/case_names.hpp"
#include "fuzz/json_reader.hpp"
#include "kernels/problem_key.hpp"
#include "tune/call.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>

namespace mqalab {
namespace {

struct Entry {
  Json value;
  std::string origin;
};

// A whole file may be one value: an array of problems, or one case as people write it, over many lines.
std::vector<Entry> whole_file(const Json& value, const std::string& origin) {
  if (!value.is_array()) return {{value, origin}};
  std::vector<Entry> list;
  for (const Json& entry : value)
    list.push_back({entry, fmt::format("{}: entry {}", origin, list.size() + 1)});
  return list;
}

std::vector<Entry> entries(const std::string& text, const std::string& origin) {
  if (Json::accept(text)) return whole_file(parse_json(text, origin), origin);
  std::vector<Entry> list;
  std::istringstream lines(text);
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    const std::string where = fmt::format("{}: line {}", origin, number);
    if (line.find_first_not_of(" \t\r") != std::string::npos)
      list.push_back({parse_json(line, where), where});
  }
  return list;
}

double take_weight(Json& value, const std::string& origin) {
  if (!value.contains("weight")) return 1;
  const Json weight = value["weight"];
  value.erase("weight");
  if (!weight.is_number() || !(weight.get<double>() > 0) || !std::isfinite(weight.get<double>()))
    throw CaseError(origin + ": weight is " + weight.dump() +
                    "\n  allowed: a positive number; leave it out for 1");
  return weight.get<double>();
}

// Without lengths every sequence is as long as it may be, and every row of a prefill sees all keys.
void fill_lengths(Json& value) {
  if (value.contains("context_lens")) return;
  const bool prefill = value.value("op", Json("")) == name_of(Operation::prefill_logits);
  const Json batch = value.value(prefill ? "next_n" : "batch", Json(1)),
             columns = value.value("max_model_len", Json(1));
  if (batch.is_number_integer() && columns.is_number_integer() && batch >= 0 && batch <= 65536)
    value["context_lens"] = std::vector<Json>(batch.get<size_t>(), columns);
}

TuneProblem problem(Entry entry) {
  if (!entry.value.is_object())
    throw CaseError(entry.origin +
                    ": is not a JSON object\n  try:     {\"heads\": 32, \"max_model_len\": 2048}");
  TuneProblem p;
  p.weight = take_weight(entry.value, entry.origin);
  fill_lengths(entry.value);
  p.shape = case_from_json(entry.value.dump(), entry.origin);
  if (const std::string why = why_illegal(p.shape); !why.empty()) throw CaseError(entry.origin + ": " + why);
  if (!is_tunable(p.shape.op))
    throw CaseError(
        fmt::format("{}: op is {}, which has one configuration and nothing to tune; allowed: the operations "
                    "that make logits from keys",
                    entry.origin, name_of(p.shape.op)));
  p.shape.config = {0, 0, 0, 0};
  p.key = problem_key_text(p.shape);
  return p;
}

} // namespace

std::string problem_key_text(const Case& c) { return mqa::to_string(problem_key(shape_call(resolve(c)))); }

std::vector<TuneProblem> problems_from_json(const std::string& text, const std::string& origin) {
  std::vector<TuneProblem> list;
  for (Entry& entry : entries(text, origin)) {
    TuneProblem p = problem(std::move(entry));
    const auto same =
        std::find_if(list.begin(), list.end(), [&](const TuneProblem& q) { return q.key == p.key; });
    if (same == list.end())
      list.push_back(std::move(p));
    else
      same->weight += p.weight;
  }
  if (list.empty())
    throw CaseError(origin + ": holds no problem\n  try:     {\"heads\": 32, \"max_model_len\": 2048}");
  std::sort(list.begin(), list.end(), [](const TuneProblem& a, const TuneProblem& b) {
    return a.weight != b.weight ? a.weight > b.weight : a.key < b.key;
  });
  return list;
}

std::vector<TuneProblem> load_problems(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  if (!file)
    throw CaseError(
        path +
        ": cannot be read\n  try:     a file with a line like {\"heads\": 32, \"max_model_len\": 2048}");
  return problems_from_json(text.str(), path);
}

} // namespace mqalab
