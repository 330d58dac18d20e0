// What `mqalab db` says about contents: for people, and for machines.
#pragma once
#include "db/content.hpp"

#include <string>
#include <vector>

namespace mqalab {

std::string info_text(const Content&, const std::string& path);
std::string info_json(const Content&, const std::string& path);
std::string quarantine_text(const Content&);

// What would be served otherwise by `b`: one line a problem, with SAME, FAST, SLOW or AMBIGUOUS where the
// same problem got another configuration; "" for nothing.
std::string diff_text(const Content& a, const Content& b);

// One line for each problem whose winners differ beyond each other's intervals; the merge settles them from
// all samples.
std::vector<std::string> conflicts(const Content& a, const Content& b);

} // namespace mqalab
