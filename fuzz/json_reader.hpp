// Strict reading of a JSON object: every field is asked for by name, with its type and range; what nobody
// asked for is an error.  Odd: numbers are never rounded or narrowed, so 1.5, 1e30 and 2^70 are refused where
// an integer is due.
#pragma once
#include "fuzz/case.hpp"
#include "fuzz/case_names.hpp"

#include <nlohmann/json.hpp>

#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace mqalab {

using Json = nlohmann::json;

// Parses, refusing duplicate keys, trailing text and comments.  Throws CaseError with line and column.
Json parse_json(const std::string& text, const std::string& origin);

// Where we are: "case.json: strides.q[2]".
struct JsonPlace {
  std::string origin, path;
  JsonPlace field(std::string_view name) const;
  JsonPlace element(size_t index) const;
  // Throws CaseError "origin: path is GIVEN; allowed: ALLOWED; try: HINT".
  [[noreturn]] void refuse(const Json& given, const std::string& allowed, const std::string& hint = "") const;
};

int64_t read_integer(const Json&, const JsonPlace&, int64_t least, int64_t most);
uint64_t read_unsigned(const Json&, const JsonPlace&);
size_t read_word(const Json&, const JsonPlace&, std::span<const std::string_view> words);
const Json& read_array(const Json&, const JsonPlace&, const std::string& what);

class ObjectReader {
public:
  ObjectReader(const Json& object, JsonPlace place);
  // The field, or nullptr when it is absent; either way the name is known from here on.
  const Json* find(std::string_view name);
  JsonPlace place(std::string_view name) const { return place_.field(name); }

  template <class Int> void integer(std::string_view name, Int& out) {
    if (const Json* v = find(name))
      out = static_cast<Int>(
          read_integer(*v, place(name), std::numeric_limits<Int>::min(), std::numeric_limits<Int>::max()));
  }
  void boolean(std::string_view name, bool& out) {
    const Json* v = find(name);
    if (v && !v->is_boolean()) place(name).refuse(*v, "true or false");
    if (v) out = v->get<bool>();
  }
  void seed(std::string_view name, uint64_t& out) {
    if (const Json* v = find(name)) out = read_unsigned(*v, place(name));
  }
  template <class Enum> void word(std::string_view name, Enum& out) {
    if (const Json* v = find(name)) out = static_cast<Enum>(read_word(*v, place(name), names_of(out)));
  }
  // Throws for the first field that nobody asked for, with the nearest known name.
  void finish() const;

private:
  const Json& object_;
  JsonPlace place_;
  std::vector<std::string_view> known_;
};

} // namespace mqalab
