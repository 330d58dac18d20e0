// Odd cases of the cache writer and the gather.
#include "fuzz/must_pass.hpp"

#include <array>

namespace mqalab {
namespace {

constexpr std::array kCases{
    MustPass{"writer: no token at all", R"({"op": "cache_write", "batch": 0, "context_lens": []})"},
    MustPass{
        "writer: every token skipped",
        R"({"op": "cache_write", "context_lens": [9], "max_model_len": 9, "writer": {"skip_every": 1}})"},
    MustPass{
        "writer: every third token skipped, empty sequences between others",
        R"({"op": "cache_write", "batch": 4, "block_size": 16, "context_lens": [0, 17, 0, 40], "max_model_len": 40, "writer": {"skip_every": 3}, "block_table": {"mode": "shuffled", "seed": 4}})"},
    MustPass{
        "writer: a block id outside the pool skips its tokens",
        R"({"op": "cache_write", "batch": 2, "block_size": 16, "context_lens": [20, 20], "max_model_len": 20, "block_table": {"set": [[0, 1, -1], [1, 0, 2147483647]]}})"},
    MustPass{
        "writer: shuffled blocks of 48 tokens, 80 dims, fp32 keys far apart, FNUZ",
        R"({"op": "cache_write", "fp8": "e4m3fnuz", "head_dim": 80, "block_size": 48, "layout": "shuffled", "context_lens": [97], "max_model_len": 97, "writer": {"key_type": "fp32"}, "strides": {"keys": 131}})"},
    MustPass{
        "writer: 256 dims, a block stride that is 4-aligned only",
        R"({"op": "cache_write", "head_dim": 256, "block_size": 16, "context_lens": [33], "max_model_len": 33, "strides": {"kv_block": 4164}})"},
    MustPass{
        "writer: block ids past 2^31 bytes",
        R"({"op": "cache_write", "context_lens": [9], "max_model_len": 9, "block_table": {"mode": "high"}})"},
    MustPass{
        "writer: block ids past 2^32 bytes, a block stride of 1,435,968 bytes",
        R"({"op": "cache_write", "block_size": 64, "context_lens": [70], "max_model_len": 70, "strides": {"kv_block": 1435968}, "block_table": {"mode": "high", "period": 2}})"},
    MustPass{
        "writer: keys past 2^32 bytes",
        R"({"op": "cache_write", "context_lens": [3], "max_model_len": 3, "strides": {"keys": 1073741824}})"},
    MustPass{
        "writer: a negative zero, a NaN, an infinity and a denormal in keys of zeros, FNUZ",
        R"({"op": "cache_write", "fp8": "e4m3fnuz", "head_dim": 16, "context_lens": [2], "max_model_len": 2, "data": {"set": [["k", 0, 32768], ["k", 1, 32704], ["k", 17, 65408], ["k", 18, 1]]}})"},
    MustPass{
        "writer: a tie that the rounded inverse of the scale lifts over the middle",
        R"({"op": "cache_write", "head_dim": 16, "data": {"seed": 20, "set": [["k", 0, 16720], ["k", 1, 16668]]}})"},
    MustPass{
        "writer: a scale that is a power of two already",
        R"({"op": "cache_write", "head_dim": 16, "writer": {"scale_format": "power_of_two"}, "data": {"seed": 20, "set": [["k", 0, 17376]]}})"},
    MustPass{
        "writer: special keys of every type",
        R"({"op": "cache_write", "context_lens": [64], "max_model_len": 64, "writer": {"key_type": "fp16", "scale_format": "power_of_two"}, "data": {"lane": "special", "seed": 2}})"},
    MustPass{
        "writer: random bits as fp32 keys",
        R"({"op": "cache_write", "context_lens": [40], "max_model_len": 40, "writer": {"key_type": "fp32"}, "data": {"lane": "special", "pattern": "raw_bytes"}})"},
    MustPass{"gather: no sequence at all", R"({"op": "cache_gather", "batch": 0, "context_lens": []})"},
    MustPass{"gather: sequences without a token",
             R"({"op": "cache_gather", "batch": 3, "context_lens": [0, 0, 0], "max_model_len": 5})"},
    MustPass{
        "gather: empty sequences before, between and behind others",
        R"({"op": "cache_gather", "batch": 6, "block_size": 16, "context_lens": [0, 0, 17, 0, 3, 0], "max_model_len": 17})"},
    MustPass{
        "gather: blocks shared between sequences, unneeded entries poisoned",
        R"({"op": "cache_gather", "batch": 3, "block_size": 16, "context_lens": [48, 47, 33], "max_model_len": 64, "block_table": {"mode": "alias", "period": 2, "padding": "poisoned"}})"},
    MustPass{
        "gather: block ids outside the pool",
        R"({"op": "cache_gather", "batch": 2, "block_size": 16, "layout": "shuffled", "context_lens": [20, 5], "max_model_len": 20, "block_table": {"set": [[0, 1, -1], [1, 0, 2147483647]]}})"},
    MustPass{
        "gather: odd strides of the output",
        R"({"op": "cache_gather", "head_dim": 48, "block_size": 16, "layout": "shuffled", "context_lens": [19], "max_model_len": 19, "strides": {"keys": 51, "key_scales": 3}})"},
    MustPass{
        "gather: block ids past 2^32 bytes",
        R"({"op": "cache_gather", "context_lens": [9], "max_model_len": 9, "block_table": {"mode": "high", "period": 2}})"},
    MustPass{
        "gather: keys past 2^32 bytes and scales past 2^31",
        R"({"op": "cache_gather", "context_lens": [3], "max_model_len": 3, "strides": {"keys": 2147483648, "key_scales": 268435456}})"},
    MustPass{
        "gather: random bytes, NaN codes and NaN scales unchanged",
        R"({"op": "cache_gather", "context_lens": [50], "max_model_len": 50, "data": {"lane": "special", "pattern": "raw_bytes", "seed": 9}})"},
};

} // namespace

std::span<const MustPass> must_pass_cache() { return kCases; }

} // namespace mqalab
