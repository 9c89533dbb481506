// SPDX-License-Identifier: Apache-2.0
#include "mainspring/sim/csv_reader.h"

#include <cstdio>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <zlib.h>

namespace mainspring::sim {
namespace {

base::Result<CsvReader> csv_of(std::string_view text, size_t line_bytes_max = 100) {
  return CsvReader::open(LineReader::from_memory("t.csv", text, line_bytes_max));
}

std::string error_of(std::string_view text) {
  auto csv = csv_of(text);
  if (!csv) return csv.error().message;
  while (true) {
    const auto found = csv->next();
    if (!found) return found.error().message;
    if (!*found) return "no error";
  }
}

// A file that is gone when the test ends.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& name)
      : path_((std::filesystem::temp_directory_path() /
               (name + std::to_string(reinterpret_cast<uintptr_t>(this))))
                  .string()) {}
  ~TemporaryFile() { std::remove(path_.c_str()); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  void write(const std::string& bytes) const { std::ofstream(path_, std::ios::binary) << bytes; }
  void write_gzip(const std::string& text) const {
    gzFile file = gzopen(path_.c_str(), "wb");
    gzwrite(file, text.data(), static_cast<unsigned>(text.size()));
    gzclose(file);
  }
  [[nodiscard]] std::string read() const {
    std::ifstream file(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

TEST(CsvReader, GivesFieldsWithTheirPlaces) {
  auto csv = csv_of(
      "\xef\xbb\xbf"
      "a,bb,c\r\n\r\n1,,\"x,\"\"y\"\"\"\n4,5,6");
  ASSERT_TRUE(csv) << csv.error().message;
  EXPECT_EQ(csv->header(), (std::vector<std::string>{"a", "bb", "c"}));
  EXPECT_EQ(csv->find("bb"), 1U);
  EXPECT_FALSE(csv->find("d"));

  ASSERT_TRUE(csv->next().value());
  EXPECT_TRUE(csv->has_header_width());
  EXPECT_EQ(csv->field(0), "1");
  EXPECT_EQ(csv->field(1), "");
  EXPECT_EQ(csv->field(2), "x,\"y\"");
  EXPECT_EQ(csv->place(2), "t.csv:3:4");

  ASSERT_TRUE(csv->next().value());
  EXPECT_EQ(csv->field(2), "6");
  EXPECT_EQ(csv->line(), 4);
  EXPECT_FALSE(csv->next().value());
}

TEST(CsvReader, SaysWhatIsWrongAndWhere) {
  EXPECT_EQ(error_of(""), "t.csv:1:1: expected a header line, the file is empty");
  EXPECT_EQ(error_of("a,,c\n"), "t.csv:1:3: expected a column name in the header");
  EXPECT_EQ(error_of("a,b,a\n"), "t.csv:1:5: the column \"a\" is named twice");
  EXPECT_EQ(error_of("a,b\n1,\"2\n"), "t.csv:2:3: the quote that opens here does not close");
  EXPECT_EQ(error_of("a,b\n\"1\"2,3\n"), "t.csv:2:4: expected a comma after the closing quote");
  EXPECT_EQ(error_of(std::string_view("a\n1\0\n", 5)),
            "t.csv:2:2: expected text, found a NUL byte");
  EXPECT_EQ(error_of("a\n" + std::string(101, 'x')),
            "t.csv:2:101: the line is longer than 100 bytes");
  EXPECT_EQ(error_of("a\n" + std::string(100, 'x')), "no error");
  EXPECT_EQ(csv_of("a,b\n")->require({"a", "x", "y"}).error().message,
            "t.csv:1:1: the header lacks the column \"x\", \"y\"");
}

TEST(CsvReader, BoundsTheNumberOfFields) {
  const std::string text = "a\n" + std::string(2000, ',') + "\n";
  auto csv = csv_of(text, 10'000);
  ASSERT_TRUE(csv);
  EXPECT_EQ(csv->next().error().message, "t.csv:2:1025: more than 1024 fields");
}

TEST(LineReader, ReadsPlainAndGzipFilesAcrossWindows) {
  std::string text;
  for (int line = 0; line < 20'000; ++line) text += "line " + std::to_string(line) + "\n";
  const TemporaryFile plain("mainspring-plain");
  const TemporaryFile gzip("mainspring-gzip");
  plain.write(text);
  gzip.write_gzip(text);
  for (const TemporaryFile* file : {&plain, &gzip}) {
    auto lines = LineReader::open(file->path());
    ASSERT_TRUE(lines) << lines.error().message;
    std::string_view line;
    for (int number = 0; number < 20'000; ++number) {
      ASSERT_TRUE(lines->next(line).value());
      ASSERT_EQ(line, "line " + std::to_string(number));
    }
    EXPECT_FALSE(lines->next(line).value());
    EXPECT_EQ(lines->line_number(), 20'000);
  }
}

TEST(LineReader, RefusesDamagedAndMissingFiles) {
  const TemporaryFile file("mainspring-damaged");
  std::string text;
  for (int line = 0; line < 5000; ++line) text += std::to_string(line * 7919 % 10007) + "\n";
  file.write_gzip(text);
  const std::string whole = file.read();

  file.write(whole.substr(0, whole.size() / 2));
  auto cut = LineReader::open(file.path());
  ASSERT_TRUE(cut);
  std::string_view line;
  base::Result<bool> found = true;
  while (found && *found) found = cut->next(line);
  ASSERT_FALSE(found);
  EXPECT_NE(found.error().message.find("the compressed stream is damaged"), std::string::npos);

  const auto missing = LineReader::open(file.path() + "-missing");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, base::ErrorCode::kNotFound);
  EXPECT_FALSE(LineReader::open(std::filesystem::temp_directory_path().string()));
}

}  // namespace
}  // namespace mainspring::sim
