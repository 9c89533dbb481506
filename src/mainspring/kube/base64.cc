// SPDX-License-Identifier: Apache-2.0
#include "mainspring/kube/base64.h"

#include <algorithm>
#include <cstdint>

namespace mainspring::kube {
namespace {

constexpr std::string_view kAlphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

}  // namespace

std::string encode_base64(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t at = 0; at < bytes.size(); at += 3) {
    const size_t count = std::min<size_t>(3, bytes.size() - at);
    uint32_t group = 0;
    for (size_t i = 0; i < 3; ++i) {
      const unsigned char byte = i < count ? static_cast<unsigned char>(bytes[at + i]) : 0;
      group = group << 8 | byte;
    }
    for (size_t i = 0; i < 4; ++i) {
      text += i <= count ? kAlphabet[group >> (18 - 6 * i) & 63] : '=';
    }
  }
  return text;
}

std::optional<std::string> decode_base64(std::string_view text) {
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3);
  uint32_t group = 0;
  size_t digits = 0;
  size_t padding = 0;
  for (const char character : text) {
    if (character == ' ' || character == '\n' || character == '\r' || character == '\t') continue;
    const size_t value = kAlphabet.find(character);
    if (character == '=') {
      ++padding;
    } else if (value == std::string_view::npos || padding > 0) {
      return std::nullopt;
    }
    group = group << 6 | static_cast<uint32_t>(character == '=' ? 0 : value);
    if (++digits % 4 != 0) continue;
    for (size_t i = 0; i < 3; ++i) bytes += static_cast<char>(group >> (16 - 8 * i) & 0xff);
    group = 0;
  }
  if (digits % 4 != 0 || padding > 2) return std::nullopt;
  bytes.resize(bytes.size() - padding);
  return bytes;
}

}  // namespace mainspring::kube
