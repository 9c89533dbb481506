// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "mainspring/base/result.h"

namespace mainspring::kube {

struct ServerAddress {
  std::string base;  // what targets are appended to
  std::string
      connect_to;  // libcurl's rule "NAME:PORT:HOST:PORT"; empty: connect to what `base` says
};

// A server whose certificate bears another name is addressed by that name, and connected to where
// it is: so libcurl asks for, and verifies, the right one. Errors: not an http or https address.
base::Result<ServerAddress> read_server_address(const std::string& server,
                                                const std::string& tls_server_name);

}  // namespace mainspring::kube
