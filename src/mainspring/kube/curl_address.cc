// SPDX-License-Identifier: Apache-2.0
#include "mainspring/kube/curl_address.h"

#include <curl/curl.h>

#include "mainspring/base/check.h"

namespace mainspring::kube {

base::Result<ServerAddress> read_server_address(const std::string& server,
                                                const std::string& tls_server_name) {
  CURLU* url = curl_url();
  MAINSPRING_CHECK(url != nullptr, "libcurl is out of memory");
  const auto part = [&](CURLUPart which, unsigned flags) {
    char* text = nullptr;
    std::string copy;
    if (curl_url_get(url, which, &text, flags) == CURLUE_OK) copy = text;
    curl_free(text);
    return copy;
  };
  ServerAddress address;
  bool good = curl_url_set(url, CURLUPART_URL, server.c_str(), 0) == CURLUE_OK;
  const std::string scheme = part(CURLUPART_SCHEME, 0);
  good = good && (scheme == "https" || scheme == "http");
  if (good && !tls_server_name.empty()) {
    const std::string host = part(CURLUPART_HOST, 0);
    const std::string port = part(CURLUPART_PORT, CURLU_DEFAULT_PORT);
    good = curl_url_set(url, CURLUPART_HOST, tls_server_name.c_str(), 0) == CURLUE_OK;
    address.connect_to = tls_server_name + ":" + port + ":" + host + ":" + port;
  }
  address.base = part(CURLUPART_URL, 0);
  curl_url_cleanup(url);
  while (address.base.ends_with('/')) address.base.pop_back();
  if (good) return address;
  return base::invalid("\"" + server + "\" is not the address of an API server");
}

}  // namespace mainspring::kube
