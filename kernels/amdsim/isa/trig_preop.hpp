// Sections of 2/pi, with which arguments of sine and cosine are reduced
#pragma once
#include <cstdint>

namespace amdsim {

double trig_preop(double x, uint32_t segment);

} // namespace amdsim
