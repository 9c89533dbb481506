// SPDX-License-Identifier: Apache-2.0
#include "mainspring/kube/curl_options.h"

#include <curl/curl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "mainspring/base/check.h"

namespace mainspring::kube {
namespace {

constexpr long kProbeAfterSeconds = 20;
constexpr long kProbeEverySeconds = 10;
constexpr unsigned kUnacknowledgedMsMax = 30'000;
// The API server closes connections that nobody used for a while; ours go first.
constexpr long kIdleConnectionSeconds = 60;
// Behind several API servers, load moves on only with new connections.
constexpr long kConnectionLifeSeconds = 1'800;
int set_socket_options(void*, curl_socket_t socket, curlsocktype) {
  const unsigned limit = kUnacknowledgedMsMax;
  setsockopt(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, &limit, sizeof(limit));
  return CURL_SOCKOPT_OK;
}

template <class Value>
void set(CURL* easy, CURLoption option, Value value) {
  const CURLcode code = curl_easy_setopt(easy, option, value);
  MAINSPRING_CHECK(code == CURLE_OK, "libcurl does not know an option that it was built with");
}

void set_blob(CURL* easy, CURLoption option, const std::string& text) {
  if (text.empty()) {
    set(easy, option, static_cast<curl_blob*>(nullptr));
    return;
  }
  curl_blob blob{};
  // libcurl copies the bytes, and its interface knows no const.
  blob.data = const_cast<char*>(text.data());
  blob.len = text.size();
  blob.flags = CURL_BLOB_COPY;
  set(easy, option, &blob);
}

}  // namespace

void set_lasting_options(void* easy, const ClusterAccess& access, const TransportOptions& options,
                         const Credentials& shown) {
  set(easy, CURLOPT_HTTP_VERSION, long{CURL_HTTP_VERSION_1_1});
  set(easy, CURLOPT_NOSIGNAL, 1L);
  set(easy, CURLOPT_PROTOCOLS_STR, "http,https");
  set(easy, CURLOPT_PROXY, "");
  set(easy, CURLOPT_NOPROXY, "*");
  set(easy, CURLOPT_USERAGENT, options.user_agent.c_str());
  set(easy, CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(options.connect_timeout.ms));
  set(easy, CURLOPT_TCP_KEEPALIVE, 1L);
  set(easy, CURLOPT_TCP_KEEPIDLE, kProbeAfterSeconds);
  set(easy, CURLOPT_TCP_KEEPINTVL, kProbeEverySeconds);
  set(easy, CURLOPT_SOCKOPTFUNCTION, &set_socket_options);
  set(easy, CURLOPT_MAXAGE_CONN, kIdleConnectionSeconds);
  set(easy, CURLOPT_MAXLIFETIME_CONN, kConnectionLifeSeconds);
  set(easy, CURLOPT_SSLVERSION, long{CURL_SSLVERSION_TLSv1_2});
  set(easy, CURLOPT_SSL_VERIFYPEER, access.insecure ? 0L : 1L);
  set(easy, CURLOPT_SSL_VERIFYHOST, access.insecure ? 0L : 2L);
  set_blob(easy, CURLOPT_CAINFO_BLOB, shown.ca_pem);
  set_blob(easy, CURLOPT_SSLCERT_BLOB, shown.certificate_pem);
  set_blob(easy, CURLOPT_SSLKEY_BLOB, shown.key_pem);
}

}  // namespace mainspring::kube
