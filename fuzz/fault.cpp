// The table of planted faults, joined from the files that define them.
#include "fuzz/fault_list.hpp"

#include <algorithm>
#include <vector>

namespace mqalab {

std::span<const Fault> faults() {
  static const std::vector<Fault> sorted = [] {
    std::vector<Fault> all;
    for (const auto& part :
         {address_faults(), layout_faults(), mask_faults(), number_faults(), controls(), block_faults(),
          deep_faults(), cache_faults(), top_k_faults(), form_faults(), variant_faults(), relation_faults()})
      all.insert(all.end(), part.begin(), part.end());
    std::ranges::sort(all, {}, &Fault::name);
    return all;
  }();
  return sorted;
}

bool claims(const Fault& control, Lane lane) {
  switch (lane) {
  case Lane::exact: return control.claim.exact;
  case Lane::numeric: return control.claim.numeric;
  case Lane::special: return control.claim.special;
  }
  return false;
}

const Fault* find_fault(std::string_view name) {
  const auto all = faults();
  const auto it = std::ranges::find(all, name, &Fault::name);
  return it == all.end() ? nullptr : &*it;
}

} // namespace mqalab
