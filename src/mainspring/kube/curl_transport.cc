// SPDX-License-Identifier: Apache-2.0
#include "mainspring/kube/curl_transport.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include <curl/curl.h>

#include "mainspring/base/check.h"
#include "mainspring/kube/curl_address.h"
#include "mainspring/kube/curl_options.h"

namespace mainspring::kube {
namespace {

constexpr int64_t kNever = std::numeric_limits<int64_t>::max();
constexpr long kStreamBufferBytes = 65'536;

int64_t steady_ms() {
  const auto since = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(since).count();
}

// One exchange with its handle, which the next one takes over.
struct Exchange {
  CURL* easy = nullptr;
  curl_slist* headers = nullptr;
  std::array<char, CURL_ERROR_SIZE> error{};
  HttpRequest request;
  std::string token;
  std::string received;
  uint64_t generation = 0;  // of the certificates that it shows
  int64_t deadline_ms = 0;  // of a stream: when its silence has lasted too long
  // Of a request:
  OnReply on_reply;
  size_t received_bytes_max = 0;
  bool too_long = false;
  // Of a stream:
  StreamSink* sink = nullptr;
  StreamId id = 0;
  bool status_told = false;
};

// libcurl calls this from within `perform`, where nothing may be called back: bytes are kept.
size_t take_bytes(char* bytes, size_t size, size_t count, void* user) {
  auto& exchange = *static_cast<Exchange*>(user);
  const size_t length = size * count;
  if (exchange.sink == nullptr && length > exchange.received_bytes_max - exchange.received.size()) {
    exchange.too_long = true;
    return 0;
  }
  exchange.received.append(bytes, length);
  return length;
}

template <class Value>
void set(CURL* easy, CURLoption option, Value value) {
  const CURLcode code = curl_easy_setopt(easy, option, value);
  MAINSPRING_CHECK(code == CURLE_OK, "libcurl does not know an option that it was built with");
}

std::optional<base::Duration> retry_after(CURL* easy) {
  curl_off_t wait_seconds = 0;
  curl_easy_getinfo(easy, CURLINFO_RETRY_AFTER, &wait_seconds);
  if (wait_seconds <= 0) return std::nullopt;
  constexpr curl_off_t kSecondsMax = 86'400;
  return base::seconds(std::min(wait_seconds, kSecondsMax));
}

// For messages; the query may be long.
std::string name_of(const HttpRequest& request) {
  return request.method + " " + request.target.substr(0, request.target.find('?'));
}

int status_of(CURL* easy) {
  long status = 0;
  curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
  return static_cast<int>(status);
}

class CurlTransport final : public Transport {
 public:
  CurlTransport(ClusterAccess access, ServerAddress address, TransportOptions options, CURLM* multi)
      : access_(std::move(access)),
        base_(std::move(address.base)),
        options_(std::move(options)),
        multi_(multi) {
    if (!address.connect_to.empty()) {
      connect_to_ = curl_slist_append(nullptr, address.connect_to.c_str());
    }
    shown_ = access_.credentials->current();
  }
  CurlTransport(const CurlTransport&) = delete;
  CurlTransport& operator=(const CurlTransport&) = delete;
  ~CurlTransport() override {
    for (auto& [easy, exchange] : running_) {
      curl_multi_remove_handle(multi_, easy);
      destroy(*exchange);
    }
    for (auto& exchange : spare_) destroy(*exchange);
    curl_multi_cleanup(multi_);
    curl_slist_free_all(connect_to_);
  }

  void send(HttpRequest request, OnReply on_reply) override {
    const int64_t deadline = steady_ms() + request.timeout.ms;
    first_waiting_deadline_ms_ = std::min(first_waiting_deadline_ms_, deadline);
    waiting_.push_back({std::move(request), std::move(on_reply), deadline});
  }

  StreamId open(HttpRequest request, StreamSink& sink) override {
    auto exchange = make_exchange();
    exchange->request = std::move(request);
    exchange->sink = &sink;
    exchange->id = ++last_stream_;
    exchange->deadline_ms = steady_ms() + exchange->request.timeout.ms;
    set(exchange->easy, CURLOPT_TIMEOUT_MS, 0L);
    set(exchange->easy, CURLOPT_BUFFERSIZE, kStreamBufferBytes);
    streams_[last_stream_] = start(std::move(exchange));
    return last_stream_;
  }

  void close(StreamId stream) override {
    const auto found = streams_.find(stream);
    if (found == streams_.end()) return;
    Exchange* exchange = found->second;
    streams_.erase(found);
    finish(*exchange);
  }

