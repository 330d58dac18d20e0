// Odd cases of ragged keys, planes, their sum, prefill rows, the slow path and the schedule.
#include "fuzz/must_pass.hpp"

#include <array>

namespace mqalab {
namespace {

constexpr std::array kCases{
    MustPass{"ragged: no sequence at all", R"({"op": "ragged_mqa_logits", "batch": 0, "context_lens": []})"},
    MustPass{
        "ragged: every sequence empty",
        R"({"op": "ragged_mqa_logits", "batch": 3, "next_n": 2, "context_lens": [0, 0, 0], "max_model_len": 70, "tail": "neg_inf"})"},
    MustPass{
        "ragged: empty sequences between others, rows with a negative limit",
        R"({"op": "ragged_mqa_logits", "batch": 4, "next_n": 4, "context_lens": [0, 65, 0, 2], "max_model_len": 66, "block_table": {"mode": "shuffled", "seed": 3}})"},
    MustPass{
        "ragged: lengths past max_model_len, the slots behind it poisoned",
        R"({"op": "ragged_mqa_logits", "batch": 3, "context_lens": [40, 3, 33], "max_model_len": 32, "block_table": {"padding": "poisoned"}})"},
    MustPass{
        "ragged: every slot the same, and one out of range",
        R"({"op": "ragged_mqa_logits", "batch": 2, "context_lens": [70, 5], "max_model_len": 70, "block_table": {"mode": "one_block", "set": [[1, 2, -1]]}})"},
    MustPass{
        "ragged: slots past 2^31 bytes",
        R"({"op": "ragged_mqa_logits", "batch": 2, "context_lens": [3, 2], "max_model_len": 3, "block_table": {"mode": "high"}})"},
    MustPass{"per head: no sequence at all",
             R"({"op": "per_head_mqa_logits", "batch": 0, "context_lens": []})"},
    MustPass{
        "per head: one head of 16 dims",
        R"({"op": "per_head_mqa_logits", "heads": 1, "head_dim": 16, "context_lens": [65], "max_model_len": 66, "tail": "neg_inf"})"},
    MustPass{
        "per head: planes with a gap, rows with padding",
        R"({"op": "per_head_mqa_logits", "batch": 2, "next_n": 2, "heads": 24, "block_size": 16, "context_lens": [33, 17], "max_model_len": 40, "strides": {"logits": 43, "logits_head": 211}})"},
    MustPass{
        "per head: planes past 2^32 bytes",
        R"({"op": "per_head_mqa_logits", "heads": 2, "context_lens": [3], "max_model_len": 3, "strides": {"logits_head": 1073741825}})"},
    MustPass{
        "per head, ragged: empty sequences and one row per plane without a column",
        R"({"op": "per_head_ragged_mqa_logits", "batch": 3, "next_n": 3, "heads": 17, "context_lens": [0, 66, 1], "max_model_len": 66})"},
    MustPass{
        "negative lengths on the slow path",
        R"({"batch": 3, "next_n": 2, "context_lens": [-1, -2147483648, 3], "max_model_len": 4, "tail": "neg_inf", "config": {"variant": "general"}})"},
    MustPass{
        "negative lengths under a schedule",
        R"({"batch": 3, "next_n": 2, "context_lens": [-1, -2147483648, 3], "max_model_len": 4, "tail": "neg_inf", "config": {"variant": "scheduled"}})"},
    MustPass{
        "per head: negative lengths",
        R"({"op": "per_head_mqa_logits", "batch": 3, "next_n": 2, "context_lens": [-1, -2147483648, 3], "max_model_len": 4, "tail": "neg_inf"})"},
    MustPass{"head sum: no sequence at all",
             R"({"op": "per_head_sum", "batch": 0, "context_lens": [], "tail": "neg_inf"})"},
    MustPass{
        "head sum: rows that are -inf in every plane",
        R"({"op": "per_head_sum", "batch": 2, "next_n": 3, "heads": 65, "context_lens": [0, 67], "max_model_len": 70, "tail": "neg_inf"})"},
    MustPass{
        "head sum: NaN and infinite weights in single planes",
        R"({"op": "per_head_sum", "heads": 3, "context_lens": [5], "max_model_len": 6, "tail": "neg_inf", "data": {"lane": "special", "set": [["weights", 0, 2143289344], ["weights", 2, 4286578688]]}})"},
    MustPass{"prefill: no row at all", R"({"op": "prefill_mqa_logits", "batch": 0, "context_lens": []})"},
    MustPass{
        "prefill: ranges that are empty, reversed and negative",
        R"({"op": "prefill_mqa_logits", "next_n": 5, "starts": [0, 7, 9, -5, 2147483647], "context_lens": [0, 7, 3, -1, -2147483648], "max_model_len": 12, "num_blocks": 10, "tail": "neg_inf"})"},
    MustPass{
        "prefill: ends past the keys",
        R"({"op": "prefill_mqa_logits", "next_n": 3, "starts": [0, 30, 64], "context_lens": [2147483647, 66, 65], "max_model_len": 70, "num_blocks": 64, "tail": "neg_inf"})"},
    MustPass{
        "prefill: starts in the middle of everything, columns before them kept",
        R"({"op": "prefill_mqa_logits", "next_n": 4, "starts": [1, 15, 65, 127], "context_lens": [130, 64, 66, 130], "max_model_len": 130})"},
    MustPass{
        "prefill: compressed columns narrower than the ranges",
        R"({"op": "prefill_mqa_logits", "next_n": 3, "compressed": true, "starts": [3, 100, 0], "context_lens": [90, 260, 5], "max_model_len": 33, "num_blocks": 300, "tail": "neg_inf"})"},
    MustPass{
        "prefill: compressed, ranges far from key 0 and rows in no order",
        R"({"op": "prefill_mqa_logits", "next_n": 17, "compressed": true, "starts": [900, 0, 899, 5, 901, 64, 1, 63, 65, 128, 2, 127, 129, 256, 3, 255, 257], "context_lens": [966, 1, 900, 70, 902, 129, 2, 64, 66, 129, 67, 192, 194, 257, 4, 320, 322], "max_model_len": 67})"},
    MustPass{
        "prefill: more keys than columns",
        R"({"op": "prefill_mqa_logits", "next_n": 2, "context_lens": [500, 33], "max_model_len": 40, "num_blocks": 500})"},
    MustPass{
        "prefill: 48 dims, 65 heads, odd strides of everything",
        R"({"op": "prefill_mqa_logits", "next_n": 2, "heads": 65, "head_dim": 48, "context_lens": [20, 21], "max_model_len": 21, "strides": {"q": [0, 4000, 59], "kv_block": 52, "key_scales": 3, "weights": 67, "logits": 29}})"},
    MustPass{
        "prefill: keys past 2^31 bytes, scales past 2^32",
        R"({"op": "prefill_mqa_logits", "next_n": 2, "context_lens": [3, 3], "max_model_len": 3, "strides": {"kv_block": 1073741824, "key_scales": 1073741825}})"},
    MustPass{
        "one head, the slow path",
        R"({"heads": 1, "context_lens": [130], "max_model_len": 131, "config": {"variant": "general"}})"},
    MustPass{"3 heads on the matrix unit",
             R"({"heads": 3, "next_n": 2, "context_lens": [70], "max_model_len": 70})"},
    MustPass{"1024 heads of 16 dims",
             R"({"heads": 1024, "head_dim": 16, "context_lens": [3], "max_model_len": 3})"},
    MustPass{"130 heads, past a tile of 128", R"({"heads": 130, "context_lens": [66], "max_model_len": 66})"},
    MustPass{
        "256 dims, shuffled blocks of 48",
        R"({"head_dim": 256, "block_size": 48, "layout": "shuffled", "context_lens": [97], "max_model_len": 97})"},
    MustPass{
        "48 dims, planar blocks of 1024, the foreign flavour",
        R"({"fp8": "e4m3fnuz", "head_dim": 48, "block_size": 1024, "context_lens": [1026], "max_model_len": 1030})"},
    MustPass{
        "scheduled: no token anywhere",
        R"({"batch": 3, "next_n": 2, "context_lens": [0, 0, -4], "max_model_len": 130, "tail": "neg_inf", "config": {"variant": "scheduled"}})"},
    MustPass{"scheduled: 257 sequences, one of them long",
             R"({"batch": 257, "context_lens": [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 200], "max_model_len": 200, "config": {"variant": "scheduled", "chunk_k": 64}})"},
    MustPass{
        "scheduled: fewer chunks than workers, ragged",
        R"({"op": "ragged_mqa_logits", "batch": 3, "context_lens": [0, 129, 1], "max_model_len": 129, "config": {"variant": "scheduled", "chunk_k": 64, "wave_per_eu": 4}})"},
    MustPass{"indexer: no sequence at all", R"({"op": "indexer", "batch": 0, "context_lens": []})"},
};

} // namespace

std::span<const MustPass> must_pass_forms() { return kCases; }

} // namespace mqalab
