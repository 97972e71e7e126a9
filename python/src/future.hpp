#pragma once
// Futures of Python.

#include <nanobind/nanobind.h>

#include <shoal/detail/sched/completion.hpp>
#include <shoal/shared_future.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include "binding.hpp"
#include "errors.hpp"
#include "value.hpp"

namespace shoal::python {

namespace nb = nanobind;

/// A future of Python: many may wait for it, and take its value as often as they like.
///
/// The first result() moves the value or the exception here, where the garbage collector sees it:
/// the traceback of an exception refers to the frames that have asked for it, and they to the
/// future.
class PyFuture {
 public:
  PyFuture(SharedFuture<Value> future, RunEnd run)
      : future_(std::move(future)),
        run_(std::move(run)),
        number_(run_->futures.fetch_add(1, std::memory_order_relaxed)) {}
  // The last one of a future whose error nobody has taken fails the world.
  ~PyFuture() {
    if (!future_.valid()) return;
    const OutsidePython outside;
    future_ = {};
  }
  PyFuture(PyFuture&& other) noexcept
      : future_(std::exchange(other.future_, {})),
        run_(std::move(other.run_)),
        number_(other.number_),
        value_(std::move(other.value_)),
        error_(std::move(other.error_)) {}
  PyFuture(const PyFuture&) = delete;
  PyFuture& operator=(const PyFuture&) = delete;
  PyFuture& operator=(PyFuture&&) = delete;

  /// Returns a new reference. **Errors**: those of the task; TimeoutError.
  PyObject* result(std::optional<double> timeout) {
    wait(timeout);
    if (future_.valid()) take();
    if (error_) {
      PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error_.get())), error_.get());
      throw nb::python_error();
    }
    Py_INCREF(value_.get());
    return value_.get();
  }
  void wait(std::optional<double> timeout) {
    if (!future_.valid() || future_.shared_state()->is_ready()) return;
    check_run();
    const ThreadCall call(run_);
    const SharedFuture<Value> kept = future_;
    FutureStatus status = FutureStatus::ready;
    {
      const OutsidePython outside;
      if (timeout) {
        status = kept.wait_for(to_duration(*timeout));
      } else {
        kept.wait();
      }
    }
    if (status == FutureStatus::timeout) {
      PyErr_Format(PyExc_TimeoutError,
                   "the future has no value after %S seconds: wait longer, or without a timeout",
                   Object::own(PyFloat_FromDouble(*timeout)).get());
      throw nb::python_error();
    }
  }
  [[nodiscard]] bool done() const {
    if (!future_.valid() || future_.shared_state()->is_ready()) return true;
    if (run_->has_ended || (!sched::on_worker() && run_->threads > Threads::open)) return false;
    const ThreadCall call(run_);
    const SharedFuture<Value> kept = future_;
    const OutsidePython outside;
    return kept.is_ready();
  }
  /// Runs callback(argument) as a task when the value or the error is there.
  void on_done(nb::handle callback, nb::handle argument) const {
    check_run();
    const ThreadCall thread_call(run_);
    auto run = [kept = future_, function = Object::share(callback.ptr()),
                arguments = Object::own(PyTuple_Pack(1, argument.ptr()))]() mutable {
      const InPython in_python;
      static_cast<void>(call(function.get(), arguments.get()));
      function = {};
      arguments = {};
    };
    auto& scheduler = future_.valid() ? future_.shared_state()->scheduler()
                                      : sched::current_scheduler("a callback of a future");
    auto task = sched::make_function_task(sched::current_scope(scheduler), "a callback of a future",
                                          std::move(run));
    if (!future_.valid()) return scheduler.submit(std::move(task));
    sched::submit_after(*future_.shared_state(), std::move(task));
  }

  /// Number among the futures of its rank. As hash() of the future it lets sets have the same order
  /// each time that a simulation runs; an address would not.
  [[nodiscard]] Py_hash_t number() const { return number_; }

  /// Objects that the garbage collector traverses.
  [[nodiscard]] PyObject* value() const { return value_.get(); }
  [[nodiscard]] PyObject* error() const { return error_.get(); }
  void clear() {
    const Object value = std::move(value_);
    const Object error = std::move(error_);
    value_ = Object::share(Py_None);
  }

  static std::chrono::nanoseconds to_duration(double seconds) {
    if (std::isnan(seconds) || seconds < 0) {
      throw CheckError("a time of " + std::to_string(seconds) +
                       " seconds: give a number that is not negative");
    }
    constexpr double kLongest = 9e9;  // seconds that nanoseconds in 64 bits hold
    return std::chrono::nanoseconds(static_cast<std::int64_t>(std::min(seconds, kLongest) * 1e9));
  }

 private:
  void check_run() const {
    if (!future_.valid() || !run_->has_ended || future_.shared_state()->is_ready()) return;
    throw CheckError(
        "the run of this future has ended without a value for it: nothing can fulfil it any more");
  }
  /// Takes the value or the exception, which is there. Other errors of shoal stay in the future.
  void take() {
    const SharedFuture<Value> future = future_;
    try {
      std::optional<OutsidePython> outside;
      // The failure of the world lets a main function wait for the end of all tasks first.
      if (!future.shared_state()->value) outside.emplace();
      const Value& value = future.get();
      outside.reset();
      value_ = Object::own(value.new_reference());
    } catch (const PythonError& error) {
      error_ = Object::share(error.exception());
    }
    future_ = {};
  }

  SharedFuture<Value> future_;  // not valid: the value or the exception is here
  RunEnd run_;
  Py_hash_t number_;
  Object value_;
  Object error_;
};

}  // namespace shoal::python
