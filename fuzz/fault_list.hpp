// The parts of the table of planted faults, one a file.
#pragma once
#include "fuzz/fault.hpp"

namespace mqalab {

// One a file; faults() joins and sorts them.
std::span<const Fault> address_faults();
std::span<const Fault> layout_faults();
std::span<const Fault> mask_faults();
std::span<const Fault> number_faults();
std::span<const Fault> controls();
std::span<const Fault> block_faults();
std::span<const Fault> deep_faults();
std::span<const Fault> cache_faults();
std::span<const Fault> top_k_faults();
std::span<const Fault> form_faults();
std::span<const Fault> variant_faults();
std::span<const Fault> relation_faults();

} // namespace mqalab
