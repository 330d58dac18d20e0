/* libmqa: FP8 paged MQA logits, the indexer of sparse attention.  The C API.
 *
 * Conventions.  Tensors live in device memory and belong to the caller.  A stride counts *elements* unless
 * its name ends in _bytes; every stride is 64-bit.  B batch (sequences), N next_n, H heads, D head_dim, bs
 * block size in tokens, MML max_model_len in columns; row r = b*N + n of the output is row n of sequence b.
 * Every launch is asynchronous on the given stream, allocates nothing, does not synchronise and can be
 * captured in a graph.  No C++ exception crosses this header.  All functions are thread-safe.
 *
 * What is computed (DeepSeek-V3.2's indexer), for 0 <= pos < limit(r):
 *     logit[r,pos] = s[pos] * sum over h of  relu(dot(q[b,n,h,:], k[pos,:])) * w[r,h]
 *   limit(r) = min(MML, max(0, ctx[b] - N + n + 1)) with one length per sequence, min(MML, max(0,
 * lens[b][n])) with one per row.  The dot accumulates in fp32-like arithmetic of the matrix unit, the head
 * sum in fp32, in no promised order.  relu turns a NaN dot into 0 (policy "to_zero"); the scale multiplies
 * after the head sum (policy "after_sum"); denormals are kept.
 *
 * Written set: columns [0, limit(r)) get their value; [limit(r), MML) are -inf with MQA_TAIL_NEG_INF and
 * untouched with MQA_TAIL_UNTOUCHED; nothing else in memory is ever written. Read set: table entries from
 * ceil(min(longest limit, MML) / bs) on, tokens from there on, and blocks that no needed entry names
 * influence no result bit.  A block id outside [0, num_blocks) inside the needed range makes the logits of
 *   its tokens NaN and touches no memory.
 */
#ifndef MQA_H
#define MQA_H

#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32)
#define MQA_API
#else
#define MQA_API __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef enum mqa_status {
  MQA_OK = 0,
  MQA_INVALID_ARGUMENT = 1, /* a shape, stride or pointer; mqa_last_error() names it */
  MQA_UNSUPPORTED = 2,      /* legal, but this build or device cannot: the message says what can */
  MQA_DEVICE_ERROR = 3,     /* the runtime refused the launch */
  MQA_NOT_CERTIFIED = 4,    /* strict mode, and no certified configuration exists */
  MQA_BAD_DATABASE = 5      /* an explicit mqa_load_database() found no usable file */
} mqa_status;

typedef enum mqa_fp8 { MQA_E4M3FN = 0, MQA_E4M3FNUZ = 1 } mqa_fp8;
typedef enum mqa_layout { MQA_PLANAR = 0, MQA_SHUFFLED = 1 } mqa_layout;
typedef enum mqa_tail { MQA_TAIL_UNTOUCHED = 0, MQA_TAIL_NEG_INF = 1 } mqa_tail;

/* How q reaches the matrix unit. */
typedef enum mqa_variant {
  MQA_VARIANT_AUTO = 0,
  MQA_VARIANT_STAGED = 1, /* all rows of a sequence staged in LDS once per block; needs next_n*heads to fit */
  MQA_VARIANT_DIRECT = 2, /* q fragments read from memory for every key tile; any next_n */
  MQA_VARIANT_WGMMA =
      3 /* NVIDIA sm_90: warpgroup matrix unit, schedule made in the kernel; head_dim 128, e4m3fn,
           batch up to 1024; chunk_k is 64, split_kv 1, wave_per_eu the workers per SM: 2, 3, 4 */
} mqa_variant;

/* A launch configuration; 0 in any field means automatic. */
typedef struct mqa_config {
  int32_t variant;     /* mqa_variant */
  int32_t chunk_k;     /* tokens in the unit of work that splits share: a multiple of 64, 64..4096 */
  int32_t split_kv;    /* blocks that share one sequence's chunks: 1..65535 */
  int32_t wave_per_eu; /* occupancy request to the compiler, waves per SIMD: 1, 2 or 4 (see wgmma) */
} mqa_config;

/* Where a configuration came from. */
typedef enum mqa_source {
  MQA_SOURCE_EXPLICIT = 0,    /* the caller passed it */
  MQA_SOURCE_EXACT = 1,       /* a certified row of the database for this problem's bucket */
  MQA_SOURCE_DEFAULT = 2,     /* built in: no row for this bucket, or no database */
  MQA_SOURCE_STALE = 3,       /* a row exists for another build of the kernels; default served */
  MQA_SOURCE_QUARANTINED = 4, /* a row exists but its configuration is quarantined; default served */
  MQA_SOURCE_MISMATCH = 5     /* the database is for another device, or simulated; default served */
} mqa_source;

