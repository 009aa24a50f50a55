#include "cpu/thread_pool.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace speedlight::cpu {
namespace {

// One parallel_for. Lives on the caller's stack: the caller leaves only when no worker holds it any more.
struct Job {
  Job(const std::function<void(i64, int)>& body, i64 count) : body(body), count(count) {}
  const std::function<void(i64, int)>& body;
  const i64 count;
  std::atomic<i64> next{0};
  int slots = 1;   // handed out so far; the caller has slot 0. Guarded by the pool's mutex, as is `inside`.
  int inside = 0;  // workers that run items of it now
  std::exception_ptr failure;
  std::mutex failure_mutex;

  void run(int slot) {
    for (i64 item; (item = next.fetch_add(1, std::memory_order_relaxed)) < count;) {
      try {
        body(item, slot);
      } catch (...) {
        const std::lock_guard lock(failure_mutex);
        if (!failure) failure = std::current_exception();
        next.store(count, std::memory_order_relaxed);
      }
    }
  }
};

class Pool {
 public:
  ~Pool() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    work_.notify_all();
    for (std::thread& worker : workers_) worker.join();
  }

  void run(Job& job, int threads) {
    const int helpers = int(std::min<i64>(threads, job.count)) - 1;
    {
      const std::lock_guard lock(mutex_);
      grow(helpers);
      for (int i = 0; i < helpers; ++i) tickets_.push_back(&job);
    }
    helpers == 1 ? work_.notify_one() : work_.notify_all();
    job.run(0);
    std::unique_lock lock(mutex_);
    std::erase(tickets_, &job);
    left_.wait(lock, [&] { return job.inside == 0; });
  }

 private:
  void grow(int helpers) {
    try {
      while (int(workers_.size()) < helpers) workers_.emplace_back([this] { work(); });
    } catch (const std::system_error&) {
      // No more threads to be had: those that exist, or the caller alone, do the work.
    }
  }

  void work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      work_.wait(lock, [&] { return stopping_ || !tickets_.empty(); });
      if (stopping_) return;
      Job& job = *tickets_.front();
      tickets_.pop_front();
      const int slot = job.slots++;
      ++job.inside;
      lock.unlock();
      job.run(slot);
      lock.lock();
      if (--job.inside == 0) left_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable work_, left_;
  std::deque<Job*> tickets_;  // one entry for each worker that may still join a job
  std::vector<std::thread> workers_;
  bool stopping_ = false;
};

// A forked child has none of the parent's threads, and may have a copy of a locked mutex: it forgets the pool (a small leak) and makes its own.
std::atomic<Pool*> current{nullptr};
std::atomic<int> wanted{0};

// Set up when the library is loaded, not at first use: a fork in the middle of a first use would leave the child waiting for it for ever.
const struct Lifetime {
  Lifetime() {
    pthread_atfork(nullptr, nullptr, [] { current.store(nullptr); });
  }
  ~Lifetime() { delete current.exchange(nullptr); }  // joins the idle workers before the library's code can be unloaded
} lifetime;
const int available = std::max(1, int(std::thread::hardware_concurrency()));

Pool& pool() {
  Pool* existing = current.load();
  if (existing) return *existing;
  auto* made = new Pool;
  if (current.compare_exchange_strong(existing, made)) return *made;
  delete made;
  return *existing;
}

}  // namespace

int thread_count() {
  const int count = wanted.load();
  return count > 0 ? count : available;
}

void set_thread_count(int count) { wanted.store(std::max(count, 0)); }

void parallel_for(i64 count, const std::function<void(i64, int)>& body) {
  if (count <= 0) return;
  Job job(body, count);
  const int threads = thread_count();
  if (threads == 1 || count == 1)
    job.run(0);
  else
    pool().run(job, threads);
  if (job.failure) std::rethrow_exception(job.failure);
}

}  // namespace speedlight::cpu
