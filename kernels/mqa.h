/* libmqa: the operations of the FP8 indexer of sparse attention.  The C API.
 *
 *   mqa_paged_logits      logits of decode rows against the paged cache
 *   mqa_ragged_logits     the same, keys named by a flat list of token slots
 *   mqa_per_head_logits   unreduced, one plane a head; mqa_head_sum adds the planes up
 *   mqa_prefill_logits    rows against contiguous keys, each row with its own [start, end)
 *   mqa_top_k             the k largest columns of every row
 *   mqa_cache_write       quantises keys into the paged cache; mqa_cache_gather fetches them back
 *
 * Conventions.  Tensors live in device memory and belong to the caller.  A stride counts *elements* unless
 * its name ends in _bytes; every stride is 64-bit, up to 2^40 and a span of 2^60, and of a dimension with one
 * item or none any value from 0 on will do.  B batch (sequences), N next_n, H heads, D head_dim, bs
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

/* How q reaches the matrix unit.  Staged, direct and scheduled serve head_dim 32, 64 and 128 and any heads,
 * padded to multiples of 16 inside.  Auto takes the first of wgmma, staged, direct and general that can serve
 * the call. */
typedef enum mqa_variant {
  MQA_VARIANT_AUTO = 0,
  MQA_VARIANT_STAGED = 1, /* all rows of a sequence, or of a tile of a prefill, staged in LDS once per block;
                             needs them to fit */
  MQA_VARIANT_DIRECT = 2, /* q fragments read from memory for every key tile; any next_n; not prefill */
  MQA_VARIANT_WGMMA = 3, /* NVIDIA sm_90: warpgroup matrix unit, schedule made in the kernel; mqa_paged_logits
                            only, up to 128 heads, head_dim 128, e4m3fn, batch up to 1024; chunk_k is 64,
                            split_kv 1, wave_per_eu the workers per SM: 2, 3, 4 */
  MQA_VARIANT_GENERAL =
      4, /* the slow path: any heads, head_dim and operation; fp32 arithmetic, no matrix unit */
  MQA_VARIANT_SCHEDULED = 5 /* persistent blocks over a schedule made in the kernel from the device's lengths,
                               so that one long sequence costs no more than its share; paged and ragged keys,
                               rows as staged; split_kv is 1, wave_per_eu the blocks per compute unit */
} mqa_variant;

/* A launch configuration; 0 in any field means automatic. */
typedef struct mqa_config {
  int32_t variant;     /* mqa_variant */
  int32_t chunk_k;     /* tokens in the unit of work that splits share: a multiple of 64, 64..4096 */
  int32_t split_kv;    /* blocks that share one sequence's (or tile's) chunks: 1..65535 */
  int32_t wave_per_eu; /* occupancy request to the compiler, waves per SIMD: 1, 2 or 4 (see wgmma); per-head
                          logits have 2 only: whatever is asked for, the choice says 2 */
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
  int32_t heads;         /* 1..1024; fast in multiples of 16 */
  int32_t head_dim;      /* a multiple of 16, 16..256; 32, 64 and 128 are fast, others take variant general */
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

  /* Ragged keys, for mqa_ragged_logits and, if not NULL, mqa_per_head_logits; NULL elsewhere.  [B+1],
   * ascending from any value >= 0: sequence b owns entries [slot_prefix[b], slot_prefix[b+1]) of block_table,
   * which is then a flat list of token slots (block_size is 1, block_table_stride 0) and needs no entry but
   * those.  The context length of b is the number of its entries, cut at MML as ever; context_lens is not
   * read and may be NULL; lens_per_row is 0. */
  const int32_t* slot_prefix;
  /* mqa_per_head_logits only, 0 elsewhere: elements between the planes of two heads; logits is [H, B*N, >=
   * MML] and this at least (B*N - 1)*logits_stride + MML. */
  int64_t logits_stride_head;
} mqa_paged_logits_args;

/* Computes the logits of `args` on `stream` (a hipStream_t; NULL is the default stream).
 * config: NULL, or a configuration whose zero fields are filled in.  With NULL the loaded database is asked
 * first. choice: NULL, or receives what was launched and why. */
MQA_API mqa_status mqa_paged_logits(const mqa_paged_logits_args* args, const mqa_config* config, void* stream,
                                    mqa_choice* choice);

/* The same with ragged keys (slot_prefix).  Row r sees columns below min(MML, max(0, length(b) - N + n + 1)),
 * as with pages; a slot outside [0, num_blocks) makes its token's logits NaN. */
MQA_API mqa_status mqa_ragged_logits(const mqa_paged_logits_args* args, const mqa_config* config,
                                     void* stream, mqa_choice* choice);

