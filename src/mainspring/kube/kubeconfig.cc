// SPDX-License-Identifier: Apache-2.0
#include "mainspring/kube/kubeconfig.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "mainspring/base/json.h"
#include "mainspring/config/yaml_tree.h"
#include "mainspring/kube/base64.h"
#include "mainspring/kube/credential_files.h"

namespace mainspring::kube {
namespace {

using config::YamlNode;

// Reads fields of one file; the first thing that is wrong is kept, and the rest is then worthless.
class Reader {
 public:
  explicit Reader(std::string path) : path_(std::move(path)) {}

  [[nodiscard]] const std::optional<base::Error>& error() const { return error_; }

  std::string text(const YamlNode& map, std::string_view key) {
    const YamlNode* node = map.find(key);
    if (node == nullptr || node->kind == YamlNode::Kind::kNull) return {};
    if (node->kind != YamlNode::Kind::kScalar) {
      fail(*node, std::string(key) + " must be a text, not " + config::describe(*node));
      return {};
    }
    return node->text;
  }

  bool truth(const YamlNode& map, std::string_view key) {
    const std::string word = text(map, key);
    if (word == "true") return true;
    if (!word.empty() && word != "false") {
      fail(*map.find(key), std::string(key) + " must be true or false");
    }
    return false;
  }

  std::string file(const YamlNode& map, std::string_view key) { return relative(text(map, key)); }

  // A command without a slash is looked for in PATH.
  std::string command(const YamlNode& map) {
    const std::string name = text(map, "command");
    return name.find('/') == std::string::npos ? name : relative(name);
  }

  std::string data(const YamlNode& map, std::string_view key) {
    const std::string encoded = text(map, key);
    auto bytes = decode_base64(encoded);
    if (!bytes) fail(*map.find(key), std::string(key) + " is not Base64");
    return bytes ? std::move(*bytes) : std::string();
  }

  // Nullptr where there is none.
  const YamlNode* map(const YamlNode& parent, std::string_view key) {
    return child(parent, key, YamlNode::Kind::kMap, "a mapping");
  }

  template <class Visit>
  void each(const YamlNode& parent, std::string_view key, Visit visit) {
    const YamlNode* list = child(parent, key, YamlNode::Kind::kSequence, "a list");
    if (list == nullptr) return;
    for (const YamlNode& item : list->items) visit(item);
  }

  void refuse(const YamlNode& map, std::string_view key, const std::string& why) {
    const YamlNode* node = map.find(key);
    if (node == nullptr || node->kind == YamlNode::Kind::kNull) return;
    if (node->kind == YamlNode::Kind::kScalar && node->text.empty()) return;
    fail(*node, std::string(key) + ": " + why);
  }

  void fail(const YamlNode& node, const std::string& why) {
    if (error_) return;
    error_ = base::Error{base::ErrorCode::kInvalidInput, config::place(path_, node) + ": " + why};
  }

 private:
  const YamlNode* child(const YamlNode& parent, std::string_view key, YamlNode::Kind kind,
                        const char* words) {
    const YamlNode* node = parent.find(key);
    if (node == nullptr || node->kind == YamlNode::Kind::kNull) return nullptr;
    if (node->kind == kind) return node;
    fail(*node, std::string(key) + " must be " + words + ", not " + config::describe(*node));
    return nullptr;
  }

  [[nodiscard]] std::string relative(const std::string& name) const {
    if (name.empty() || name.starts_with('/')) return name;
    const size_t slash = path_.rfind('/');
    return slash == std::string::npos ? name : path_.substr(0, slash + 1) + name;
  }

