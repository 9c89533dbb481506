// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "mainspring/kube/base64.h"
#include "mainspring/kube/credential_files.h"
#include "mainspring/kube/curl_transport.h"
#include "mainspring/kube/exec_plugin.h"
#include "mainspring/kube/kubeconfig.h"
#include "mainspring/kube/scripted_transport_for_tests.h"
#include "mainspring/kube/system_clock.h"
#include "mainspring/kube/time_text.h"

namespace mainspring::kube {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class AccessTest : public testing::Test {
 protected:
  AccessTest() {
    folder_ = testing::TempDir() + "mainspring_access_" +
              testing::UnitTest::GetInstance()->current_test_info()->name() + "_" +
              std::to_string(getpid());
    mkdir(folder_.c_str(), 0700);
  }
  std::string write(const std::string& name, const std::string& text) {
    const std::string path = folder_ + "/" + name;
    std::ofstream(path) << text;
    return path;
  }
  std::string write_program(const std::string& name, const std::string& script) {
    const std::string path = write(name, "#!/bin/sh\n" + script);
    chmod(path.c_str(), 0700);
    return path;
  }
  base::Result<ClusterAccess> read(const std::string& text) {
    return read_kubeconfig(clock_, {write("config", text)});
  }
  static std::string config(const std::string& cluster, const std::string& user) {
    return "current-context: here\n"
           "contexts:\n- name: here\n  context: {cluster: c, user: u, namespace: n}\n"
           "clusters:\n- name: c\n  cluster: {" +
           cluster + "}\nusers:\n- name: u\n  user: {" + user + "}\n";
  }

  std::string folder_;
  ManualClock clock_;
};

TEST_F(AccessTest, DataGoesBeforeFilesAndPathsAreRelativeToTheirFile) {
  write("ca.crt", "the authority");
  write("client.key", "the key");
  const auto access =
      read(config("server: 'https://[::1]:6443/', certificate-authority: ca.crt",
                  "client-certificate-data: " + encode_base64("the certificate") +
                      ", client-certificate: nowhere.crt, client-key: client.key, token: t"));
  ASSERT_TRUE(access) << access.error().message;
  EXPECT_EQ(access->server, "https://[::1]:6443");
  EXPECT_EQ(access->namespace_name, "n");
  const Credentials& shown = access->credentials->current();
  EXPECT_EQ(shown.ca_pem, "the authority");
  EXPECT_EQ(shown.certificate_pem, "the certificate");
  EXPECT_EQ(shown.key_pem, "the key");
  EXPECT_EQ(shown.bearer_token, "t");
  EXPECT_THAT(access->warnings, testing::IsEmpty());
}

TEST_F(AccessTest, OfSeveralFilesTheFirstThatNamesAThingWins) {
  const std::string first = write("first", "current-context: b\nusers:\n- name: u\n  user: {}\n");
  const std::string second = write(
      "second", R"({"current-context": "a", "contexts": [{"name": "b", "context": {"cluster": "c",
      "user": "u"}}], "users": [{"name": "u", "user": {"token": "wrong"}}],
      "clusters": [{"name": "c", "cluster": {"server": "https://s", "tls-server-name": "x",
      "insecure-skip-tls-verify": true}}]})");
  const auto access = read_kubeconfig(clock_, {folder_ + "/missing", first, second});
  ASSERT_TRUE(access) << access.error().message;
  EXPECT_EQ(access->credentials->current().bearer_token, "");
  EXPECT_EQ(access->tls_server_name, "x");
  EXPECT_TRUE(access->insecure);
  EXPECT_THAT(access->warnings,
              ElementsAre(HasSubstr("missing"), HasSubstr("insecure-skip-tls-verify")));
}

