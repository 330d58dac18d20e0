// The choice at launch: which configuration the loaded databases give for a problem on a device, and why.
#pragma once
#include "kernels/launch.hpp"
#include "kernels/mqa.h"
#include "kernels/problem_key.hpp"

#include <string>

namespace mqa {

// A row of the loaded databases, else the built-in default; config fields that are left to the caller's
// defaults are 0. Lock-free; allocates nothing.  The caller's own validity predicate runs again on what comes
// out.
mqa_choice choose(const ProblemKey&, const DeviceFacts&) noexcept;

// paths: files separated by ':'; nullptr: those of MQALAB_DB.  Replaces what was loaded, atomically, unless
// no file is usable.  *message: one line about what was wrong with any of them, or "".
mqa_status load_database(const char* paths, std::string* message) noexcept;
void unload_database() noexcept;

// Loads MQALAB_DB unless MQALAB_DB_MODE=off, or a load or unload came before.  Cheap from the second call on.
void load_from_environment_once() noexcept;

// MQALAB_DB_MODE=strict: only a certified row may be launched.
bool strict_mode() noexcept;

// "" when no published file is loaded; else the digests of the loaded files, so that ranks can compare.
std::string loaded_digest();

// MQALAB_LOG: 0 silent, 1 warnings (the default), 2 choices too.
int log_level() noexcept;
void warn_once(const std::string& message) noexcept;

} // namespace mqa
