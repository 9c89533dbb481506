// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "mainspring/base/result.h"
#include "mainspring/kube/credentials.h"
#include "mainspring/kube/exec_plugin.h"

// Kubeconfig files, read as kubectl reads them: of several files the first that names a thing wins,
// data inside the file goes before a path, and a path is relative to its file.

namespace mainspring::kube {

struct KubeCluster {
  std::string server;
  std::string ca_file;
  std::string ca_pem;
  std::string tls_server_name;
  std::string proxy_url;
  bool insecure = false;
};

struct KubeUser {
  std::string certificate_file;
  std::string certificate_pem;
  std::string key_file;
  std::string key_pem;
  std::string token;
  std::string token_file;
  bool has_exec = false;
  bool exec_wants_cluster = false;
  ExecPlugin exec;
};

struct KubeContext {
  std::string cluster;
  std::string user;
  std::string namespace_name;
};

struct Kubeconfig {
  std::string current_context;
  std::map<std::string, KubeCluster> clusters;
  std::map<std::string, KubeUser> users;
  std::map<std::string, KubeContext> contexts;
};

// `path` names the file in messages and is where relative paths begin. Unknown fields are ignored,
// as they are by kubectl. Errors, with line and column: not YAML, a field of the wrong kind, and
// what Mainspring does not do (passwords, auth-provider, impersonation).
base::Result<Kubeconfig> parse_kubeconfig(std::string_view text, const std::string& path);

// What `first` does not name is taken from `second`.
void merge(Kubeconfig& first, Kubeconfig second);

// `context` empty: the current one. A path that does not exist is passed over if another does.
// Errors: no file, a file that cannot be understood, a context, cluster or user that is not there,
// a user who shows half a certificate, a plugin that fails. `clock` must outlive the access.
base::Result<ClusterAccess> read_kubeconfig(const Clock& clock,
                                            const std::vector<std::string>& paths,
                                            const std::string& context = {});

}  // namespace mainspring::kube
