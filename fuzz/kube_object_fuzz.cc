// SPDX-License-Identifier: Apache-2.0
// Objects of the API server from arbitrary JSON: the first byte chooses the kind. What is accepted
// has amounts that are not negative, and what is refused says where it is wrong.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "mainspring/base/check.h"
#include "mainspring/base/json.h"
#include "mainspring/kube/decode.h"
#include "mainspring/kube/managed_fields.h"

namespace {

using namespace mainspring;

template <class Object>
const Object* checked(const base::Result<Object>& result) {
  if (result) {
    MAINSPRING_CHECK(!result->meta.name.empty(), "an object has a name");
    return &*result;
  }
  MAINSPRING_CHECK(result.error().message.find(": ") != std::string::npos,
                   "an error names the field");
  return nullptr;
}

void check_amounts(const std::map<std::string, int64_t>& amounts) {
  for (const auto& [name, amount] : amounts) MAINSPRING_CHECK(amount >= 0, "an amount is negative");
}

void decode(char kind, const base::Json& json) {
  switch (kind) {
    case 'p':
      if (const auto pod = kube::decode_pod(json); checked(pod)) check_amounts(pod->requests);
      break;
    case 'n':
      if (const auto node = kube::decode_node(json); checked(node)) {
        check_amounts(node->allocatable);
      }
      break;
    case 'g':
      if (const auto group = kube::decode_pod_group(json); checked(group)) {
        MAINSPRING_CHECK(group->min_count >= 0, "a minimum is negative");
      }
      break;
    case 'b':
      if (const auto budget = kube::decode_budget(json); checked(budget)) {
        kube::matches(budget->selector, {{"app", "x"}});
      }
      break;
    case 'v':
      checked(kube::decode_volume(json));
      checked(kube::decode_claim(json));
      checked(kube::decode_storage_class(json));
      break;
    default:
      checked(kube::decode_batch_job(json));
      checked(kube::decode_csi_node(json));
      checked(kube::decode_namespace(json));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  std::string kept;
  const auto json = base::parse_json(kube::without_managed_fields(text, kept));
  MAINSPRING_CHECK(json || !base::parse_json(text) || kept != text,
                   "JSON is spoilt although nothing was taken from it");
  if (json) decode(static_cast<char>(data[0]), *json);
  return 0;
}
