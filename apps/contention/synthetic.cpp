#include "contention/synthetic.hpp"

#include <cstddef>
#include <random>
#include <vector>

namespace contention {
namespace {

using shoal::contention::Bandwidths;
using shoal::contention::Model;
using shoal::contention::Placement;

constexpr std::uint64_t kMessageBytes = 64'000'000;

/// Makes the samples, each value with its own error.
class Maker {
 public:
  Maker(const Model& model, const Noise& noise)
      : model_(model),
        repetitions_(noise.repetitions),
        random_(noise.seed),
        factor_(1 - noise.share, 1 + noise.share) {}

  std::vector<Sample> make() {
    for (int computation = 0; computation < model_.nodes; ++computation) {
      for (int communication = 0; communication < model_.nodes; ++communication) {
        add_placement({computation, communication});
      }
    }
    return std::move(samples_);
  }

 private:
  void add_placement(const Placement& placement) {
    const std::vector<Bandwidths> curve = predict(model_, placement);
    for (std::size_t i = 0; i < curve.size(); ++i) {
      Point point;
      point.kernel = Kernel::fill;
      point.cores = static_cast<int>(i) + 1;
      point.computation_node = placement.computation_node;
      if (placement.communication_node == 0) {
        add(point, curve[i].computation_alone_mb_s, 0);
      }
      set_communication(point, placement.communication_node);
      add(point, curve[i].computation_mb_s, curve[i].communication_mb_s);
    }
    if (placement.computation_node > 0) return;
    Point point;
    set_communication(point, placement.communication_node);
    const bool far = placement.communication_node >= model_.nodes_per_socket;
    add(point, 0, far ? model_.remote.network_mb_s : model_.local.network_mb_s);
  }

  static void set_communication(Point& point, int node) {
    point.channel = Channel::large;
    point.traffic = Traffic::receive;
    point.message_bytes = kMessageBytes;
    point.communication_node = node;
  }

  void add(const Point& point, double computation_mb_s, double communication_mb_s) {
    for (int i = 0; i < repetitions_; ++i) {
      Sample sample;
      sample.point = point;
      sample.repetition = i;
      if (computation_mb_s > 0) sample.computation_mb_s = computation_mb_s * factor_(random_);
      if (communication_mb_s > 0) sample.communication_mb_s = communication_mb_s * factor_(random_);
      samples_.push_back(sample);
    }
  }

  const Model& model_;
  const int repetitions_;
  std::mt19937_64 random_;
  std::uniform_real_distribution<double> factor_;
  std::vector<Sample> samples_;
};

}  // namespace

Measurements synthesize(const Model& model, const Noise& noise) {
  check(model);
  return {{model.machine, "synthetic", model.cores, model.nodes, model.nodes_per_socket},
          {"synthetic measurements, made of a model"},
          Maker(model, noise).make()};
}

}  // namespace contention
