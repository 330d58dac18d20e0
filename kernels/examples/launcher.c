/* How a C program uses libmqa: load a tuned database, launch, ask what was launched and why.
 * Needs nothing but mqa.h and the HIP runtime.  Odd: the inputs are a small arithmetic pattern, so the
 * checksum is the same on every device; the context of sequence b is max_model_len - b * max_model_len / (2 *
 * batch). */
#include "kernels/mqa.h"

#include <hip/hip_runtime_api.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct options {
  const char* database;
  int32_t batch, next_n, heads, head_dim, block_size, layout, fp8, tail, max_model_len;
};

static const struct options kDefaults = {
    NULL, 4, 1, 32, 128, 64, MQA_SHUFFLED, MQA_E4M3FN, MQA_TAIL_UNTOUCHED, 2048};

static const char kUsage[] =
    "usage: mqa-launcher [--db FILE] [--batch N] [--next-n N] [--heads N] [--head-dim N] [--block-size N]\n"
    "                    [--layout planar|shuffled] [--fp8 e4m3fn|e4m3fnuz] [--tail untouched|neg_inf] "
    "[--max-model-len N]\n"
    "Launches the paged MQA logits kernel once and prints which configuration was served, from where, and a "
    "checksum.\n"
    "Without --db: MQALAB_DB, or else the built-in default.   exit: 0 launched, 2 bad input, 20 device "
    "trouble\n"
    "example: mqa-launcher --db tuned.db --heads 64 --max-model-len 8192\n";

static void fail(int code, const char* what, const char* why) {
  fprintf(stderr, "mqa-launcher: %s: %s\n", what, why);
  exit(code);
}

static void check_hip(hipError_t error, const char* call) {
  if (error != hipSuccess) fail(20, call, hipGetErrorString(error));
}

static void check_mqa(mqa_status status, const char* call) {
  if (status != MQA_OK) fail(status == MQA_DEVICE_ERROR ? 20 : 2, call, mqa_last_error());
}

/* The index of `text` among two words. */
static int32_t one_of(const char* option, const char* text, const char* first, const char* second) {
  char allowed[96];
  if (strcmp(text, first) == 0) return 0;
  if (strcmp(text, second) == 0) return 1;
  snprintf(allowed, sizeof allowed, "is %.24s; allowed: %.20s, %.20s", text, first, second);
  fail(2, option, allowed);
  return 0;
}

static int32_t positive(const char* option, const char* text) {
  char* end = NULL;
  char message[96];
  const long value = strtol(text, &end, 10);
  if (end != text && *end == '\0' && value >= 1 && value <= 1 << 24) return (int32_t)value;
  snprintf(message, sizeof message, "is %.24s; allowed: a whole number from 1 to 16777216", text);
  fail(2, option, message);
  return 0;
}

static struct options parse(int argc, char** argv) {
  struct options o = kDefaults;
  const struct {
    const char* name;
    int32_t* value;
  } numbers[] = {{"--batch", &o.batch},           {"--next-n", &o.next_n},
                 {"--heads", &o.heads},           {"--head-dim", &o.head_dim},
                 {"--block-size", &o.block_size}, {"--max-model-len", &o.max_model_len}};
  int i;
  size_t n;
  for (i = 1; i < argc; i += 2) {
    const char* name = argv[i];
    const char* value = i + 1 < argc ? argv[i + 1] : NULL;
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) {
      fputs(kUsage, stdout);
      exit(0);
    }
    for (n = 0; n < sizeof numbers / sizeof numbers[0]; ++n)
      if (value && strcmp(name, numbers[n].name) == 0) break;
    if (value && n < sizeof numbers / sizeof numbers[0])
      *numbers[n].value = positive(name, value);
    else if (value && strcmp(name, "--db") == 0)
      o.database = value;
    else if (value && strcmp(name, "--layout") == 0)
      o.layout = one_of(name, value, "planar", "shuffled");
    else if (value && strcmp(name, "--fp8") == 0)
      o.fp8 = one_of(name, value, "e4m3fn", "e4m3fnuz");
    else if (value && strcmp(name, "--tail") == 0)
      o.tail = one_of(name, value, "untouched", "neg_inf");
    else
      fail(2, name,
           value ? "unknown option; try --help" : "unknown option, or its value is missing; try --help");
  }
  return o;
}

/* Copies `bytes` of `host` to new device memory. */
static void* on_device(const void* host, size_t bytes) {
  void* device = NULL;
  check_hip(hipMalloc(&device, bytes), "hipMalloc");
  check_hip(hipMemcpy(device, host, bytes, hipMemcpyHostToDevice), "hipMemcpy");
  return device;
}

static void* allocate(size_t bytes) {
  void* memory = malloc(bytes);
  if (!memory) fail(20, "malloc", "out of memory; try a smaller shape");
  return memory;
}

/* FP8 bytes 0x20..0x47 with alternating sign: finite in both flavours. */
static uint8_t pattern(size_t i) { return (uint8_t)((0x20 + i * 7 % 40) | (i % 3 == 0 ? 0x80 : 0)); }

static void* device_pattern(size_t bytes) {
  uint8_t* host = allocate(bytes);
  void* device;
  size_t i;
  for (i = 0; i < bytes; ++i) host[i] = pattern(i);
  device = on_device(host, bytes);
  free(host);
  return device;
}

