// What a bisection came to, for people and for machines.
#pragma once
#include "fuzz/bisect_run.hpp"

#include <nlohmann/json.hpp>

namespace mqalab {

struct Asked {
  Subject subject;
  Answer answer;
  std::string why;
};

// Between builds: revisions or libraries.
struct BuildReport {
  std::string mode, noun; // "revisions"
  std::vector<Subject> subjects;
  std::vector<Asked> asked; // the ends first
  Observation failure;
  int64_t runs = 0;
};
std::string text_of(const BuildReport&, const Bisection&);
nlohmann::json json_of(const BuildReport&, const Bisection&);

// Over configuration fields.
struct ConfigReport {
  struct Field {
    std::string name, value;
  };
  std::vector<Field> fields; // that the case sets
  NeededSwitches result;     // numbers of `fields`
  std::vector<Asked> asked;
  Observation failure;
  int64_t runs = 0;
};
std::string text_of(const ConfigReport&);
nlohmann::json json_of(const ConfigReport&);

} // namespace mqalab
