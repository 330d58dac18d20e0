// See json_reader.hpp.  nlohmann keeps the last of duplicate keys and turns integers past 64 bits into
// doubles; both are caught here, the first by watching keys while parsing, the second because a double is
// never an integer to us.
#include "fuzz/json_reader.hpp"

#include "fuzz/nearest.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace mqalab {
namespace {

std::string shown(const Json& given) {
  std::string text = given.dump(-1, ' ', false, Json::error_handler_t::replace);
  return text.size() > 60 ? text.substr(0, 57) + "..." : text;
}

// nlohmann says "[json.exception.parse_error.101] parse error at line 1, column 3: syntax error ...": drop
// the tag.
std::string without_tag(std::string what) {
  const size_t end = what.find("] ");
  return end == std::string::npos ? what : what.substr(end + 2);
}

// Deeper values are no case, and what walks them by recursion would run out of stack.
constexpr int kDeepest = 64;

struct DuplicateKeyWatch {
  const std::string& origin;
  std::vector<std::set<std::string>> open;

  bool operator()(int depth, Json::parse_event_t event, Json& parsed) {
    if (depth > kDeepest)
      throw CaseError(fmt::format("{}: is nested more than {} levels deep; allowed: one JSON object, such as "
                                  "{{\"heads\": 32}}",
                                  origin, kDeepest));
    if (event == Json::parse_event_t::object_start) open.emplace_back();
    if (event == Json::parse_event_t::object_end) open.pop_back();
    if (event == Json::parse_event_t::key && !open.back().insert(parsed.get<std::string>()).second)
      throw CaseError(fmt::format("{}: {} is given twice; allowed: each field once; try: delete one of them",
                                  origin, shown(parsed)));
    return true;
  }
};

} // namespace

Json parse_json(const std::string& text, const std::string& origin) {
  DuplicateKeyWatch watch{origin, {}};
  try {
    return Json::parse(text, [&](int depth, Json::parse_event_t e, Json& j) { return watch(depth, e, j); });
  } catch (const Json::exception& e) {
    throw CaseError(fmt::format("{}: not JSON: {}; allowed: one JSON object, such as {{\"heads\": 32}}",
                                origin, without_tag(e.what())));
  }
}

JsonPlace JsonPlace::field(std::string_view name) const {
  return {origin, path.empty() ? std::string(name) : fmt::format("{}.{}", path, name)};
}
JsonPlace JsonPlace::element(size_t index) const { return {origin, fmt::format("{}[{}]", path, index)}; }

void JsonPlace::refuse(const Json& given, const std::string& allowed, const std::string& hint) const {
  throw CaseError(fmt::format("{}: {} is {}; allowed: {}{}{}", origin, path.empty() ? "the file" : path,
                              shown(given), allowed, hint.empty() ? "" : "; try: ", hint));
}

int64_t read_integer(const Json& value, const JsonPlace& place, int64_t least, int64_t most) {
  const auto refuse = [&] { place.refuse(value, fmt::format("an integer from {} to {}", least, most)); };
  if (!value.is_number_integer()) refuse();
  if (value.is_number_unsigned() && value.get<uint64_t>() > static_cast<uint64_t>(INT64_MAX)) refuse();
  const auto number = value.get<int64_t>();
  if (number < least || number > most) refuse();
  return number;
}

uint64_t read_unsigned(const Json& value, const JsonPlace& place) {
  if (!value.is_number_unsigned()) place.refuse(value, "an integer from 0 to 18446744073709551615");
  return value.get<uint64_t>();
}

size_t read_word(const Json& value, const JsonPlace& place, std::span<const std::string_view> words) {
  const std::string given = value.is_string() ? value.get<std::string>() : "";
  const auto found = std::find(words.begin(), words.end(), given);
  if (found == words.end()) place.refuse(value, listed(words), std::string(nearest(given, words)));
  return static_cast<size_t>(found - words.begin());
}

const Json& read_array(const Json& value, const JsonPlace& place, const std::string& what) {
  if (!value.is_array()) place.refuse(value, what);
  return value;
}

ObjectReader::ObjectReader(const Json& object, JsonPlace place) : object_(object), place_(std::move(place)) {
  if (!object.is_object()) place_.refuse(object, "a JSON object, such as {}");
}

const Json* ObjectReader::find(std::string_view name) {
  known_.push_back(name);
  const auto found = object_.find(std::string(name));
  return found == object_.end() ? nullptr : &*found;
}

void ObjectReader::finish() const {
  for (const auto& [name, value] : object_.items()) {
    if (std::find(known_.begin(), known_.end(), name) != known_.end()) continue;
    const std::string_view hint = nearest(name, known_);
    throw CaseError(fmt::format("{}: unknown field {}; allowed: {}{}{}", place_.origin,
                                place_.field(name).path, listed(known_),
                                hint.empty() ? "" : "; try: ", hint));
  }
}

} // namespace mqalab