  std::string path_;
  std::optional<base::Error> error_;
};

KubeCluster read_cluster(Reader& reader, const YamlNode& node) {
  KubeCluster cluster;
  cluster.server = reader.text(node, "server");
  while (cluster.server.ends_with('/')) cluster.server.pop_back();
  cluster.ca_pem = reader.data(node, "certificate-authority-data");
  cluster.ca_file = reader.file(node, "certificate-authority");
  cluster.tls_server_name = reader.text(node, "tls-server-name");
  cluster.proxy_url = reader.text(node, "proxy-url");
  cluster.insecure = reader.truth(node, "insecure-skip-tls-verify");
  return cluster;
}

void read_exec(Reader& reader, const YamlNode& node, KubeUser& user) {
  user.has_exec = true;
  user.exec.api_version = reader.text(node, "apiVersion");
  user.exec.command = reader.command(node);
  user.exec.install_hint = reader.text(node, "installHint");
  user.exec_wants_cluster = reader.truth(node, "provideClusterInfo");
  reader.each(node, "args", [&](const YamlNode& item) {
    if (item.kind != YamlNode::Kind::kScalar) reader.fail(item, "args must be texts");
    user.exec.arguments.push_back(item.text);
  });
  reader.each(node, "env", [&](const YamlNode& item) {
    user.exec.environment[reader.text(item, "name")] = reader.text(item, "value");
  });
  if (reader.text(node, "interactiveMode") == "Always") {
    reader.refuse(node, "interactiveMode", "there is nobody whom the plugin could ask");
  }
}

KubeUser read_user(Reader& reader, const YamlNode& node) {
  KubeUser user;
  user.certificate_pem = reader.data(node, "client-certificate-data");
  user.certificate_file = reader.file(node, "client-certificate");
  user.key_pem = reader.data(node, "client-key-data");
  user.key_file = reader.file(node, "client-key");
  user.token = reader.text(node, "token");
  user.token_file = reader.file(node, "tokenFile");
  if (user.token.find_first_of("\r\n") != std::string::npos) {
    reader.refuse(node, "token", "it has more than one line");
  }
  reader.refuse(node, "username", "passwords are not supported, and the API server has none");
  reader.refuse(node, "auth-provider", "not supported; use exec");
  reader.refuse(node, "as", "Mainspring does not impersonate");
  if (const YamlNode* exec = reader.map(node, "exec")) read_exec(reader, *exec, user);
  return user;
}

// Of a list of {name, KEY: {...}}: the first of each name.
template <class Part, class Read>
void read_named(Reader& reader, const YamlNode& root, const std::string& list,
                const std::string& key, std::map<std::string, Part>& parts, Read read) {
  reader.each(root, list, [&](const YamlNode& item) {
    if (item.kind != YamlNode::Kind::kMap) {
      reader.fail(item, list + " must hold mappings");
      return;
    }
    const std::string name = reader.text(item, "name");
    if (name.empty()) reader.fail(item, "an entry of " + list + " needs a name");
    const YamlNode* part = reader.map(item, key);
    if (part != nullptr) parts.emplace(name, read(reader, *part));
  });
}

// What the program is told of the cluster, as client-go writes it.
std::string cluster_json(const KubeCluster& cluster, const std::string& ca_pem) {
  base::Json json = base::Json::object();
  json.append("server", cluster.server);
  if (!cluster.tls_server_name.empty()) json.append("tls-server-name", cluster.tls_server_name);
  if (cluster.insecure) json.append("insecure-skip-tls-verify", true);
  if (!ca_pem.empty()) json.append("certificate-authority-data", encode_base64(ca_pem));
  return json.dump();
}

base::Result<std::shared_ptr<CredentialSource>> open_credentials(const Clock& clock,
                                                                 const KubeCluster& cluster,
                                                                 KubeUser user) {
  Credentials fixed;
  CredentialFiles files;
  fixed.ca_pem = cluster.ca_pem;
  if (fixed.ca_pem.empty()) files.ca = cluster.ca_file;
  fixed.certificate_pem = user.certificate_pem;
  if (fixed.certificate_pem.empty()) files.certificate = user.certificate_file;
  fixed.key_pem = user.key_pem;
  if (fixed.key_pem.empty()) files.key = user.key_file;
  const bool certificate = !fixed.certificate_pem.empty() || !files.certificate.empty();
  const bool key = !fixed.key_pem.empty() || !files.key.empty();
  if (certificate != key) return base::invalid("a client certificate or its key is missing");
  files.token = user.token_file;
  if (files.token.empty()) fixed.bearer_token = user.token;
  auto watched = watch_credential_files(clock, std::move(files), std::move(fixed));
  // As with kubectl, a plugin speaks only where the file shows nothing itself.
  if (!watched || !user.has_exec || certificate || !(*watched)->current().bearer_token.empty()) {
    return watched;
  }
  const Credentials& shown = (*watched)->current();
  if (user.exec_wants_cluster) user.exec.cluster_json = cluster_json(cluster, shown.ca_pem);
  for (const auto& [name, value] : process_environment()) {
    user.exec.environment.emplace(name, value);
  }
  return run_exec_plugin(clock, std::move(user.exec), shown);
}

template <class Part>
base::Result<Part> look_up(const std::map<std::string, Part>& parts, const std::string& kind,
                           const std::string& name) {
  const auto found = parts.find(name);
  if (found != parts.end()) return found->second;
  return base::failure(base::ErrorCode::kNotFound,
                       "the kubeconfig has no " + kind + " \"" + name + "\"");
}

base::Result<Kubeconfig> read_files(const std::vector<std::string>& paths,
                                    std::vector<std::string>& warnings) {
  Kubeconfig merged;
  bool any = false;
  std::string missing;
  for (const std::string& path : paths) {
    if (path.empty()) continue;
    auto text = read_small_file(path, size_t{8} << 20);
    if (!text && text.error().code == base::ErrorCode::kNotFound) {
      missing = text.error().message;
      warnings.push_back(missing);
      continue;
    }
    if (!text) return tl::unexpected<base::Error>(text.error());
    auto part = parse_kubeconfig(*text, path);
    if (!part) return part;
    merge(merged, std::move(*part));
    any = true;
  }
  if (any) return merged;
  return base::failure(base::ErrorCode::kNotFound,
                       missing.empty() ? "no kubeconfig is named" : missing);
}

}  // namespace

base::Result<Kubeconfig> parse_kubeconfig(std::string_view text, const std::string& path) {
  const auto root = config::parse_yaml(text, path);
  if (!root) return tl::unexpected<base::Error>(root.error());
  Kubeconfig config;
  if (root->kind == YamlNode::Kind::kNull) return config;
  Reader reader(path);
  if (root->kind != YamlNode::Kind::kMap) reader.fail(*root, "a kubeconfig must be a mapping");
  config.current_context = reader.text(*root, "current-context");
  read_named(reader, *root, "clusters", "cluster", config.clusters, read_cluster);
  read_named(reader, *root, "users", "user", config.users, read_user);
  read_named(reader, *root, "contexts", "context", config.contexts,
             [](Reader& fields, const YamlNode& node) {
               return KubeContext{fields.text(node, "cluster"), fields.text(node, "user"),
                                  fields.text(node, "namespace")};
             });
  if (reader.error()) return tl::unexpected<base::Error>(*reader.error());
  return config;
}

void merge(Kubeconfig& first, Kubeconfig second) {
  if (first.current_context.empty()) first.current_context = std::move(second.current_context);
  first.clusters.merge(second.clusters);
  first.users.merge(second.users);
  first.contexts.merge(second.contexts);
}

base::Result<ClusterAccess> read_kubeconfig(const Clock& clock,
                                            const std::vector<std::string>& paths,
                                            const std::string& context) {
  ClusterAccess access;
  const auto config = read_files(paths, access.warnings);
  if (!config) return tl::unexpected<base::Error>(config.error());
  const std::string& name = context.empty() ? config->current_context : context;
  if (name.empty()) return base::invalid("the kubeconfig has no current-context");
  const auto chosen = look_up(config->contexts, "context", name);
  if (!chosen) return tl::unexpected<base::Error>(chosen.error());
  const auto cluster = look_up(config->clusters, "cluster", chosen->cluster);
  if (!cluster) return tl::unexpected<base::Error>(cluster.error());
  KubeUser user;
  if (!chosen->user.empty()) {
    auto found = look_up(config->users, "user", chosen->user);
    if (!found) return tl::unexpected<base::Error>(found.error());
    user = std::move(*found);
  }
  if (cluster->server.empty()) {
    return base::invalid("the cluster \"" + chosen->cluster + "\" names no server");
  }
  access.server = cluster->server;
  access.tls_server_name = cluster->tls_server_name;
  access.insecure = cluster->insecure;
  access.namespace_name = chosen->namespace_name;
  if (access.insecure) {
    access.warnings.push_back("the certificate of " + access.server +
                              " is not verified (insecure-skip-tls-verify)");
  }
  if (!cluster->proxy_url.empty()) {
    access.warnings.emplace_back("proxy-url is ignored: the API server is addressed directly");
  }
  auto credentials = open_credentials(clock, *cluster, std::move(user));
  if (!credentials) return base::in_context("user " + chosen->user, credentials.error());
  access.credentials = std::move(*credentials);
  return access;
}

}  // namespace mainspring::kube
