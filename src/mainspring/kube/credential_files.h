// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "mainspring/base/result.h"
#include "mainspring/kube/credentials.h"

// Credentials that others keep in files and replace there.

namespace mainspring::kube {

// Paths; empty: there is no such file.
struct CredentialFiles {
  std::string ca;
  std::string token;
  std::string certificate;
  std::string key;
};

// `fixed` is shown where there is no file. Tokens are read again after a minute or after a refusal,
// certificates after five minutes; what cannot be read, or is empty, leaves the old one in place. A
// new certificate and a new key come into force together. `clock` must outlive the source.
// Errors: a file cannot be read now, or a token is empty.
base::Result<std::shared_ptr<CredentialSource>> watch_credential_files(const Clock& clock,
                                                                       CredentialFiles files,
                                                                       Credentials fixed);

}  // namespace mainspring::kube
