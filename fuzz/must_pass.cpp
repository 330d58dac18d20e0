// Each is a case file as one would write it by hand; case_from_json reads them, so that a wrong one is a test
// failure.
#include "fuzz/must_pass.hpp"

#include <array>
#include <vector>

namespace mqalab {
namespace {

constexpr std::array kCases{
    MustPass{"no sequence at all", R"({"batch": 0, "context_lens": []})"},
    MustPass{"one sequence without context", R"({"context_lens": [0], "max_model_len": 5})"},
    MustPass{
        "every context zero, tail filled",
        R"({"batch": 4, "next_n": 2, "context_lens": [0, 0, 0, 0], "max_model_len": 70, "tail": "neg_inf"})"},
    MustPass{"rows whose limit is negative", R"({"next_n": 5, "context_lens": [2], "max_model_len": 8})"},
    MustPass{"negative lengths", R"({"batch": 3, "context_lens": [-1, -2147483648, 3], "max_model_len": 4})"},
    MustPass{"a context longer than max_model_len", R"({"context_lens": [2147483647], "max_model_len": 33})"},
    MustPass{"context equal to max_model_len, not a multiple of anything",
             R"({"batch": 2, "block_size": 16, "context_lens": [263, 263], "max_model_len": 263})"},
    MustPass{"next_n 7 with odd lengths",
             R"({"next_n": 7, "batch": 2, "context_lens": [7, 130], "max_model_len": 131})"},
    MustPass{
        "one length per row, all different",
        R"({"batch": 2, "next_n": 3, "lens_per_row": true, "context_lens": [5, 0, 64, 65, 1, 33], "max_model_len": 66})"},
    MustPass{
        "one row far longer than the others",
        R"({"batch": 3, "block_size": 16, "context_lens": [1, 2049, 2], "max_model_len": 2049, "config": {"chunk_k": 64, "split_kv": 7}})"},
    MustPass{"heads 40, not a multiple of the head tile",
             R"({"heads": 40, "context_lens": [65], "max_model_len": 65})"},
    MustPass{
        "heads 128 of 128 dims, direct queries",
        R"({"heads": 128, "next_n": 2, "context_lens": [70], "max_model_len": 70, "config": {"variant": "direct"}})"},
    MustPass{"more splits than chunks",
             R"({"context_lens": [130], "max_model_len": 130, "config": {"chunk_k": 64, "split_kv": 304}})"},
    MustPass{
        "a row stride with prime padding",
        R"({"batch": 3, "context_lens": [17, 16, 15], "max_model_len": 20, "strides": {"logits": 37, "weights": 11, "block_table": 23}})"},
    MustPass{
        "odd strides of q",
        R"({"batch": 2, "next_n": 2, "context_lens": [20, 9], "max_model_len": 20, "strides": {"q": [2313, 1131, 131]}})"},
    MustPass{
        "a block stride of 1,435,968 bytes",
        R"({"block_size": 64, "context_lens": [130], "max_model_len": 130, "strides": {"kv_block": 1435968}})"},
    MustPass{
        "a block stride that is 4-aligned only",
        R"({"block_size": 16, "context_lens": [50], "max_model_len": 50, "strides": {"kv_block": 2116}})"},
    MustPass{"every position names the same token",
             R"({"context_lens": [77], "max_model_len": 77, "block_table": {"mode": "one_block"}})"},
    MustPass{
        "blocks shared between sequences",
        R"({"batch": 3, "block_size": 16, "context_lens": [48, 47, 33], "max_model_len": 48, "block_table": {"mode": "alias", "period": 2}})"},
    MustPass{
        "unneeded entries name a poisoned block",
        R"({"batch": 2, "block_size": 16, "context_lens": [17, 3], "max_model_len": 100, "block_table": {"mode": "shuffled", "seed": 5, "padding": "poisoned"}})"},
    MustPass{
        "a block id out of range where it is needed",
        R"({"batch": 2, "context_lens": [5, 5], "max_model_len": 5, "block_table": {"set": [[0, 2, -1], [1, 4, 2147483647]]}})"},
    MustPass{
        "block ids past 2^31 bytes",
        R"({"batch": 2, "block_size": 64, "context_lens": [65, 3], "max_model_len": 65, "strides": {"kv_block": 1002240}, "block_table": {"mode": "high"}})"},
    MustPass{"block ids past 2^32 bytes",
             R"({"context_lens": [9], "max_model_len": 9, "block_table": {"mode": "high", "period": 2}})"},
    MustPass{"logits past 2^31 bytes",
             R"({"batch": 2, "context_lens": [3, 3], "max_model_len": 3, "strides": {"logits": 536870912}})"},
    MustPass{
        "logits past 2^32 bytes, tail filled",
        R"({"batch": 2, "context_lens": [3, 1], "max_model_len": 4, "tail": "neg_inf", "strides": {"logits": 1073741825}})"},
    MustPass{
        "q past 2^31 bytes",
        R"({"batch": 2, "context_lens": [3, 3], "max_model_len": 3, "strides": {"q": [2147483648, 0, 0]}})"},
    MustPass{
        "weights past 2^31 bytes",
        R"({"batch": 2, "context_lens": [3, 3], "max_model_len": 3, "strides": {"weights": 536870912}})"},
    MustPass{"one row of a million columns", R"({"context_lens": [40], "max_model_len": 1048576})"},
    MustPass{"the other FP8 flavour",
             R"({"fp8": "e4m3fnuz", "next_n": 2, "context_lens": [70], "max_model_len": 70})"},
    MustPass{
        "shuffled blocks of 48 tokens, 64 dims, foreign flavour",
        R"({"fp8": "e4m3fnuz", "head_dim": 64, "block_size": 48, "layout": "shuffled", "context_lens": [97], "max_model_len": 97})"},
    MustPass{
        "32 dims, shuffled, blocks of 1024",
        R"({"head_dim": 32, "block_size": 1024, "layout": "shuffled", "context_lens": [1030], "max_model_len": 1030})"},
    MustPass{"all zero but one token",
             R"({"context_lens": [66], "max_model_len": 66, "data": {"pattern": "one_token"}})"},
    MustPass{"all zero but one dim",
             R"({"context_lens": [66], "max_model_len": 66, "data": {"pattern": "one_dim"}})"},
    MustPass{
        "large sums that cancel, judged by the bound",
        R"({"heads": 64, "context_lens": [300], "max_model_len": 300, "data": {"lane": "numeric", "seed": 3}})"},
    MustPass{
        "uniform random bytes, NaN codes and wild scales",
        R"({"heads": 32, "context_lens": [200], "max_model_len": 200, "data": {"lane": "special", "pattern": "raw_bytes", "seed": 9}})"},
    MustPass{
        "a NaN code in a key and in a query",
        R"({"context_lens": [6], "max_model_len": 6, "data": {"lane": "special", "set": [["k", 1, 127], ["q", 5, 255]]}})"},
    MustPass{
        "the largest scale and an infinite one",
        R"({"context_lens": [4], "max_model_len": 4, "data": {"lane": "special", "set": [["scale", 0, 2139095039], ["scale", 2, 2139095040]]}})"},
    MustPass{
        "a negative, a zero and a subnormal scale",
        R"({"context_lens": [4], "max_model_len": 4, "data": {"lane": "special", "set": [["scale", 0, 3212836864], ["scale", 1, 2147483648], ["scale", 3, 77]]}})"},
    MustPass{
        "a NaN and an infinite weight",
        R"({"batch": 2, "context_lens": [4, 4], "max_model_len": 4, "data": {"lane": "special", "set": [["weights", 3, 2143289344], ["weights", 9, 4286578688]]}})"},
    MustPass{
        "negative weights only",
        R"({"context_lens": [9], "max_model_len": 9, "data": {"set": [["weights", 0, 3221225472], ["weights", 1, 3212836864], ["weights", 2, 3221225472], ["weights", 3, 3212836864], ["weights", 4, 3221225472], ["weights", 5, 3212836864], ["weights", 6, 3221225472], ["weights", 7, 3212836864]]}})"},
    MustPass{
        "top-k of fewer columns than k",
        R"({"op": "top_k", "batch": 2, "context_lens": [5, 9], "max_model_len": 9, "top_k": {"k": 64}})"},
    MustPass{
        "top-k of NaNs only",
        R"({"op": "top_k", "context_lens": [300], "max_model_len": 303, "top_k": {"k": 250}, "data": {"lane": "special", "pattern": "one_head"}})"},
    MustPass{
        "top-k of NaNs and one -inf, in order",
        R"({"op": "top_k", "context_lens": [1500], "max_model_len": 1501, "top_k": {"k": 2, "stable": true}, "data": {"lane": "special", "pattern": "one_token"}})"},
    MustPass{
        "top-k of random bits",
        R"({"op": "top_k", "context_lens": [3001], "max_model_len": 3001, "top_k": {"k": 2990}, "data": {"lane": "special", "pattern": "raw_bytes", "seed": 4}})"},
    MustPass{
        "top-k where all logits are equal",
        R"({"op": "top_k", "batch": 2, "context_lens": [2100, 2049], "max_model_len": 2100, "top_k": {"k": 2048}, "data": {"pattern": "one_head"}})"},
    MustPass{
        "top-k of 4096, the most",
        R"({"op": "top_k", "batch": 2, "context_lens": [4096, 4097], "max_model_len": 5000, "top_k": {"k": 4096, "stable": true}})"},
    MustPass{
        "top-k of rows that start behind their end",
        R"({"op": "top_k", "next_n": 3, "context_lens": [4, 9, 2], "starts": [5, 9, 2147483647], "max_model_len": 9, "top_k": {"k": 3}})"},
    MustPass{
        "top-k of rows without a column, some lengths negative",
        R"({"op": "top_k", "batch": 3, "next_n": 2, "context_lens": [0, -2147483648, 1], "max_model_len": 4, "top_k": {"k": 2}})"},
    MustPass{
        "top-k of zeros of both signs",
        R"({"op": "top_k", "context_lens": [700], "max_model_len": 700, "top_k": {"k": 512, "stable": true}, "data": {"pattern": "positive"}})"},
    MustPass{
        "top-k of 4097 rows of three columns",
        R"({"op": "top_k", "next_n": 4097, "context_lens": [4099], "max_model_len": 3, "top_k": {"k": 2}})"},
    MustPass{
        "top-k of values that differ in their last bits",
        R"({"op": "top_k", "context_lens": [3000], "max_model_len": 3000, "top_k": {"k": 1000, "stable": true}, "data": {"pattern": "one_dim"}})"},
    MustPass{
        "top-k of rows past 2^32 bytes, indices past 2^31",
        R"({"op": "top_k", "batch": 3, "context_lens": [40, 2, 39], "max_model_len": 40, "top_k": {"k": 7}, "strides": {"logits": 536870913, "indices": 536870912}})"},
    MustPass{
        "top-k of rows that start anywhere in 16 bytes",
        R"({"op": "top_k", "next_n": 4, "context_lens": [98, 97, 96, 95], "starts": [0, 1, 2, 3], "max_model_len": 101, "top_k": {"k": 90, "stable": true}, "data": {"lane": "numeric"}})"},
};

} // namespace

std::span<const MustPass> must_pass_cases() {
  static const std::vector<MustPass> all = [] {
    std::vector<MustPass> joined(kCases.begin(), kCases.end());
    for (const auto& part : {must_pass_forms(), must_pass_cache()})
      joined.insert(joined.end(), part.begin(), part.end());
    return joined;
  }();
  return all;
}

} // namespace mqalab
