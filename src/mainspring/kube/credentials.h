// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "mainspring/base/result.h"
#include "mainspring/kube/http.h"

// Where the API server is, and how Mainspring shows who it is.

namespace mainspring::kube {

// All PEM texts and tokens are secrets: they are never part of a message.
struct Credentials {
  std::string ca_pem;        // empty: the authorities that this machine trusts
  std::string bearer_token;  // empty: none
  std::string certificate_pem;
  std::string key_pem;
  friend bool operator==(const Credentials&, const Credentials&) = default;
};

// Credentials that may change while the process runs.
class CredentialSource {
 public:
  virtual ~CredentialSource() = default;
  // What to show now; asked before each request, so it neither waits nor fails: where a new token
  // cannot be had, the old one is kept, and the server judges it.
  virtual const Credentials& current() = 0;
  // The server answered 401 to a request that carried this token.
  virtual void rejected(std::string_view bearer_token) = 0;
};

// Credentials that never change.
std::shared_ptr<CredentialSource> fixed_credentials(Credentials credentials);

struct ClusterAccess {
  std::string server;           // "https://HOST:PORT", perhaps with a path, no slash at the end
  std::string tls_server_name;  // the name on the server's certificate, if not HOST
  bool insecure = false;        // the server's certificate is not looked at
  std::string namespace_name;   // where the credentials live; empty: not known
  std::shared_ptr<CredentialSource> credentials;
  std::vector<std::string> warnings;  // for the operator, one sentence each
};

// The access that a pod is given: the service's address in the environment, and token, ca.crt and
// namespace in `folder`. The token is read again at most once a minute, kept when that fails, and
// dropped when the server refuses it. `clock` must outlive the access.
// Errors: not in a cluster, no token, no ca.crt.
base::Result<ClusterAccess> in_cluster_access(
    const Clock& clock, const std::map<std::string, std::string>& environment,
    const std::string& folder = "/var/run/secrets/kubernetes.io/serviceaccount");

// The same from the environment of this process.
base::Result<ClusterAccess> in_cluster_access(const Clock& clock);

// The variables of this process.
std::map<std::string, std::string> process_environment();

// The whole file. Errors: it is not there, cannot be read, or has more than `bytes_max`.
base::Result<std::string> read_small_file(const std::string& path,
                                          size_t bytes_max = size_t{1} << 20);

}  // namespace mainspring::kube
