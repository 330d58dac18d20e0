// One line of a worker's journal: a case that failed and what the oracle called it.
#pragma once
#include "fuzz/oracle.hpp"

#include <optional>
#include <string>
#include <vector>

namespace mqalab {

struct Found {
  std::vector<uint8_t> record;
  Signature signature;
  std::string message;
};
std::string to_line(const Found&);
// Nothing for a line that a crash cut short.
std::optional<Found> from_line(const std::string&);

std::string to_hex(const std::vector<uint8_t>&);
std::optional<std::vector<uint8_t>> from_hex(const std::string&);

} // namespace mqalab
