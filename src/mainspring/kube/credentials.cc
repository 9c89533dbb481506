// SPDX-License-Identifier: Apache-2.0
#include "mainspring/kube/credentials.h"

#include <array>
#include <cstdio>
#include <optional>
#include <utility>

#include <unistd.h>

#include "mainspring/kube/credential_files.h"

namespace mainspring::kube {
namespace {

class FixedCredentials final : public CredentialSource {
 public:
  explicit FixedCredentials(Credentials credentials) : credentials_(std::move(credentials)) {}
  const Credentials& current() override { return credentials_; }
  void rejected(std::string_view) override {}

 private:
  Credentials credentials_;
};

}  // namespace

std::shared_ptr<CredentialSource> fixed_credentials(Credentials credentials) {
  return std::make_shared<FixedCredentials>(std::move(credentials));
}

base::Result<std::string> read_small_file(const std::string& path, size_t bytes_max) {
  std::FILE* file = std::fopen(path.c_str(), "rb");
  if (file == nullptr) return base::failure(base::ErrorCode::kNotFound, path + ": cannot be read");
  std::string text;
  std::array<char, 16'384> buffer{};
  size_t count = 0;
  while (text.size() <= bytes_max &&
         (count = std::fread(buffer.data(), 1, buffer.size(), file)) > 0) {
    text.append(buffer.data(), count);
  }
  const bool failed = std::ferror(file) != 0;
  std::fclose(file);
  if (failed) return base::failure(base::ErrorCode::kUnavailable, path + ": cannot be read");
  if (text.size() > bytes_max) {
    return base::invalid(path + ": more than " + std::to_string(bytes_max) + " bytes");
  }
  return text;
}

std::map<std::string, std::string> process_environment() {
  std::map<std::string, std::string> variables;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const size_t equals = text.find('=');
    if (equals == std::string_view::npos) continue;
    variables.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return variables;
}

base::Result<ClusterAccess> in_cluster_access(const Clock& clock,
                                              const std::map<std::string, std::string>& environment,
                                              const std::string& folder) {
  const auto variable = [&](const char* name) {
    const auto found = environment.find(name);
    return found == environment.end() ? std::string() : found->second;
  };
  std::string host = variable("KUBERNETES_SERVICE_HOST");
  const std::string port = variable("KUBERNETES_SERVICE_PORT");
  if (host.empty() || port.empty()) {
    return base::failure(base::ErrorCode::kNotFound,
                         "not in a cluster: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT "
                         "are not set");
  }
  if (host.find(':') != std::string::npos && !host.starts_with('[')) host = "[" + host + "]";
  CredentialFiles files;
  files.ca = folder + "/ca.crt";
  files.token = folder + "/token";
  ClusterAccess access;
  access.server = "https://" + host + ":" + port;
  auto source = watch_credential_files(clock, std::move(files), {});
  if (!source) return tl::unexpected<base::Error>(source.error());
  access.credentials = std::move(*source);
  if (const auto name = read_small_file(folder + "/namespace")) {
    access.namespace_name = name->substr(0, name->find_last_not_of(" \r\n") + 1);
  }
  return access;
}

base::Result<ClusterAccess> in_cluster_access(const Clock& clock) {
  return in_cluster_access(clock, process_environment());
}

}  // namespace mainspring::kube
