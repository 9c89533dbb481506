// SPDX-License-Identifier: Apache-2.0
#include "mainspring/kube/exec_plugin.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <optional>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "mainspring/base/json.h"
#include "mainspring/kube/time_text.h"

namespace mainspring::kube {
namespace {

constexpr size_t kOutputBytesMax = size_t{1} << 20;
constexpr base::Duration kBeforeExpiry = base::seconds(20);
constexpr base::Duration kBetweenRunsMin = base::seconds(5);

// A child whose output is read without waiting.
class Child {
 public:
  Child() = default;
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    if (pid_ > 0) {
      // The program may have children of its own: its process group goes.
      kill(-pid_, SIGKILL);
      waitpid(pid_, nullptr, 0);
    }
    if (output_ >= 0) close(output_);
  }

  base::Status start(const ExecPlugin& plugin, const std::string& exec_info) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return failed(plugin, errno);
    output_ = ends[0];
    fcntl(output_, F_SETFL, O_NONBLOCK);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(
        &attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    sigset_t none;
    sigemptyset(&none);
    posix_spawnattr_setsigmask(&attributes, &none);
    sigset_t usual;
    sigfillset(&usual);
    posix_spawnattr_setsigdefault(&attributes, &usual);

    std::vector<std::string> words = {plugin.command};
    words.insert(words.end(), plugin.arguments.begin(), plugin.arguments.end());
    std::vector<std::string> variables = {"KUBERNETES_EXEC_INFO=" + exec_info};
    for (const auto& [name, value] : plugin.environment) {
      if (name == "KUBERNETES_EXEC_INFO") continue;
      std::string& variable = variables.emplace_back(name);
      variable += '=';
      variable += value;
    }
    std::vector<char*> argv = pointers(words);
    std::vector<char*> envp = pointers(variables);
    const int error =
        posix_spawnp(&pid_, argv.front(), &actions, &attributes, argv.data(), envp.data());
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    close(ends[1]);
    if (error == 0) return {};
    pid_ = 0;
    return failed(plugin, error);
  }

  // Nothing while it runs; then what it printed.
  std::optional<base::Result<std::string>> look() {
    std::array<char, 16'384> buffer{};
    while (!ended_) {
      const ssize_t count = read(output_, buffer.data(), buffer.size());
      if (count > 0) {
        text_.append(buffer.data(), static_cast<size_t>(count));
        if (text_.size() > kOutputBytesMax) return base::invalid("printed more than 1 MiB");
      } else if (count == 0) {
        ended_ = true;
      } else if (errno != EINTR) {
        break;
      }
    }
    int status = 0;
    if (!ended_ || waitpid(pid_, &status, WNOHANG) != pid_) return std::nullopt;
    pid_ = 0;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return std::move(text_);
    return base::failure(base::ErrorCode::kUnavailable,
                         WIFEXITED(status)
                             ? "ended with code " + std::to_string(WEXITSTATUS(status))
                             : "ended by signal " + std::to_string(WTERMSIG(status)));
  }

  void wait_a_little() const {
    pollfd output{ended_ ? -1 : output_, POLLIN, 0};
    ::poll(&output, 1, ended_ ? 5 : 100);
  }

 private:
  static std::vector<char*> pointers(std::vector<std::string>& texts) {
    std::vector<char*> all;
    all.reserve(texts.size() + 1);
    for (std::string& text : texts) all.push_back(text.data());
    all.push_back(nullptr);
    return all;
  }
  static tl::unexpected<base::Error> failed(const ExecPlugin& plugin, int error) {
    std::string message = std::string("cannot be started: ") + std::strerror(error);
    if (!plugin.install_hint.empty()) message += "; " + plugin.install_hint;
    return base::failure(base::ErrorCode::kUnavailable, message);
  }

  pid_t pid_ = 0;
  int output_ = -1;
  bool ended_ = false;
  std::string text_;
};

std::string exec_info(const ExecPlugin& plugin) {
  base::Json spec = base::Json::object();
  spec.append("interactive", false);
  if (!plugin.cluster_json.empty()) {
    if (auto cluster = base::parse_json(plugin.cluster_json)) {
      spec.append("cluster", std::move(*cluster));
    }
  }
  base::Json info = base::Json::object();
  info.append("apiVersion", plugin.api_version);
  info.append("kind", "ExecCredential");
  info.append("spec", std::move(spec));
  return info.dump();
}

class PluginCredentials final : public CredentialSource {
 public:
  PluginCredentials(const Clock& clock, ExecPlugin plugin, Credentials fixed)
      : clock_(clock),
        plugin_(std::move(plugin)),
        exec_info_(exec_info(plugin_)),
        credentials_(std::move(fixed)) {}

