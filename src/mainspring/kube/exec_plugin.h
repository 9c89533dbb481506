// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "mainspring/base/result.h"
#include "mainspring/kube/credentials.h"

// Credentials that a program hands out (client.authentication.k8s.io, v1 and v1beta1).

namespace mainspring::kube {

struct ExecPlugin {
  std::string command;  // a path, or a name that is looked for in PATH
  std::vector<std::string> arguments;
  std::map<std::string, std::string> environment;  // all that the program sees of ours
  std::string api_version;                         // "client.authentication.k8s.io/v1"
  std::string cluster_json;                        // what it is told of the cluster; empty: nothing
  std::string install_hint;
  base::Duration timeout = base::seconds(30);
};

// What the program printed. Errors: no ExecCredential of this version, neither token nor
// certificate, a certificate without its key, a time that is none.
struct ExecCredential {
  std::string token;
  std::string certificate_pem;
  std::string key_pem;
  base::Instant expires_at = base::Instant::never();
};
base::Result<ExecCredential> parse_exec_credential(std::string_view text,
                                                   const std::string& api_version);

// Runs the program once, and waits for it. Later runs, shortly before the credentials expire or
// after the server refused them, go on beside everything else: `current` only looks whether one has
// ended. Only one runs at a time; one that takes too long is killed, one that prints more than
// 1 MiB too. `fixed` says what the program does not; `clock` must outlive the source.
base::Result<std::shared_ptr<CredentialSource>> run_exec_plugin(const Clock& clock,
                                                                ExecPlugin plugin,
                                                                Credentials fixed);

}  // namespace mainspring::kube
