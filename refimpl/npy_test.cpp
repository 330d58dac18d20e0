// Files read back byte by byte, and what is left behind when writing fails: nothing.
#include "refimpl/npy.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <vector>

#include <unistd.h>

namespace mqalab {
namespace {

namespace fs = std::filesystem;

class Npy : public testing::Test {
protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) / ("npy_" + std::to_string(::getpid()));
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  std::string path(const char* file) const { return (folder_ / file).string(); }

  static std::string bytes_of(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  fs::path folder_;
};

TEST_F(Npy, WritesAHeaderThatNumpyReadsAndTheDataBehindIt) {
  const std::vector<float> data{1, 2, 3, 4, 5, -6};
  const int64_t shape[] = {2, 3};
  write_npy(path("a.npy"), NpyType::float32, shape, data.data());
  const std::string bytes = bytes_of(path("a.npy"));
  ASSERT_EQ(bytes.size(), 128 + 24u);
  EXPECT_EQ(bytes.substr(0, 10), std::string("\x93NUMPY\x01\x00\x76\x00", 10));
  EXPECT_EQ(bytes.substr(10, 59), "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }");
  EXPECT_EQ(bytes[127], '\n');
  EXPECT_EQ(std::memcmp(bytes.data() + 128, data.data(), 24), 0);
}

TEST_F(Npy, NamesEveryTypeAndKeepsTheCommaOfOneDimension) {
  const int32_t lens[] = {7};
  const uint8_t codes[] = {1, 2};
  const int64_t one[] = {1}, two[] = {2}, none[] = {0, 4};
  write_npy(path("i.npy"), NpyType::int32, one, lens);
  write_npy(path("u.npy"), NpyType::uint8, two, codes);
  write_npy(path("e.npy"), NpyType::uint8, none, nullptr);
  EXPECT_NE(bytes_of(path("i.npy")).find("'<i4', 'fortran_order': False, 'shape': (1,), }"),
            std::string::npos);
  EXPECT_NE(bytes_of(path("u.npy")).find("'|u1', 'fortran_order': False, 'shape': (2,), }"),
            std::string::npos);
  EXPECT_EQ(bytes_of(path("e.npy")).size(), 128u);
}

TEST_F(Npy, ReplacesAnOldFileAndLeavesNothingBeside) {
  std::ofstream(path("a.npy")) << "old";
  const int64_t shape[] = {1};
  const uint8_t data = 5;
  write_npy(path("a.npy"), NpyType::uint8, shape, &data);
  EXPECT_EQ(bytes_of(path("a.npy")).size(), 129u);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 1);
}

TEST_F(Npy, SaysWhichFileCouldNotBeWrittenAndLeavesTheFolderClean) {
  const int64_t shape[] = {1};
  const uint8_t data = 5;
  fs::create_directory(path("taken"));
  try {
    write_npy(path("taken"), NpyType::uint8, shape, &data);
    FAIL() << "a directory was replaced";
  } catch (const std::runtime_error& error) {
    EXPECT_NE(std::string(error.what()).find("taken"), std::string::npos) << error.what();
  }
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 1);
  EXPECT_THROW(write_npy(path("missing/a.npy"), NpyType::uint8, shape, &data), std::runtime_error);
}

} // namespace
} // namespace mqalab