typedef struct mqa_choice {
  size_t struct_size; /* sizeof(mqa_choice), set by the caller */
  mqa_config config;  /* every field resolved */
  int32_t source;     /* mqa_source */
  int64_t row_id;     /* rowid in the database's table `best`, or -1 */
  char reason[192];   /* one sentence */
} mqa_choice;

typedef struct mqa_paged_logits_args {
  size_t struct_size;    /* sizeof(mqa_paged_logits_args), set by the caller */
  int32_t batch;         /* >= 0; 0 launches nothing */
  int32_t next_n;        /* >= 1 */
  int32_t heads;         /* 8..128, a multiple of 8 */
  int32_t head_dim;      /* 32, 64 or 128 */
  int32_t block_size;    /* 1, or a multiple of 16 up to 1024 (shuffled: not 1) */
  int32_t layout;        /* mqa_layout */
  int32_t fp8;           /* mqa_fp8: of q and of the cache, whatever the device's native flavour */
  int32_t tail;          /* mqa_tail */
  int64_t max_model_len; /* columns, 1..2^24 */
  int64_t num_blocks;    /* physical blocks in kv_cache, 0..2^31-1 */

  const uint8_t* q; /* [B, N, H, D] fp8, last dimension contiguous */
  int64_t q_stride_batch, q_stride_next,
      q_stride_head; /* bytes = elements; head stride >= D, or 0 (shared) */

  const uint8_t*
      kv_cache; /* [num_blocks] blocks of bs*D value bytes, then bs fp32 scales, then padding; 4-aligned */
  int64_t kv_block_stride_bytes; /* >= bs*(D+4), a multiple of 4 */

  const float* weights;   /* [B*N, H] */
  int64_t weights_stride; /* elements between rows; >= H, or 0 (shared) */

  const int32_t*
      context_lens;     /* [B] lengths, or [B, N] with lens_per_row; any value is legal, <= 0 means none */
  int32_t lens_per_row; /* 0: one length per sequence; 1: one per row */
  int64_t context_lens_stride; /* elements between sequences; rows of one sequence are adjacent */

  const int32_t* block_table; /* [B, >= ceil(MML/bs)] physical block ids; padding may hold anything */
  int64_t block_table_stride; /* elements between sequences; >= ceil(MML/bs), or 0 (shared) */

  float* logits;         /* [B*N, >= MML], prefilled by the caller or not */
  int64_t logits_stride; /* elements between rows; >= MML */
} mqa_paged_logits_args;

/* Computes the logits of `args` on `stream` (a hipStream_t; NULL is the default stream).
 * config: NULL, or a configuration whose zero fields are filled in.  With NULL the loaded database is asked
 * first. choice: NULL, or receives what was launched and why. */
MQA_API mqa_status mqa_paged_logits(const mqa_paged_logits_args* args, const mqa_config* config, void* stream,
                                    mqa_choice* choice);

/* What mqa_paged_logits(args, NULL, ...) would launch on the current device.  Launches nothing; pointers may
 * be NULL. */
MQA_API mqa_status mqa_choose(const mqa_paged_logits_args* args, mqa_choice* choice);

/* Loads tuned databases: files separated by ':', the highest generation wins per problem.  NULL: what the
 * environment variable MQALAB_DB names.  The first launch does this by itself unless MQALAB_DB_MODE=off.
 * A file that is missing, damaged, foreign or stale is skipped with one warning; MQA_BAD_DATABASE when none
 * is usable. */
MQA_API mqa_status mqa_load_database(const char* paths);
MQA_API void mqa_unload_database(void);

/* The calling thread's last error or warning, one line; "" if none. */
MQA_API const char* mqa_last_error(void);
MQA_API const char* mqa_status_name(int32_t status);
MQA_API const char* mqa_source_name(int32_t source);
MQA_API const char* mqa_variant_name(int32_t variant); /* "auto", "staged", "direct"; NULL if unknown */
MQA_API const char* mqa_version(void);
/* Content hash of the compiled kernels, 16 hexadecimal digits: certificates are bound to it. */
MQA_API const char* mqa_kernel_hash(void);
/* Key of the current device: arch with features, CUs, wave, LDS (never the marketing name). "" on error. */
MQA_API const char* mqa_device_key(void);

#ifdef __cplusplus
}
#endif
#endif
