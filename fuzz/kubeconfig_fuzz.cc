// SPDX-License-Identifier: Apache-2.0
// Kubeconfigs, and what credential plugins print, from arbitrary bytes: the first byte chooses.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "mainspring/base/check.h"
#include "mainspring/kube/exec_plugin.h"
#include "mainspring/kube/kubeconfig.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace mainspring::kube;
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (data[0] == 'e') {
    const auto credential = parse_exec_credential(text, "client.authentication.k8s.io/v1");
    if (!credential) return 0;
    MAINSPRING_CHECK(credential->token.find('\n') == std::string::npos, "a token is one line");
    MAINSPRING_CHECK(credential->certificate_pem.empty() == credential->key_pem.empty(),
                     "a certificate comes with its key");
    return 0;
  }
  auto config = parse_kubeconfig(text, "folder/config");
  if (!config) {
    MAINSPRING_CHECK(config.error().message.starts_with("folder/config:"),
                     "an error names its place");
    return 0;
  }
  for (const auto& [name, user] : config->users) {
    MAINSPRING_CHECK(user.token.find('\n') == std::string::npos, "a token is one line");
  }
  Kubeconfig merged = *config;
  merge(merged, std::move(*config));
  return 0;
}
