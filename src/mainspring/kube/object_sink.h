// SPDX-License-Identifier: Apache-2.0
#pragma once

// What an informer tells of one kind: the objects that are there, as they come and go. Calls arrive
// on the polling thread, and handlers only take note: they never block and never fail.

namespace mainspring::kube {

template <class Object>
class ObjectSink {
 public:
  virtual ~ObjectSink() = default;
  // A new object, or a changed one. An object that was deleted and made anew under its name comes
  // as `gone` of the old one and `seen` of the new one, even where the server did not say so.
  virtual void seen(Object object) = 0;
  // The last state that is known of it, which may be old.
  virtual void gone(const Object& last) = 0;
  // Everything that was there at the beginning has been told.
  virtual void synced() = 0;
};

}  // namespace mainspring::kube
