// SPDX-License-Identifier: Apache-2.0
#include "mainspring/model/resources.h"

namespace mainspring::model {

std::string_view to_string(Resource resource) {
  switch (resource) {
    case Resource::kCpuMilli:
      return "cpu";
    case Resource::kMemoryBytes:
      return "memory";
    case Resource::kEphemeralBytes:
      return "ephemeral-storage";
    case Resource::kPods:
      return "pods";
  }
  return "unknown";
}

}  // namespace mainspring::model
