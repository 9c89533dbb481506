// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "mainspring/base/result.h"
#include "mainspring/kube/credentials.h"
#include "mainspring/kube/http.h"

// The transport of production: HTTP/1.1 over TLS through libcurl, on the thread that polls.
//
// Requests share a pool of connections that are kept open; those beyond the pool's size wait here,
// first come, first served. Each stream has a connection of its own, so that a dead one takes
// nothing else with it. A peer that vanished without a word is noticed by the kernel (keep-alive
// probes, unacknowledged data) and by the timeout of each request. Redirects are not followed and
// proxies are ignored. A reply of 401 makes the source of the credentials look for new ones; when
// its certificates change, streams are ended, so that whoever reads them opens them anew.

namespace mainspring::kube {

struct TransportOptions {
  size_t connections_max = 16;                // of requests; streams come on top
  size_t reply_bytes_max = size_t{64} << 20;  // a longer reply is an error; streams have no end
  base::Duration connect_timeout = base::seconds(10);
  std::string user_agent = "mainspring";
};

// Errors: the access names no server, or libcurl cannot start.
base::Result<std::unique_ptr<Transport>> open_transport(ClusterAccess access,
                                                        TransportOptions options = {});

}  // namespace mainspring::kube
