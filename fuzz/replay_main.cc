// SPDX-License-Identifier: Apache-2.0
// Drives a libFuzzer entry point without libFuzzer, so that every compiler can fuzz a little: all
// files of the corpus as they are, then a counted number of seeded mutations of them. The same seed
// always makes the same inputs; a crash names its case, and `--only CASE` repeats that one alone.

#include <algorithm>
#include <charconv>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

constexpr std::size_t kInputBytesMax = 1 << 16;

struct Options {
  std::string corpus;
  std::uint64_t mutations = 4000;
  std::uint64_t seed = 1;
  std::uint64_t only = UINT64_MAX;
};

// splitmix64 (Steele, Lea, Flood, OOPSLA 2014): any seed is a good seed, so each case gets its own.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    state_ += 0x9e3779b97f4a7c15ULL;
    std::uint64_t mixed = state_;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9ULL;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebULL;
    return mixed ^ (mixed >> 31);
  }

  // Uniform enough for fuzzing; `bound` is at least 1.
  std::size_t below(std::size_t bound) { return static_cast<std::size_t>(next() % bound); }

 private:
  std::uint64_t state_;
};

// Texts that parsers of numbers, YAML, CSV and JSON tend to stumble over.
// clang-format off
constexpr std::string_view kTokens[] = {
    "-1", "0", "1e999", "nan", "inf", "9007199254740993", "18446744073709551616", "0x10", "1_0",
    "1.5", "\"", "'", "{", "}", "[", "]", ":", ",", "\n", "\r\n", "\t", "  ", "- ", "#", "&a ",
    "*a", "<<: ", "!!", "|\n", "---\n", "\xff\xfe", "\xef\xbb\xbf", "~", "null", "true", "GiB", "m",
    "%", "../", "\\u0000"};
// clang-format on

using Bytes = std::string;

void mutate_once(Bytes& input, const std::vector<Bytes>& corpus, Random& random) {
  const std::size_t at = random.below(input.size() + 1);
  const std::size_t length = std::min(1 + random.below(8), input.size() - at);
  switch (random.below(7)) {
    case 0:
      if (at < input.size()) input[at] = static_cast<char>(random.below(256));
      return;
    case 1:
      if (at < input.size()) input[at] = static_cast<char>(input[at] ^ (1 << random.below(8)));
      return;
    case 2:
      input.erase(at, length);
      return;
    case 3:
      input.insert(at, Bytes(input, at, length));
      return;
    case 4:
      input.insert(at, kTokens[random.below(std::size(kTokens))]);
      return;
    case 5: {
      const std::string_view token = kTokens[random.below(std::size(kTokens))];
      input.replace(at, std::min(token.size(), input.size() - at), token);
      return;
    }
    default: {
      // Splice: keep our head, take the tail of another file.
      const Bytes& other = corpus[random.below(corpus.size())];
      input.resize(at);
      input.append(other, random.below(other.size() + 1), Bytes::npos);
    }
  }
}

Bytes mutated(const std::vector<Bytes>& corpus, std::uint64_t seed, std::uint64_t index) {
  Random random(seed * 0x2545f4914f6cdd1dULL + index);
  Bytes input = corpus[random.below(corpus.size())];
  const std::size_t steps = 1 + random.below(6);
  for (std::size_t step = 0; step < steps; ++step) mutate_once(input, corpus, random);
  input.resize(std::min(input.size(), kInputBytesMax));
  return input;
}

volatile std::sig_atomic_t current_case = 0;

// Only async-signal-safe calls are allowed here, hence the hand-made digits.
void report_case(int signal_number) {
  char text[] = "\nfuzz: stopped in case            (repeat it with --only CASE)\n";
  char* digit = text + sizeof("\nfuzz: stopped in case ") - 1 + 9;
  int value = current_case;
  do {
    *digit-- = static_cast<char>('0' + value % 10);
    value /= 10;
  } while (value > 0);
  std::fwrite(text, 1, sizeof(text) - 1, stderr);
  std::signal(signal_number, SIG_DFL);
  std::raise(signal_number);
}

void run_case(std::uint64_t index, const Bytes& input) {
  current_case = static_cast<std::sig_atomic_t>(index);
  // An exact-size copy on the heap lets AddressSanitizer see a read one byte past the end.
  const std::vector<std::uint8_t> exact(input.begin(), input.end());
  LLVMFuzzerTestOneInput(exact.data(), exact.size());
}

std::vector<Bytes> read_corpus(const std::string& folder) {
  std::vector<std::filesystem::path> paths;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    if (entry.is_regular_file(error)) paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  std::vector<Bytes> corpus;
  for (const std::filesystem::path& path : paths) {
    std::ifstream stream(path, std::ios::binary);
    corpus.emplace_back(std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>());
  }
  return corpus;
}

bool parse_options(std::span<char*> arguments, Options& options) {
  if (arguments.size() % 2 == 0) return false;
  for (std::size_t at = 1; at < arguments.size(); at += 2) {
    const std::string_view name = arguments[at];
    const std::string_view value = arguments[at + 1];
    if (name == "--corpus") {
      options.corpus = value;
      continue;
    }
    std::uint64_t* number = name == "--mutations" ? &options.mutations
                            : name == "--seed"    ? &options.seed
                            : name == "--only"    ? &options.only
                                                  : nullptr;
    if (number == nullptr) return false;
    const auto parsed = std::from_chars(value.data(), value.data() + value.size(), *number);
    if (parsed.ec != std::errc() || parsed.ptr != value.data() + value.size()) return false;
  }
  return !options.corpus.empty();
}

}  // namespace

int main(int argument_count, char** arguments) {
  Options options;
  if (!parse_options({arguments, static_cast<std::size_t>(argument_count)}, options)) {
    std::fputs("usage: --corpus FOLDER [--mutations N] [--seed N] [--only CASE]\n", stderr);
    return 2;
  }
  const std::vector<Bytes> corpus = read_corpus(options.corpus);
  if (corpus.empty()) {
    std::fprintf(stderr, "fuzz: no corpus in %s\n", options.corpus.c_str());
    return 2;
  }
  std::signal(SIGABRT, report_case);
  std::signal(SIGSEGV, report_case);

  // Cases are numbered: first the files of the corpus in order of name, then the mutations.
  const std::uint64_t case_count = corpus.size() + options.mutations;
  for (std::uint64_t index = 0; index < case_count; ++index) {
    if (options.only != UINT64_MAX && index != options.only) continue;
    run_case(index, index < corpus.size() ? corpus[index] : mutated(corpus, options.seed, index));
  }
  std::printf("fuzz: %zu corpus files, %llu mutations, seed %llu\n", corpus.size(),
              static_cast<unsigned long long>(options.mutations),
              static_cast<unsigned long long>(options.seed));
  return 0;
}