/* Per-head logits, paged or ragged:  value[h,r,pos] = s[pos] * (relu(dot(q[b,n,h,:], k[pos,:])) * w[r,h]),
 * the product with w rounded first.  Written set as above in the plane of every head. */
MQA_API mqa_status mqa_per_head_logits(const mqa_paged_logits_args* args, const mqa_config* config,
                                       void* stream, mqa_choice* choice);

typedef struct mqa_head_sum_args {
  size_t struct_size;              /* sizeof(mqa_head_sum_args) */
  int64_t rows;                    /* R >= 0; 0 launches nothing */
  int32_t heads;                   /* H, 1..1024 */
  int64_t columns;                 /* C, 1..2^24 */
  const float* per_head;           /* [H, R, >= C] */
  int64_t stride_head, stride_row; /* elements; row >= C, head >= (R-1)*stride_row + C */
  float* sums;                     /* [R, >= C]; must not overlap per_head */
  int64_t sums_stride;             /* elements between rows; >= C */
} mqa_head_sum_args;
/* sums[r,c] = per_head[0,r,c] + per_head[1,r,c] + ..., fp32, in ascending order of heads, for every column;
 * where all heads are -inf so is the sum.  Nothing else is written. */
MQA_API mqa_status mqa_head_sum(const mqa_head_sum_args* args, void* stream);

typedef struct mqa_prefill_logits_args {
  size_t struct_size;                  /* sizeof(mqa_prefill_logits_args) */
  int32_t rows;                        /* S >= 0; 0 launches nothing */
  int32_t heads;                       /* 1..1024 */
  int32_t head_dim;                    /* a multiple of 16, 16..256 */
  int32_t fp8;                         /* mqa_fp8, of q and k */
  int32_t tail;                        /* mqa_tail: columns of a row without a value are -inf, or untouched */
  int32_t compressed;                  /* 0: column c is key c.  1: column c of row i is key first(i) + c */
  int64_t num_keys;                    /* N, 0..2^24 */
  int64_t columns;                     /* C of the output, 1..2^24 */
  const uint8_t* q;                    /* [S, H, D] fp8, last dimension contiguous */
  int64_t q_stride_row, q_stride_head; /* bytes = elements; head >= D or 0 (shared), row >= D or 0 */
  const uint8_t* k;                    /* [N, D] fp8, 4-aligned */
  int64_t k_stride;                    /* bytes between keys; >= D, a multiple of 4 */
  const float* k_scales;               /* [N] */
  int64_t k_scales_stride;             /* elements between keys; >= 1 */
  const float* weights;                /* [S, H] */
  int64_t weights_stride;              /* elements between rows; >= H, or 0 (shared) */
  const int32_t* starts;               /* [S] any values: first(i) = max(0, starts[i]) */
  const int32_t* ends; /* [S] any values: last(i) = min(N, ends[i]); the row sees keys [first(i), last(i)) */
  float* logits;       /* [S, >= C] */
  int64_t logits_stride; /* elements between rows; >= C */
} mqa_prefill_logits_args;
/* Prefill logits: formula and policies of mqa_paged_logits, over contiguous keys.  A row has values at
 * columns [min(first, C), min(last, C)) when dense, [0, min(max(0, last - first), C)) when compressed; the
 * other columns below C are -inf or untouched as `tail` says; nothing else is written.  Keys that no row sees
 * influence no result bit. */
MQA_API mqa_status mqa_prefill_logits(const mqa_prefill_logits_args* args, const mqa_config* config,
                                      void* stream, mqa_choice* choice);

typedef struct mqa_top_k_args {
  size_t struct_size;    /* sizeof(mqa_top_k_args) */
  int32_t batch, next_n; /* rows r = b*N + n; batch >= 0 (0 launches nothing), next_n >= 1 */
  int32_t k;             /* 1..4096 */
  int32_t stable;        /* 1: indices ascend, and of columns that tie at the k-th value the lowest are taken;
                          * 0: any order, any of those that tie */
  int64_t columns;       /* C, 1..2^24 */
  const float* logits;   /* [B*N, >= C]; only [first(r), limit(r)) of a row is read */
  int64_t logits_stride; /* elements between rows; >= C (never taken from a shape) */
  const int32_t*
      context_lens;     /* [B], or [B, N] with lens_per_row: limit(r) as for mqa_paged_logits, cut at C */
  int32_t lens_per_row; /* 0 or 1 */
  int64_t context_lens_stride; /* elements between sequences */
  const int32_t*
      starts; /* NULL, or [B*N] (then lens_per_row is 1): first(r) = max(0, starts[r]); the prefill form */
  int32_t* indices;       /* [B*N, >= k] */
  int64_t indices_stride; /* elements between rows; >= k */
} mqa_top_k_args;
/* The k largest logits of every row, as columns of the row (global ones, also in the prefill form), then -1.
 * A row of at most k candidates gives all of them, ascending.  Exact against its input: no column outside
 * [first(r), limit(r)), none twice; -0 ties with +0; every NaN ranks below every number, -inf included.
 * Columns [0, k) of indices are always written, nothing else. */