TEST_F(AccessTest, BadKubeconfigsAreRefusedByName) {
  const std::string good = "server: 'https://s'";
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "no current-context"},
      {"current-context: x", "no context \"x\""},
      {"- a", "must be a mapping"},
      {"clusters: 7", "1:11: clusters must be a list"},
      {"clusters: [7]", "clusters must hold mappings"},
      {config("server: ''", "token: t"), "names no server"},
      {config(good, "token: [t]"), "token must be a text"},
      {config(good, "client-key-data: '%%%'"), "client-key-data is not Base64"},
      {config(good, "client-key-data: YQ=="), "certificate or its key is missing"},
      {config(good, "client-certificate: no.crt, client-key: no.key"), "no.crt: cannot be read"},
      {config(good, "tokenFile: no.token"), "no.token: cannot be read"},
      {config(good, "username: root, password: x"), "passwords are not supported"},
      {config(good, "auth-provider: {name: gcp}"), "auth-provider"},
      {config(good, "as: somebody"), "impersonate"},
      {config(good + ", insecure-skip-tls-verify: perhaps", ""), "must be true or false"},
      {config(good, "exec: {command: /bin/true, apiVersion: v7}"), "apiVersion \"v7\""},
      {config(good, "exec: {apiVersion: client.authentication.k8s.io/v1}"), "no command"},
      {config(good,
              "exec: {command: no-such-program, installHint: get it at shop, "
              "apiVersion: client.authentication.k8s.io/v1}"),
       "get it at shop"},
      {config(good, "exec: {command: /bin/false, apiVersion: client.authentication.k8s.io/v1}"),
       "ended with code 1"},
      {config(good, "exec: {command: /bin/true, apiVersion: client.authentication.k8s.io/v1}"),
       "its output"},
      {"a: &x [1]\nb: *x\n", "config"},
  };
  for (const auto& [text, message] : cases) {
    const auto access = read(text);
    ASSERT_FALSE(access) << text;
    EXPECT_THAT(access.error().message, HasSubstr(message)) << text;
    EXPECT_EQ(access.error().message.find('\n'), std::string::npos);
  }
}

TEST_F(AccessTest, AllPartsOfAServiceAccountAreRead) {
  write("token", "first\n");
  write("ca.crt", "authority");
  write("namespace", "system\n");
  const std::map<std::string, std::string> environment = {{"KUBERNETES_SERVICE_HOST", "fd00::1"},
                                                          {"KUBERNETES_SERVICE_PORT", "443"}};
  const auto access = in_cluster_access(clock_, environment, folder_);
  ASSERT_TRUE(access) << access.error().message;
  EXPECT_EQ(access->server, "https://[fd00::1]:443");
  EXPECT_EQ(access->namespace_name, "system");
  CredentialSource& source = *access->credentials;
  EXPECT_EQ(source.current().bearer_token, "first");
  write("token", "second");
  EXPECT_EQ(source.current().bearer_token, "first") << "read at most once a minute";
  clock_.advance(base::seconds(60));
  EXPECT_EQ(source.current().bearer_token, "second");
  write("token", "");
  clock_.advance(base::seconds(60));
  EXPECT_EQ(source.current().bearer_token, "second") << "kept when there is no other";
  write("token", "third");
  clock_.advance(base::seconds(2));
  source.rejected("first");
  EXPECT_EQ(source.current().bearer_token, "second") << "the refused one was older";
  source.rejected("second");
  EXPECT_EQ(source.current().bearer_token, "third");
  write("ca.crt", "new authority");
  clock_.advance(base::seconds(300));
  EXPECT_EQ(source.current().ca_pem, "new authority");
  EXPECT_FALSE(in_cluster_access(clock_, {}, folder_));
  EXPECT_FALSE(in_cluster_access(clock_, environment, folder_ + "/missing"));
}

TEST_F(AccessTest, APluginRunsAgainBeforeExpiryAndAfterARefusal) {
  write("count", "");
  const std::string program = write_program(
      "plugin",
      "echo x >> \"$1/count\"\nn=$(wc -l < \"$1/count\")\n"
      "echo \"{\\\"apiVersion\\\":\\\"client.authentication.k8s.io/v1\\\","
      "\\\"kind\\\":\\\"ExecCredential\\\",\\\"status\\\":{\\\"token\\\":\\\"$GREETING$n\\\","
      "\\\"expirationTimestamp\\\":\\\"2027-01-15T08:10:00Z\\\"}}\"\n"
      "printf '%s' \"$KUBERNETES_EXEC_INFO\" > \"$1/info\"\n");
  const auto access = read(config(
      "server: 'https://s', certificate-authority-data: " + encode_base64("ca"),
      "exec: {command: ./plugin, args: ['" + folder_ +
          "'], provideClusterInfo: true, "
          "env: [{name: GREETING, value: hi}], apiVersion: client.authentication.k8s.io/v1}"));
  ASSERT_TRUE(access) << access.error().message;
  CredentialSource& source = *access->credentials;
  EXPECT_EQ(source.current().bearer_token, "hi1");
  EXPECT_EQ(source.current().ca_pem, "ca");
  const auto info = read_small_file(folder_ + "/info");
  EXPECT_THAT(info.value_or(""), HasSubstr(R"("interactive":false)"));
  EXPECT_THAT(info.value_or(""), HasSubstr(R"("certificate-authority-data":"Y2E=")"));
  const auto until = [&](const std::string& token) {
    while (source.current().bearer_token != token) usleep(1000);
  };
  clock_.advance(base::seconds(10));
  source.rejected("hi1");
  until("hi2");
  clock_.advance(base::seconds(590));
  until("hi3");
}

