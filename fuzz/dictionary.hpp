// Words of the kernel under test: the numbers that its machine code compares with.  A fast path for 40 heads
// and blocks of 48 tokens is one case in thousands for a generator that knows nothing, and one in a few for
// one that has read "s_cmp_eq_u32 s38, 40".  On real hardware nobody reads the code, and there are no words.
#pragma once
#include "fuzz/fields.hpp"
#include "fuzz/random.hpp"

#include <cstdint>
#include <vector>

namespace mqalab {

// Ascending.  0, 1 and -1 are left out: every generator has them anyway.
using Words = std::vector<int64_t>;

// The words that the field may hold, whatever the others hold.
Words words_for(const Field&, const Words&);

// Several fields and lengths at once become words, or one more or less: what lies behind several compares is
// reached by no single one.
void draw_words(Case&, const Words&, Random&);

// Collects the words of every kernel that is launched while it lives; one at a time in a process.
class KernelWords {
public:
  KernelWords();
  ~KernelWords();
  KernelWords(const KernelWords&) = delete;
  const Words& now(); // of the launches so far

private:
  Words words_;
};

} // namespace mqalab
