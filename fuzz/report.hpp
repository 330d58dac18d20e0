// A campaign as one HTML file that needs nothing else: buckets with their laws, coverage with what was never
// reached, growth, the gate.
#pragma once
#include <filesystem>
#include <string>

namespace mqalab {

// Throws CaseError when the folder holds no finished campaign.
std::string report_html(const std::filesystem::path& campaign);

} // namespace mqalab