MQA_API mqa_status mqa_top_k(const mqa_top_k_args* args, void* stream);

typedef enum mqa_key_type { MQA_KEY_BF16 = 0, MQA_KEY_FP16 = 1, MQA_KEY_FP32 = 2 } mqa_key_type;
typedef enum mqa_scale_format { MQA_SCALE_PLAIN = 0, MQA_SCALE_POWER_OF_TWO = 1 } mqa_scale_format;

typedef struct mqa_cache_write_args {
  size_t struct_size;   /* sizeof(mqa_cache_write_args) */
  int64_t tokens;       /* T, 0..2^31-1; 0 launches nothing */
  int32_t head_dim;     /* a multiple of 16, 16..256 */
  int32_t block_size;   /* 1, or a multiple of 16 up to 1024 (shuffled: not 1) */
  int32_t layout;       /* mqa_layout */
  int32_t fp8;          /* mqa_fp8 of the cache */
  int32_t key_type;     /* mqa_key_type */
  int32_t scale_format; /* mqa_scale_format ("ue8m0": power of two) */
  int64_t num_blocks;   /* 0..2^31-1 */
  const void* keys;     /* [T, D], aligned to an element */
  int64_t keys_stride;  /* elements between tokens; >= D */
  const int64_t* slots; /* [T] physical token slots, block*bs + token in block; distinct.  Negative ones, and
                         * those from num_blocks*bs on, are skipped */
  uint8_t* kv_cache;    /* as in mqa_paged_logits_args */
  int64_t kv_block_stride_bytes;
} mqa_cache_write_args;
/* Per token: amax = max |x| over its numbers (0 if all are NaN); scale = max(amax, 1e-4f) / M, M = 448
 * (e4m3fn) or 240 (e4m3fnuz), or 2^ceil(log2(that)) when power of two; byte d = e4m3(x[d] * (1 / scale)),
 * nearest, ties to even, saturating, NaN to the code 0x7f (FNUZ: 0x80) (FNUZ: -0 to 0).  All steps in fp32,
 * correctly rounded, so the bytes are defined.  Writes D value bytes and 4 scale bytes a token, nothing else.
 */
MQA_API mqa_status mqa_cache_write(const mqa_cache_write_args* args, void* stream);

typedef struct mqa_cache_gather_args {
  size_t struct_size;                   /* sizeof(mqa_cache_gather_args) */
  int32_t batch;                        /* B >= 0; 0 launches nothing */
  int32_t head_dim, block_size, layout; /* of the cache, as above */
  int64_t num_blocks;
  const uint8_t* kv_cache;
  int64_t kv_block_stride_bytes;
  const int32_t* block_table; /* [B, >= blocks of the longest sequence] */
  int64_t block_table_stride; /* elements between sequences; >= 1, or 0 (shared) */
  const int32_t* cu_seq_lens; /* [B+1] ascending from a value >= 0: token i of sequence b becomes row
                                 cu_seq_lens[b] + i */
  int64_t tokens;             /* T, rows of keys and scales, 0..2^31-1; rows from T on are not written */
  uint8_t* keys;              /* [T, D] */
  int64_t keys_stride;        /* bytes between tokens; >= D */
  float* scales;              /* [T] */
  int64_t scales_stride;      /* elements; >= 1 */
} mqa_cache_gather_args;
/* The cache back to contiguous keys and scales, byte for byte.  A block id outside [0, num_blocks) gives zero
 * bytes and a NaN scale (0x7fc00000), visible in every logit, and touches no memory.  Rows that no sequence
 * owns are not written. */
MQA_API mqa_status mqa_cache_gather(const mqa_cache_gather_args* args, void* stream);

/* What mqa_paged_logits(args, NULL, ...) would launch on the current device; with slot_prefix or
 * logits_stride_head set, what mqa_ragged_logits or mqa_per_head_logits would.  Launches nothing; other
 * pointers may be NULL. */
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
MQA_API const char* mqa_variant_name(int32_t variant); /* "auto", "staged", ...; NULL if unknown */
MQA_API const char* mqa_version(void);
/* Content hash of the compiled kernels, 16 hexadecimal digits: certificates are bound to it. */
MQA_API const char* mqa_kernel_hash(void);
/* Key of the current device: arch with features, CUs, wave, LDS (never the marketing name). "" on error. */
MQA_API const char* mqa_device_key(void);

#ifdef __cplusplus
}
#endif
#endif
