// A finding on disk: a folder with the minimal case, the one that was found, the verdict with its law, two
// self-contained programs and a one-line replay.
#pragma once
#include "fuzz/law.hpp"
#include "fuzz/oracle.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace mqalab {

struct Finding {
  Case minimal, original;
  Verdict verdict; // of the minimal case
  Law law;
  std::string fault;             // the planted fault that it was found on; "": the production kernel
  std::string minimized;         // "yes", or why not
  int64_t seen = 1;              // how often the campaign met it
  std::vector<std::string> also; // folders of findings that turned out to be this one
};

// A folder name that says what it is and stays the same from run to run: verdict, pattern, a hash of both.
std::string finding_slug(const Signature&);
// Throws DiskError.  The folder is complete or absent: it is written beside and renamed.
void write_finding(const std::filesystem::path& folder, const Finding&, const Policy&);

struct StoredFinding {
  std::filesystem::path folder;
  Case minimal;
  Signature signature;
  std::string fault, law, message, minimized;
  std::vector<std::string> also;
  int64_t seen = 0;
};
// Throws CaseError when the folder is not a finding.
StoredFinding read_finding(const std::filesystem::path& folder);
// All findings of a campaign's folder, by name.
std::vector<StoredFinding> read_findings(const std::filesystem::path& campaign);

} // namespace mqalab
