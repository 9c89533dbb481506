// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "mainspring/kube/credentials.h"
#include "mainspring/kube/curl_transport.h"

namespace mainspring::kube {

// Sets on a handle of libcurl (CURL*, which is void*) what is the same for each exchange: TLS and
// whom to trust, what to show, and how a connection that died is noticed.
void set_lasting_options(void* easy, const ClusterAccess& access, const TransportOptions& options,
                         const Credentials& shown);

}  // namespace mainspring::kube
