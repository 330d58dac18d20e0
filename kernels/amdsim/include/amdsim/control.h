/* Control of the simulator from the program that runs on it, at run time and without leaving the process.
   Plain C. The functions are exported by amdsim's libamdhip64.so.5; the real HIP runtime does not have them.
   They may be called from any thread, and wait for a launch in progress. */
#ifndef AMDSIM_CONTROL_H
#define AMDSIM_CONTROL_H
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif

/* Changes a setting: the name of an AMDSIM_* variable without that prefix, and a value as the variable takes
   it, such as
   ("SCHED", "random:7"), ("DEVICE", "mi300a"), ("POISON", "7fc0dead"). It holds from the next call of the
   runtime on. A value of NULL goes back to the environment's, or else to the default. Returns 0, or -1 for an
   unknown name or value: nothing changed, and amdsim_last_message() says what is allowed. */
int amdsim_set(const char* name, const char* value);

/* The last fault or misuse, as it went to stderr but without "amdsim: " in front; "" if there was none since
   the start or amdsim_clear_error(). Valid until the next call from the same thread. */
const char* amdsim_last_message(void);

/* Forgets the error that a faulted launch leaves behind for all later calls, this thread's hipGetLastError()
   and the last message. Allocations and their contents stay. (hipDeviceReset() forgets the first of these
   only; here it frees nothing either, other than on hardware.) */
void amdsim_clear_error(void);

/* on: messages no longer go to stderr; amdsim_last_message() still has them. What STATS and TRACE print was
   asked for and stays. Returns what was set before. */
int amdsim_quiet(int on);

/* Edge coverage: from now on every launch adds to the 8-bit counters at `map`, which saturate at 255. `bytes`
   must be a power of two; 65536 is usual. NULL: off. Counted are, for each kernel (by name) and place in it
   (by its distance from the kernel's first instruction, so that the same run always gives the same map): the
   pair of a branch and where a wave went from there, and of each branch and each write to EXEC whether it
   left no lane on, or only some of the wave's. Returns 0, or -1 for a size that is no power of two. */
int amdsim_coverage_into(uint8_t* map, size_t bytes);

/* on: from now on the whole numbers that the launched kernels' code compares with are collected, from
   compares anywhere in a kernel, executed or not: the values that its arguments are tested for. What was
   collected before is forgotten. Returns what was set before. */
int amdsim_collect_compares(int on);

/* The collected numbers, ascending, each once: writes at most `room` of them, and returns how many there
   are. */
size_t amdsim_compare_constants(int64_t* values, size_t room);

/* What one launch executed. Instructions are a wave's: one instruction on 64 lanes counts once. Bytes are
   summed over the active lanes. flat_* counts as vmem. An access that a buffer resource drops is counted. */
struct amdsim_counts {
  size_t struct_size; /* set by the caller to sizeof(struct amdsim_counts) */
  uint64_t waves, instructions;
  uint64_t valu, valu_packed, trans, mfma, lds, vmem_load, vmem_store, vmem_atomic, vmem_load_lds, scratch,
      smem, salu, branch, barrier, waitcnt, other;
  uint64_t lds_bytes, vmem_load_bytes, vmem_store_bytes, vmem_atomic_bytes, vmem_load_lds_bytes,
      scratch_bytes, smem_bytes;
  uint64_t mfma_multiply_adds;     /* of the matrix instructions, all lanes together */
  uint64_t max_block_instructions; /* of the block that executed most */
  uint64_t blocks;
  uint32_t vgprs, agprs, sgprs; /* that the kernel was compiled to use; vgprs includes agprs */
  uint32_t lds_per_block;       /* bytes, static and dynamic */
  uint32_t scratch_per_lane;    /* bytes */
  uint32_t threads_per_block;
};

/* on: launches are counted from now on (some 5 % slower). Returns what was set before. */
int amdsim_collect_counts(int on);

/* The counts of the last launch, as many bytes as counts->struct_size says.
   Returns 0, or -1 if no launch was counted yet or struct_size is 0. */
int amdsim_counts_last(struct amdsim_counts* counts);

/* Accelerator dies (XCCs) of the device that DEVICE chose: the HIP 5.2 properties have no field for it. */
int amdsim_xcc_count(void);

#ifdef __cplusplus
}
#endif
#endif
