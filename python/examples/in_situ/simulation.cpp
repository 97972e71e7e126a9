// A simulation in C++ for a Python program: the temperatures of a rod that is heated at its left
// end. Each rank has a part of it. The module is loaded into each process, and runs its tasks
// there.

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <shoal/python.hpp>

#include <shoal/loops.hpp>
#include <shoal/shoal.hpp>

#include <array>
#include <cstddef>
#include <exception>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

namespace nb = nanobind;

namespace {

using Cells = std::vector<double>;
using Array = nb::ndarray<nb::numpy, const double, nb::ndim<1>>;

// [rod]
class Rod {
 public:
  /// `world`: that of the Python program. `count`: of the cells of all ranks.
  Rod(nb::object world, std::size_t count) : world_(std::move(world)) {
    const shoal::Team& team = shoal::python::team_of(world_.ptr());
    const auto rank = static_cast<std::size_t>(team.rank().value());
    const auto size = static_cast<std::size_t>(team.size());
    if (count < size) throw std::invalid_argument("a rod has a cell on each rank at least");
    cells_ = std::make_shared<Cells>(count * (rank + 1) / size - count * rank / size, 0.0);
  }

  /// Computes steps with all workers of the rank, and returns the temperatures, without a copy:
  /// the array has a share of the vector, and the next step makes another one.
  Array advance(int steps) {
    shoal::Team& team = shoal::python::team_of(world_.ptr());  // refused after the run
    {
      const shoal::python::WithoutGil others_run;  // tasks of Python, on other workers
      for (int i = 0; i < steps; ++i) step(team);
    }
    const nb::capsule owner(new std::shared_ptr<const Cells>(cells_), [](void* share) noexcept {
      delete static_cast<std::shared_ptr<const Cells>*>(share);
    });
    return Array(cells_->data(), {cells_->size()}, owner);
  }
  // [/rod]

 private:
  void step(shoal::Team& team) {
    const Cells& now = *cells_;
    const auto ends = team.allgather(std::array<double, 2>{now.front(), now.back()});
    const auto rank = static_cast<std::size_t>(team.rank().value());
    const double left = rank > 0 ? ends[rank - 1][1] : 1.0;
    const double right = rank + 1 < ends.size() ? ends[rank + 1][0] : 0.0;
    auto next = std::make_shared<Cells>(now.size());
    shoal::parallel_for(std::size_t{0}, now.size(), [&](std::size_t i) {
      const double before = i == 0 ? left : now[i - 1];
      const double after = i + 1 == now.size() ? right : now[i + 1];
      (*next)[i] = now[i] + 0.25 * (before - 2 * now[i] + after);
    });
    cells_ = std::move(next);
  }

  const nb::object world_;
  std::shared_ptr<const Cells> cells_;
};

}  // namespace

NB_MODULE(simulation, module) {
  nb::register_exception_translator(
      [](const std::exception_ptr& error, void* /*unused*/) { shoal::python::set_error(error); });
  nb::class_<Rod>(module, "Rod")
      .def(nb::init<nb::object, std::size_t>(), nb::arg("world"), nb::arg("count"))
      .def("advance", &Rod::advance, nb::arg("steps"));
}
