// Stands in for the files of planted faults in a build without them (MQALAB_PLANTED_FAULTS=OFF): the table is
// empty.
#include "fuzz/fault_list.hpp"

namespace mqalab {

std::span<const Fault> address_faults() { return {}; }
std::span<const Fault> layout_faults() { return {}; }
std::span<const Fault> mask_faults() { return {}; }
std::span<const Fault> number_faults() { return {}; }
std::span<const Fault> controls() { return {}; }
std::span<const Fault> block_faults() { return {}; }
std::span<const Fault> deep_faults() { return {}; }
std::span<const Fault> cache_faults() { return {}; }
std::span<const Fault> top_k_faults() { return {}; }
std::span<const Fault> form_faults() { return {}; }
std::span<const Fault> variant_faults() { return {}; }
std::span<const Fault> relation_faults() { return {}; }

} // namespace mqalab