  base::Status first_run() {
    start();
    while (child_) {
      child_->wait_a_little();
      look();
    }
    if (failure_) return base::in_context(plugin_.command, *failure_);
    return {};
  }

  const Credentials& current() override {
    if (child_) {
      look();
    } else if (due()) {
      start();
    }
    return credentials_;
  }

  void rejected(std::string_view bearer_token) override {
    if (bearer_token == credentials_.bearer_token) refused_ = true;
  }

 private:
  [[nodiscard]] bool due() const {
    const base::Instant now = clock_.now();
    if (now < started_at_ + kBetweenRunsMin) return false;
    return refused_ || failure_ || now + kBeforeExpiry >= expires_at_;
  }

  void start() {
    started_at_ = clock_.now();
    child_.emplace();
    if (const base::Status started = child_->start(plugin_, exec_info_); !started) {
      fail(started.error());
    }
  }

  void look() {
    if (const auto output = child_->look()) {
      if (!*output) {
        fail(output->error());
        return;
      }
      auto credential = parse_exec_credential(**output, plugin_.api_version);
      if (!credential) {
        fail(credential.error());
        return;
      }
      child_.reset();
      accept(std::move(*credential));
    } else if (clock_.now() >= started_at_ + plugin_.timeout) {
      fail({base::ErrorCode::kUnavailable,
            "no answer within " + std::to_string(plugin_.timeout.ms / 1000) + " s"});
    }
  }

  void accept(ExecCredential credential) {
    failure_.reset();
    refused_ = false;
    expires_at_ = credential.expires_at;
    if (!credential.token.empty()) credentials_.bearer_token = std::move(credential.token);
    if (credential.certificate_pem.empty()) return;
    credentials_.certificate_pem = std::move(credential.certificate_pem);
    credentials_.key_pem = std::move(credential.key_pem);
  }

  void fail(base::Error error) {
    failure_ = std::move(error);
    child_.reset();
  }

  const Clock& clock_;
  ExecPlugin plugin_;
  std::string exec_info_;
  Credentials credentials_;
  base::Instant expires_at_ = base::Instant::never();
  base::Instant started_at_;
  bool refused_ = false;
  std::optional<base::Error> failure_;
  std::optional<Child> child_;
};

std::string text_member(const base::Json& object, std::string_view key) {
  const base::Json* found = object.find(key);
  return found != nullptr && found->is(base::Json::Kind::kString) ? found->as_string()
                                                                  : std::string();
}

}  // namespace

base::Result<ExecCredential> parse_exec_credential(std::string_view text,
                                                   const std::string& api_version) {
  const auto json = base::parse_json(text, {.depth_max = 16});
  if (!json) return base::in_context("its output", json.error());
  if (text_member(*json, "kind") != "ExecCredential") {
    return base::invalid("its output is no ExecCredential");
  }
  if (text_member(*json, "apiVersion") != api_version) {
    return base::invalid("its output is of another version than " + api_version);
  }
  const base::Json* status = json->find("status");
  if (status == nullptr) return base::invalid("its output has no status");
  ExecCredential credential;
  credential.token = text_member(*status, "token");
  credential.certificate_pem = text_member(*status, "clientCertificateData");
  credential.key_pem = text_member(*status, "clientKeyData");
  if (credential.certificate_pem.empty() != credential.key_pem.empty()) {
    return base::invalid("its output has a certificate or a key, and not the other");
  }
  if (credential.token.empty() && credential.certificate_pem.empty()) {
    return base::invalid("its output has neither a token nor a certificate");
  }
  if (credential.token.find_first_of("\r\n") != std::string::npos) {
    return base::invalid("its output has a token of more than one line");
  }
  const std::string expiry = text_member(*status, "expirationTimestamp");
  if (expiry.empty()) return credential;
  const auto time = parse_time(expiry);
  if (!time) return base::invalid("its output has an expirationTimestamp that is no time");
  credential.expires_at = *time;
  return credential;
}

base::Result<std::shared_ptr<CredentialSource>> run_exec_plugin(const Clock& clock,
                                                                ExecPlugin plugin,
                                                                Credentials fixed) {
  if (plugin.api_version != "client.authentication.k8s.io/v1" &&
      plugin.api_version != "client.authentication.k8s.io/v1beta1") {
    return base::invalid("exec: apiVersion \"" + plugin.api_version +
                         "\" is not one of client.authentication.k8s.io/v1 and /v1beta1");
  }
  if (plugin.command.empty()) return base::invalid("exec: no command is named");
  auto source = std::make_shared<PluginCredentials>(clock, std::move(plugin), std::move(fixed));
  const base::Status ran = source->first_run();
  if (!ran) return base::in_context("exec", ran.error());
  return source;
}

}  // namespace mainspring::kube