  void poll(base::Duration wait_max) override {
    refresh_credentials();
    start_waiting();
    perform();
    const int64_t until =
        earliest_deadline(steady_ms() + std::clamp<int64_t>(wait_max.ms, 0, 60'000));
    while (!anything_to_tell() && !woken_.exchange(false)) {
      const int64_t left = until - steady_ms();
      if (left <= 0) break;
      curl_multi_poll(multi_, nullptr, 0, static_cast<int>(left), nullptr);
      perform();
    }
    tell_streams();
    tell_ends();
    expire();
    // What the callbacks asked for is on its way before the caller thinks about the news.
    start_waiting();
    perform();
  }

  void wake() override {
    woken_ = true;
    curl_multi_wakeup(multi_);
  }

  [[nodiscard]] size_t in_flight() const override { return waiting_.size() + busy_; }

 private:
  struct Waiting {
    HttpRequest request;
    OnReply on_reply;
    int64_t deadline_ms = 0;
  };

  // The options that are the same for each exchange are set once per handle.
  std::unique_ptr<Exchange> make_exchange() {
    auto exchange = std::make_unique<Exchange>();
    CURL* easy = curl_easy_init();
    MAINSPRING_CHECK(easy != nullptr, "libcurl is out of memory");
    exchange->easy = easy;
    exchange->generation = generation_;
    set(easy, CURLOPT_WRITEFUNCTION, &take_bytes);
    set(easy, CURLOPT_WRITEDATA, exchange.get());
    set(easy, CURLOPT_PRIVATE, exchange.get());
    set(easy, CURLOPT_ERRORBUFFER, exchange->error.data());
    set_lasting_options(easy, access_, options_, shown_);
    if (connect_to_ != nullptr) set(easy, CURLOPT_CONNECT_TO, connect_to_);
    return exchange;
  }

  static void destroy(Exchange& exchange) {
    curl_easy_cleanup(exchange.easy);
    curl_slist_free_all(exchange.headers);
  }

  // The request is set; the multi handle takes it from here.
  Exchange* start(std::unique_ptr<Exchange> owned) {
    Exchange& exchange = *owned;
    CURL* easy = exchange.easy;
    exchange.token = shown_.bearer_token;
    curl_slist* headers = curl_slist_append(nullptr, "Accept: application/json");
    // Without these two, libcurl would send its own.
    headers = curl_slist_append(headers, "Expect:");
    const std::string& type = exchange.request.content_type;
    headers = curl_slist_append(
        headers, ("Content-Type: " + (type.empty() ? "application/json" : type)).c_str());
    if (!exchange.token.empty()) {
      headers = curl_slist_append(headers, ("Authorization: Bearer " + exchange.token).c_str());
    }
    exchange.headers = headers;
    set(easy, CURLOPT_HTTPHEADER, headers);
    set(easy, CURLOPT_URL, (base_ + exchange.request.target).c_str());
    if (exchange.request.body.empty()) {
      set(easy, CURLOPT_HTTPGET, 1L);
    } else {
      set(easy, CURLOPT_POST, 1L);
      set(easy, CURLOPT_POSTFIELDS, exchange.request.body.data());
      set(easy, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(exchange.request.body.size()));
    }
    set(easy, CURLOPT_CUSTOMREQUEST, exchange.request.method.c_str());
    const CURLMcode code = curl_multi_add_handle(multi_, easy);
    MAINSPRING_CHECK(code == CURLM_OK, "libcurl refuses a handle");
    if (exchange.sink == nullptr) ++busy_;
    running_.emplace(easy, std::move(owned));
    return &exchange;
  }

  void start_waiting() {
    while (!waiting_.empty() && busy_ < options_.connections_max) {
      Waiting next = std::move(waiting_.front());
      waiting_.pop_front();
      std::unique_ptr<Exchange> exchange;
      if (spare_.empty()) {
        exchange = make_exchange();
      } else {
        exchange = std::move(spare_.back());
        spare_.pop_back();
      }
      const int64_t left = std::max<int64_t>(1, next.deadline_ms - steady_ms());
      exchange->request = std::move(next.request);
      exchange->on_reply = std::move(next.on_reply);
      exchange->received_bytes_max = options_.reply_bytes_max;
      set(exchange->easy, CURLOPT_TIMEOUT_MS, static_cast<long>(left));
      start(std::move(exchange));
    }
  }

  // Takes the exchange from libcurl; the handle of a request is kept for the next one.
  void finish(Exchange& exchange) {
    const auto found = running_.find(exchange.easy);
    MAINSPRING_CHECK(found != running_.end(), "an exchange ends twice");
    curl_multi_remove_handle(multi_, exchange.easy);
    // A later handle may get the same address.
    std::erase_if(ended_, [&](const auto& end) { return end.first == exchange.easy; });
    std::unique_ptr<Exchange> owned = std::move(found->second);
    running_.erase(found);
    if (owned->sink != nullptr) {
      destroy(*owned);
      return;
    }
    --busy_;
    curl_slist_free_all(owned->headers);
    set(owned->easy, CURLOPT_HTTPHEADER, static_cast<curl_slist*>(nullptr));
    owned->headers = nullptr;
    owned->request = {};
    owned->on_reply = nullptr;
    owned->received.clear();
    owned->too_long = false;
    owned->error[0] = '\0';
    if (owned->generation != generation_) {
      destroy(*owned);
    } else {
      spare_.push_back(std::move(owned));
    }
  }

  void perform() {
    int running = 0;
    curl_multi_perform(multi_, &running);
    int left = 0;
    while (const CURLMsg* message = curl_multi_info_read(multi_, &left)) {
      if (message->msg != CURLMSG_DONE) continue;
      ended_.emplace_back(message->easy_handle, message->data.result);
    }
  }

  [[nodiscard]] bool anything_to_tell() const {
    return !ended_.empty() || std::ranges::any_of(streams_, [](const auto& stream) {
      return !stream.second->received.empty();
    });
  }

  [[nodiscard]] int64_t earliest_deadline(int64_t until_ms) const {
    for (const auto& [id, exchange] : streams_)
      until_ms = std::min(until_ms, exchange->deadline_ms);
    return waiting_.empty() ? until_ms : std::min(until_ms, first_waiting_deadline_ms_);
  }

  // A callback may close any stream, so each is looked up anew.
  void tell_streams() {
    std::vector<StreamId> news;
    for (const auto& [id, exchange] : streams_) {
      if (!exchange->received.empty()) news.push_back(id);
    }
    for (const StreamId id : news) tell_bytes(id);
  }

  void tell_bytes(StreamId id) {
    auto found = streams_.find(id);
    if (found == streams_.end() || found->second->received.empty()) return;
    found->second->deadline_ms = steady_ms() + found->second->request.timeout.ms;
    tell_status(id);
    found = streams_.find(id);
    if (found == streams_.end()) return;
    // The sink may close the stream, and with it the exchange.
    Exchange& exchange = *found->second;
    std::string bytes = std::move(exchange.received);
    exchange.received = std::string();
    exchange.sink->on_bytes(bytes);
    found = streams_.find(id);
    if (found == streams_.end() || !found->second->received.empty()) return;
    bytes.clear();
    found->second->received = std::move(bytes);
  }

  void tell_status(StreamId id) {
    Exchange& exchange = *streams_.at(id);
    if (exchange.status_told) return;
    exchange.status_told = true;
    const int status = status_of(exchange.easy);
    if (status == 401) access_.credentials->rejected(exchange.token);
    exchange.sink->on_status(status, retry_after(exchange.easy));
  }

  void tell_ends() {
    while (!ended_.empty()) {
      const auto [easy, code] = ended_.front();
      Exchange& exchange = *running_.at(easy);
      if (exchange.sink != nullptr) {
        end_stream(exchange, code);
      } else {
        end_request(exchange, code);
      }
    }
  }

  static base::Status outcome(const Exchange& exchange, CURLcode code) {
    if (code == CURLE_OK) return {};
    std::string message = name_of(exchange.request) + ": ";
    if (exchange.too_long) {
      message +=
          "the reply has more than " + std::to_string(exchange.received_bytes_max) + " bytes";
    } else {
      message += exchange.error[0] != '\0' ? exchange.error.data() : curl_easy_strerror(code);
    }
    // A server that is not who it should be stays so, however often one asks.
    const bool hopeless = code == CURLE_PEER_FAILED_VERIFICATION || code == CURLE_SSL_CERTPROBLEM ||
                          code == CURLE_SSL_CACERT_BADFILE;
    return base::failure(hopeless ? base::ErrorCode::kInvalidInput : base::ErrorCode::kUnavailable,
                         message);
  }

  void end_stream(Exchange& exchange, CURLcode code) {
    const StreamId id = exchange.id;
    const base::Status how = outcome(exchange, code);
    if (code == CURLE_OK || !exchange.received.empty()) {
      tell_bytes(id);
      if (streams_.contains(id) && status_of(exchange.easy) != 0) tell_status(id);
    }
    const auto found = streams_.find(id);
    if (found == streams_.end()) return;
    StreamSink* sink = exchange.sink;
    streams_.erase(found);
    finish(exchange);
    sink->on_end(how);
  }

  void end_request(Exchange& exchange, CURLcode code) {
    base::Result<HttpReply> reply;
    if (const base::Status how = outcome(exchange, code); !how) {
      reply = tl::unexpected<base::Error>(how.error());
    } else {
      reply->status = status_of(exchange.easy);
      reply->retry_after = retry_after(exchange.easy);
      reply->body = std::move(exchange.received);
      if (reply->status == 401) access_.credentials->rejected(exchange.token);
    }
    const OnReply on_reply = std::move(exchange.on_reply);
    finish(exchange);
    on_reply(std::move(reply));
  }

  void expire() {
    const int64_t now = steady_ms();
    std::vector<StreamId> silent;
    for (const auto& [id, exchange] : streams_) {
      if (exchange->deadline_ms <= now) silent.push_back(id);
    }
    for (const StreamId id : silent) break_stream(id, "nothing came for too long");
    if (first_waiting_deadline_ms_ > now) return;
    first_waiting_deadline_ms_ = kNever;
    std::vector<Waiting> late;
    std::deque<Waiting> others;
    for (Waiting& request : waiting_) {
      const bool is_late = request.deadline_ms <= now;
      if (is_late) {
        late.push_back(std::move(request));
        continue;
      }
      first_waiting_deadline_ms_ = std::min(first_waiting_deadline_ms_, request.deadline_ms);
      others.push_back(std::move(request));
    }
    waiting_ = std::move(others);
    for (Waiting& request : late) {
      request.on_reply(base::failure(base::ErrorCode::kUnavailable,
                                     name_of(request.request) + ": no connection became free"));
    }
  }

  void break_stream(StreamId id, const char* why) {
    const auto found = streams_.find(id);
    if (found == streams_.end()) return;
    Exchange& exchange = *found->second;
    const base::Status how =
        base::failure(base::ErrorCode::kUnavailable, name_of(exchange.request) + ": " + why);
    StreamSink* sink = exchange.sink;
    streams_.erase(found);
    finish(exchange);
    sink->on_end(how);
  }

  void refresh_credentials() {
    const Credentials& now = access_.credentials->current();
    const bool same_certificates = now.ca_pem == shown_.ca_pem &&
                                   now.certificate_pem == shown_.certificate_pem &&
                                   now.key_pem == shown_.key_pem;
    if (same_certificates) {
      if (now.bearer_token != shown_.bearer_token) shown_.bearer_token = now.bearer_token;
      return;
    }
    shown_ = now;
    for (auto& exchange : spare_) destroy(*exchange);
    spare_.clear();
    ++generation_;
    std::vector<StreamId> open;
    open.reserve(streams_.size());
    for (const auto& [id, exchange] : streams_) open.push_back(id);
    for (const StreamId id : open) break_stream(id, "the certificates have changed");
  }

  ClusterAccess access_;
  std::string base_;
  curl_slist* connect_to_ = nullptr;
  TransportOptions options_;
  CURLM* multi_;
  Credentials shown_;
  std::map<CURL*, std::unique_ptr<Exchange>> running_;
  std::map<StreamId, Exchange*> streams_;
  std::vector<std::unique_ptr<Exchange>> spare_;
  std::deque<Waiting> waiting_;
  int64_t first_waiting_deadline_ms_ = kNever;  // or earlier: those that were sent leave it behind
  std::vector<std::pair<CURL*, CURLcode>> ended_;
  std::atomic<bool> woken_ = false;
  size_t busy_ = 0;  // requests that libcurl has
  uint64_t generation_ = 0;
  StreamId last_stream_ = 0;
};

}  // namespace

base::Result<std::unique_ptr<Transport>> open_transport(ClusterAccess access,
                                                        TransportOptions options) {
  static std::once_flag once;
  static CURLcode started = CURLE_OK;
  std::call_once(once, [] { started = curl_global_init(CURL_GLOBAL_DEFAULT); });
  if (started != CURLE_OK) {
    return base::failure(base::ErrorCode::kUnavailable, "libcurl does not start");
  }
  if (access.server.empty()) return base::invalid("no API server is named");
  MAINSPRING_CHECK(options.connections_max > 0, "a transport needs a connection");
  if (access.credentials == nullptr) access.credentials = fixed_credentials({});
  auto address = read_server_address(access.server, access.tls_server_name);
  if (!address) return tl::unexpected<base::Error>(address.error());
  CURLM* multi = curl_multi_init();
  if (multi == nullptr) return base::failure(base::ErrorCode::kUnavailable, "out of memory");
  const auto kept = static_cast<long>(options.connections_max + 32);
  curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, kept);
  return std::make_unique<CurlTransport>(std::move(access), std::move(*address), std::move(options),
                                         multi);
}

}  // namespace mainspring::kube
