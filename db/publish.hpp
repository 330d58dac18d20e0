// Publishing: from the authoring file to the one file that production reads.
#pragma once
#include "db/content.hpp"

#include <string>

namespace mqalab {

struct Publication {
  std::string digest;
  int64_t generation = 0, rows = 0, quarantines = 0;
};

// Writes what `published` keeps of the database at `from` to `to`: a plain (not WAL) file, written beside,
// fsynced and renamed over, so that `to` is at every moment the old file or the new one.  Raises the
// generation of `from`.
Publication publish(const std::string& from, const std::string& to);

} // namespace mqalab