/* Blocks of block_size * head_dim values, then block_size scales of 0.5. */
static void* device_cache(const mqa_paged_logits_args* a) {
  const size_t block_bytes = (size_t)a->kv_block_stride_bytes,
               value_bytes = (size_t)a->block_size * (size_t)a->head_dim;
  const size_t bytes = block_bytes * (size_t)a->num_blocks;
  const float scale = 0.5f;
  uint8_t* host = allocate(bytes);
  void* device;
  size_t block, i;
  for (block = 0; block < (size_t)a->num_blocks; ++block) {
    for (i = 0; i < value_bytes; ++i) host[block * block_bytes + i] = pattern(block * 31 + i);
    for (i = 0; i < (size_t)a->block_size; ++i)
      memcpy(host + block * block_bytes + value_bytes + 4 * i, &scale, sizeof scale);
  }
  device = on_device(host, bytes);
  free(host);
  return device;
}

static void* device_weights(size_t count) {
  float* host = allocate(count * sizeof *host);
  void* device;
  size_t i;
  for (i = 0; i < count; ++i) host[i] = 0.25f * (float)(1 + i % 4);
  device = on_device(host, count * sizeof *host);
  free(host);
  return device;
}

/* Sequence b ends somewhere in the second half; its pages lie from the end of the pool on backwards. */
static void device_tables(mqa_paged_logits_args* a) {
  const int64_t columns = a->block_table_stride;
  int32_t* lens = allocate((size_t)a->batch * sizeof *lens);
  int32_t* table = allocate((size_t)(a->batch * columns) * sizeof *table);
  int64_t i;
  for (i = 0; i < a->batch; ++i)
    lens[i] = (int32_t)(a->max_model_len - i * a->max_model_len / (2 * a->batch));
  for (i = 0; i < a->batch * columns; ++i) table[i] = (int32_t)(a->num_blocks - 1 - i);
  a->context_lens = on_device(lens, (size_t)a->batch * sizeof *lens);
  a->block_table = on_device(table, (size_t)(a->batch * columns) * sizeof *table);
  free(lens);
  free(table);
}

static mqa_paged_logits_args prepare(const struct options* o) {
  mqa_paged_logits_args a;
  memset(&a, 0, sizeof a);
  a.struct_size = sizeof a;
  a.batch = o->batch, a.next_n = o->next_n, a.heads = o->heads, a.head_dim = o->head_dim,
  a.block_size = o->block_size;
  a.layout = o->layout, a.fp8 = o->fp8, a.tail = o->tail, a.max_model_len = o->max_model_len;
  a.q_stride_head = o->head_dim, a.q_stride_next = (int64_t)o->heads * o->head_dim;
  a.q_stride_batch = a.q_stride_next * o->next_n, a.weights_stride = o->heads;
  a.kv_block_stride_bytes = (int64_t)o->block_size * (o->head_dim + 4);
  a.context_lens_stride = 1, a.block_table_stride = (a.max_model_len + o->block_size - 1) / o->block_size;
  a.num_blocks = a.batch * a.block_table_stride, a.logits_stride = a.max_model_len;
  return a;
}

static void fill(mqa_paged_logits_args* a) {
  const size_t rows = (size_t)a->batch * (size_t)a->next_n;
  const size_t logits_bytes = rows * (size_t)a->logits_stride * sizeof(float);
  a->q = device_pattern(rows * (size_t)a->heads * (size_t)a->head_dim);
  a->kv_cache = device_cache(a);
  a->weights = device_weights(rows * (size_t)a->heads);
  device_tables(a);
  check_hip(hipMalloc((void**)&a->logits, logits_bytes), "hipMalloc");
  check_hip(hipMemset(a->logits, 0, logits_bytes), "hipMemset");
}

/* Sum of all finite logits, the same in every run because its order is fixed. */
static double checksum(const mqa_paged_logits_args* a) {
  const size_t count = (size_t)a->batch * (size_t)a->next_n * (size_t)a->logits_stride;
  float* host = allocate(count * sizeof *host);
  double sum = 0;
  size_t i;
  check_hip(hipMemcpy(host, a->logits, count * sizeof *host, hipMemcpyDeviceToHost), "hipMemcpy");
  for (i = 0; i < count; ++i)
    if (host[i] - host[i] == 0) sum += host[i];
  free(host);
  return sum;
}

static void release(mqa_paged_logits_args* a) {
  const void* buffers[6];
  int i;
  buffers[0] = a->q, buffers[1] = a->kv_cache, buffers[2] = a->weights, buffers[3] = a->context_lens;
  buffers[4] = a->block_table, buffers[5] = a->logits;
  for (i = 0; i < 6; ++i) check_hip(hipFree((void*)(uintptr_t)buffers[i]), "hipFree");
}

int main(int argc, char** argv) {
  const struct options o = parse(argc, argv);
  mqa_paged_logits_args args = prepare(&o);
  mqa_choice choice;
  memset(&choice, 0, sizeof choice);
  choice.struct_size = sizeof choice;
  /* A bad database is no reason not to launch: say it, and go on with what is loaded or built in. */
  if (o.database && mqa_load_database(o.database) != MQA_OK)
    fprintf(stderr, "mqa-launcher: %s\n", mqa_last_error());
  check_mqa(mqa_choose(&args, &choice), "the shape cannot be launched");
  fill(&args);
  check_mqa(mqa_paged_logits(&args, NULL, NULL, &choice), "launch");
  check_hip(hipDeviceSynchronize(), "kernel");
  printf("device    %s\nkernels   %s, library %s\n", mqa_device_key(), mqa_kernel_hash(), mqa_version());
  printf("served    variant=%s,chunk_k=%d,split_kv=%d,wave_per_eu=%d\n",
         mqa_variant_name(choice.config.variant), (int)choice.config.chunk_k, (int)choice.config.split_kv,
         (int)choice.config.wave_per_eu);
  printf("source    %s\nreason    %s\nchecksum  %.6g\n", mqa_source_name(choice.source), choice.reason,
         checksum(&args));
  release(&args);
  mqa_unload_database();
  return 0;
}
