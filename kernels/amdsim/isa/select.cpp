// Finds the handler of a decoded instruction: control flow by
// name, memory by the encoding's class, the rest by name again.
#include "handlers.hpp"

namespace amdsim {

bool select_inst(Inst& in, bool fnuz) {
  if (select_control(in)) return true;
  const std::string& c = in.cls;
  if (c == "SOPP") return false;
  if (c == "SMEM") return select_scalar_memory(in);
  if (c == "GLOBAL" || c == "FLAT" || c == "SCRATCH") return select_flat(in);
  if (c == "MUBUF") return select_buffer(in);
  if (c == "DS") return select_lds(in);
  if (in.name.compare(0, 6, "V_MFMA") == 0 || in.name.compare(0, 8, "V_SMFMAC") == 0)
    return select_mfma(in, fnuz);
  if (c[0] == 'S') return select_salu(in);
  return c[0] == 'V' && (select_lanes(in) || select_fp8_conversion(in, fnuz) || select_valu(in));
}

} // namespace amdsim
