// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "mainspring/kube/decode.h"
#include "mainspring/kube/decode_fields.h"

namespace mainspring::kube {

using base::Json;

base::Result<NodeObject> decode_node(const Json& object) {
  FieldReader fields;
  NodeObject node;
  read_meta(fields, object, node.meta);
  fields.within(object, "spec", [&](const Json& spec) {
    fields.truth(spec, "unschedulable", node.unschedulable);
    fields.each(spec, "taints", [&](const Json& item) {
      model::Taint taint;
      std::string effect;
      fields.text(item, "key", taint.key);
      fields.text(item, "value", taint.value);
      fields.text(item, "effect", effect);
      if (effect == "PreferNoSchedule") taint.effect = model::TaintEffect::kPreferNoSchedule;
      if (effect == "NoExecute") taint.effect = model::TaintEffect::kNoExecute;
      node.taints.push_back(std::move(taint));
    });
  });
  fields.within(object, "status", [&](const Json& status) {
    fields.resources(status, "allocatable", node.allocatable);
    fields.each(status, "conditions", [&](const Json& item) {
      std::string type;
      std::string is;
      fields.text(item, "type", type);
      fields.text(item, "status", is);
      if (type == "Ready") node.ready = is == "True";
    });
  });
  if (!fields.good()) return tl::unexpected<base::Error>(fields.error());
  return node;
}

base::Result<CsiNodeObject> decode_csi_node(const Json& object) {
  FieldReader fields;
  CsiNodeObject node;
  read_meta(fields, object, node.meta);
  fields.within(object, "spec", [&](const Json& spec) {
    fields.each(spec, "drivers", [&](const Json& driver) {
      fields.within(driver, "allocatable", [&](const Json& allocatable) {
        int32_t count = -1;
        std::string name;
        fields.text(driver, "name", name);
        fields.integer(allocatable, "count", 0, count);
        if (count >= 0) node.volume_limits.emplace_back(std::move(name), count);
      });
    });
  });
  if (!fields.good()) return tl::unexpected<base::Error>(fields.error());
  return node;
}

}  // namespace mainspring::kube
