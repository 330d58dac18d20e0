// Which class of the counts an instruction belongs to, and whether s_setvskip skips it
#include "atomics.hpp"
#include "handlers.hpp"

namespace amdsim {
namespace {

struct Prefix {
  const char* text;
  Class klass;
};
// By name; the first that fits
constexpr Prefix by_name[] = {
    {"S_CBRANCH", C_BRANCH}, {"S_BRANCH", C_BRANCH},   {"S_SETPC", C_BRANCH},    {"S_SWAPPC", C_BRANCH},
    {"S_CALL", C_BRANCH},    {"S_BARRIER", C_BARRIER}, {"S_WAITCNT", C_WAITCNT}, {"V_MFMA", C_MFMA},
    {"V_SMFMAC", C_MFMA},    {"V_ACCVGPR", C_VALU},    {"V_PK_", C_PACKED},      {"V_EXP_", C_TRANS},
    {"V_LOG_", C_TRANS},     {"V_RCP_", C_TRANS},      {"V_RSQ_", C_TRANS},      {"V_SQRT_", C_TRANS},
    {"V_SIN_", C_TRANS},     {"V_COS_", C_TRANS},
};
bool is_vector_memory(const std::string& c) {
  return c == "FLAT" || c == "GLOBAL" || c == "SCRATCH" || c == "MUBUF";
}

Class memory_class(const Inst& in) {
  if (in.nat == do_nop || in.nat == do_refuse) return C_OTHER;
  if (in.cls == "SCRATCH") return C_SCRATCH;
  return in.op == LOAD ? C_LOAD : in.op == STORE ? C_STORE : in.op == LOADLDS ? C_LOADLDS : C_ATOMIC;
}
Class class_of(const Inst& in) {
  const std::string& c = in.cls;
  for (const Prefix& p : by_name)
    if (in.name.compare(0, strlen(p.text), p.text) == 0) return p.klass;
  if (is_vector_memory(c)) return memory_class(in);
  if (c == "SMEM") return C_SMEM;
  if (c == "DS") return C_LDS;
  if (c == "SOPP") return C_OTHER;
  if (c == "VOP3P") return C_PACKED;
  return c[0] == 'S' ? C_SALU : c[0] == 'V' ? C_VALU : C_OTHER;
}

} // namespace

void classify(Inst& in) {
  in.klass = class_of(in);
  in.vector = in.cls[0] == 'V' || in.cls == "DS" || in.cls == "MTBUF" || is_vector_memory(in.cls);
}

} // namespace amdsim
