/* The control API is plain C: this file is compiled as C99 with all warnings as errors. */
#include "amdsim/control.h"

#include <stdio.h>
#include <string.h>

#define EXPECT(condition)                                                                                    \
  if (!(condition)) {                                                                                        \
    printf("line %d: %s does not hold; last message: %s\n", __LINE__, #condition, amdsim_last_message());    \
    return 1;                                                                                                \
  }

int main(void) {
  static uint8_t map[64];
  struct amdsim_counts counts = {0};
  counts.struct_size = sizeof counts;
  EXPECT(amdsim_quiet(1) == 0);
  EXPECT(strcmp(amdsim_last_message(), "") == 0);
  EXPECT(amdsim_set("DEVICE", "mi300a") == 0);
  EXPECT(amdsim_xcc_count() == 6);
  EXPECT(amdsim_set("DEVICE", NULL) == 0);
  EXPECT(amdsim_set("DEVICE", "mi3000") == -1);
  EXPECT(strstr(amdsim_last_message(), "mi300x") != NULL);
  EXPECT(amdsim_coverage_into(map, sizeof map) == 0);
  EXPECT(amdsim_collect_counts(1) == 0);
  EXPECT(amdsim_counts_last(&counts) == -1);
  amdsim_clear_error();
  EXPECT(strcmp(amdsim_last_message(), "") == 0);
  return 0;
}
