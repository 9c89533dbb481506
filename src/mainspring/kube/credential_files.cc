// SPDX-License-Identifier: Apache-2.0
#include "mainspring/kube/credential_files.h"

#include <utility>

namespace mainspring::kube {
namespace {

constexpr base::Duration kTokenAgeMax = base::seconds(60);
constexpr base::Duration kCertificateAgeMax = base::seconds(300);
// A server that refuses everything does not make us read the disk for each request.
constexpr base::Duration kTokenAgeMin = base::seconds(1);

base::Result<std::string> read_token(const std::string& path) {
  auto text = read_small_file(path);
  if (!text) return text;
  const size_t from = text->find_first_not_of(" \t\r\n");
  if (from == std::string::npos) return base::invalid(path + ": no token in it");
  std::string token = text->substr(from, text->find_last_not_of(" \t\r\n") + 1 - from);
  // It becomes a line of a request.
  if (token.find_first_of("\r\n") != std::string::npos) {
    return base::invalid(path + ": a token of more than one line");
  }
  return token;
}

class WatchedFiles final : public CredentialSource {
 public:
  WatchedFiles(const Clock& clock, CredentialFiles files, Credentials fixed)
      : clock_(clock), files_(std::move(files)), credentials_(std::move(fixed)) {}

  base::Status start() {
    const base::Status token = load_token();
    return token ? load_certificates() : token;
  }

  const Credentials& current() override {
    const base::Instant now = clock_.now();
    const base::Duration token_age = refused_ ? kTokenAgeMin : kTokenAgeMax;
    if (now - token_read_at_ >= token_age) (void)load_token();
    if (now - certificates_read_at_ >= kCertificateAgeMax) (void)load_certificates();
    return credentials_;
  }

  void rejected(std::string_view bearer_token) override {
    // A newer token than the refused one stands.
    if (bearer_token == credentials_.bearer_token) refused_ = true;
  }

 private:
  base::Status load_token() {
    token_read_at_ = clock_.now();
    if (files_.token.empty()) return {};
    auto token = read_token(files_.token);
    if (!token) return tl::unexpected<base::Error>(token.error());
    if (*token != credentials_.bearer_token) refused_ = false;
    credentials_.bearer_token = std::move(*token);
    return {};
  }

  base::Status load_certificates() {
    certificates_read_at_ = clock_.now();
    Credentials fresh = credentials_;
    const std::pair<const std::string*, std::string*> parts[] = {
        {&files_.ca, &fresh.ca_pem},
        {&files_.certificate, &fresh.certificate_pem},
        {&files_.key, &fresh.key_pem}};
    for (const auto& [path, pem] : parts) {
      if (path->empty()) continue;
      auto text = read_small_file(*path);
      if (!text) return tl::unexpected<base::Error>(text.error());
      if (text->empty()) return base::invalid(*path + ": nothing in it");
      *pem = std::move(*text);
    }
    credentials_ = std::move(fresh);
    return {};
  }

  const Clock& clock_;
  CredentialFiles files_;
  Credentials credentials_;
  base::Instant token_read_at_;
  base::Instant certificates_read_at_;
  bool refused_ = false;
};

}  // namespace

base::Result<std::shared_ptr<CredentialSource>> watch_credential_files(const Clock& clock,
                                                                       CredentialFiles files,
                                                                       Credentials fixed) {
  auto source = std::make_shared<WatchedFiles>(clock, std::move(files), std::move(fixed));
  const base::Status started = source->start();
  if (!started) return tl::unexpected<base::Error>(started.error());
  return source;
}

}  // namespace mainspring::kube