TEST_F(AccessTest, APluginThatTalksTooMuchOrTooLateIsStopped) {
  const auto run = [&](const std::string& script, base::Duration timeout) {
    ExecPlugin plugin{.command = write_program("plugin", script),
                      .environment = process_environment(),
                      .api_version = "client.authentication.k8s.io/v1",
                      .timeout = timeout};
    const SystemClock clock;
    const auto source = run_exec_plugin(clock, std::move(plugin), {});
    return source ? std::string() : source.error().message;
  };
  EXPECT_THAT(run("yes", base::seconds(60)), HasSubstr("more than 1 MiB"));
  EXPECT_THAT(run("sleep 1000", base::milliseconds(50)), HasSubstr("no answer within"));
}

TEST(ExecCredentialTest, WhatAProgramPrintsIsChecked) {
  const auto parse = [](const std::string& status, const std::string& version = "v1") {
    const auto credential = parse_exec_credential(
        R"({"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/)" + version +
            R"(","status":)" + status + "}",
        "client.authentication.k8s.io/v1");
    return credential ? std::string() : credential.error().message;
  };
  EXPECT_EQ(parse(R"({"token":"t"})"), "");
  EXPECT_EQ(parse(R"({"clientCertificateData":"c","clientKeyData":"k"})"), "");
  EXPECT_THAT(parse(R"({"clientCertificateData":"c"})"), HasSubstr("not the other"));
  EXPECT_THAT(parse("{}"), HasSubstr("neither"));
  EXPECT_THAT(parse("null"), HasSubstr("neither"));
  EXPECT_THAT(parse(R"({"token":"a\nb"})"), HasSubstr("more than one line"));
  EXPECT_THAT(parse(R"({"token":"t","expirationTimestamp":"soon"})"), HasSubstr("no time"));
  EXPECT_THAT(parse(R"({"token":"t"})", "v1beta1"), HasSubstr("another version"));
}

TEST(Base64Test, ReadsBackWhatItWrote) {
  for (const std::string_view text : {"", "a", "ab", "abc", "abcd", "\xff\xfe\xfd"}) {
    EXPECT_EQ(decode_base64(encode_base64(text)), text);
  }
  EXPECT_EQ(decode_base64("YW\nJj\n"), "abc");
  for (const std::string_view bad : {"a", "ab=c", "a===", "a\x80==", "====",
                                     "YW=="
                                     "YW=="}) {
    EXPECT_EQ(decode_base64(bad), std::nullopt) << bad;
  }
}

TEST(TimeTextTest, ReadsTheTimesOfTheApiServer) {
  EXPECT_EQ(parse_time("1970-01-01T00:00:01Z"), base::Instant{1000});
  EXPECT_EQ(parse_time("2027-01-15T08:00:00Z"), base::Instant{1'800'000'000'000});
  EXPECT_EQ(parse_time("2027-01-15T09:00:00.25+01:00"), base::Instant{1'800'000'000'250});
  EXPECT_EQ(time_text(base::Instant{1'800'000'000'250}), "2027-01-15T08:00:00Z");
  EXPECT_EQ(micro_time_text(base::Instant{1'800'000'000'250}), "2027-01-15T08:00:00.250000Z");
  for (const std::string_view bad :
       {"", "2027-01-15", "2027-02-30T00:00:00Z", "2027-01-15T24:00:00Z", "2027-01-15T08:00:00",
        "2027-01-15T08:00:00.Z", "2027-01-15T08:00:00Zx", "1969-12-31T00:00:00Z",
        "yyyy-01-15T08:00:00Z"}) {
    EXPECT_EQ(parse_time(bad), std::nullopt) << bad;
  }
}

TEST(SteadyTimeOfDayTest, NeverRunsBackwardsAndNeverSlows) {
  SteadyTimeOfDay time;
  EXPECT_EQ(time.advance(1'000'000, 50), base::Instant{1'000'000});
  EXPECT_EQ(time.advance(900'000, 150), base::Instant{1'000'100});  // set back
  EXPECT_EQ(time.advance(900'100, 250), base::Instant{1'000'200});
  EXPECT_EQ(time.advance(2'000'000, 350), base::Instant{2'000'000});  // set forward
  EXPECT_EQ(time.advance(2'000'100, 450), base::Instant{2'000'100});
}

TEST(OpenTransportTest, AddressesThatAreNoneAreRefused) {
  for (const char* server : {"", "not a url://", "ftp://host", "https://", "https://:70000"}) {
    ClusterAccess access;
    access.server = server;
    EXPECT_FALSE(open_transport(access)) << server;
  }
}

}  // namespace
}  // namespace mainspring::kube
