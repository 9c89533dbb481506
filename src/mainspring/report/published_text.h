// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <utility>

// A text that one thread makes and others hand out. The readers never see what it was made from.

namespace mainspring::report {

class PublishedText {
 public:
  void publish(std::string text) {
    auto next = std::make_shared<const std::string>(std::move(text));
    const std::lock_guard lock(mutex_);
    text_.swap(next);
  }
  // Never null.
  [[nodiscard]] std::shared_ptr<const std::string> get() const {
    const std::lock_guard lock(mutex_);
    return text_;
  }

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<const std::string> text_ = std::make_shared<const std::string>();
};

}  // namespace mainspring::report
