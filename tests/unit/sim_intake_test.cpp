// The receiving side of a simulated interface: order and times, by hand.

#include "sim/network.hpp"
#include "sim/simulator.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace sim_intake_test {

using shoal::sim::Intake;
using shoal::sim::Simulator;

/// Keeps the simulator going for 100 us.
class Clock final : public shoal::env::Steppable {
 public:
  shoal::env::StepResult step() override {
    return ++steps_ > 100 ? shoal::env::StepResult::stopped : shoal::env::StepResult::worked;
  }
  void run() override {}
  [[nodiscard]] std::string name() const override { return "clock"; }

 private:
  int steps_ = 0;
};

struct Packet {
  std::uint64_t known_ns;  // when the interface is told of it
  std::uint64_t first_ns;
  std::uint64_t busy_ns;
  std::uint64_t begun_ns = 0;
  std::uint64_t end_told_ns = 0;  // when it began
  std::uint64_t received_ns = 0;
};

class Notes final : public shoal::sim::Receiver {
 public:
  explicit Notes(Simulator& simulator) : simulator_(simulator) {}
  void begun(const shoal::sim::Reception& reception, std::uint64_t end_ns) override {
    packet(reception).begun_ns = simulator_.agenda_ns();
    packet(reception).end_told_ns = end_ns;
  }
  void received(const shoal::sim::Reception& reception) override {
    packet(reception).received_ns = simulator_.agenda_ns();
  }

 private:
  static Packet& packet(const shoal::sim::Reception& reception) {
    return *static_cast<Packet*>(reception.item);
  }
  Simulator& simulator_;
};

void receive(std::vector<Packet>& packets, bool tells_begin = false) {
  Simulator simulator({}, {});
  Intake intake(simulator);
  Notes notes(simulator);
  for (Packet& packet : packets) {
    simulator.at(packet.known_ns, [&] {
      intake.add({packet.first_ns, packet.busy_ns, &notes, &packet, 0, tells_begin});
    });
  }
  Clock clock;
  simulator.drive({&clock});
}

TEST(Intake, OnePacket_IsThereWhenItsLastByteIs) {
  std::vector<Packet> packets{{0, 1000, 300}};
  receive(packets);
  EXPECT_EQ(packets[0].received_ns, 1300U);
}

TEST(Intake, PacketsAtOnce_ComeOneAfterTheOther) {
  std::vector<Packet> packets{{0, 1000, 300}, {1, 1000, 300}, {2, 1000, 50}};
  receive(packets);
  EXPECT_EQ(packets[0].received_ns, 1300U);
  EXPECT_EQ(packets[1].received_ns, 1600U);
  EXPECT_EQ(packets[2].received_ns, 1650U);
}

// The first one is announced first, and arrives last: it leaves the interface to the others.
TEST(Intake, AnnouncedEarly_DoesNotKeepTheInterface) {
  std::vector<Packet> packets{{0, 50'000, 1000}, {10, 2000, 500}, {20, 1000, 1200}, {30, 9000, 10}};
  receive(packets);
  EXPECT_EQ(packets[2].received_ns, 2200U);  // first to come
  EXPECT_EQ(packets[1].received_ns, 2700U);  // waits for it
  EXPECT_EQ(packets[3].received_ns, 9010U);
  EXPECT_EQ(packets[0].received_ns, 51'000U);
}

TEST(Intake, OneThatIsBeingReceived_IsNotInterrupted) {
  std::vector<Packet> packets{{0, 1000, 5000}, {2000, 2000, 100}, {2000, 7000, 100}};
  receive(packets);
  EXPECT_EQ(packets[0].received_ns, 6000U);
  EXPECT_EQ(packets[1].received_ns, 6100U);
  EXPECT_EQ(packets[2].received_ns, 7100U);
}

TEST(Intake, TellsTheBegin_OfWhatWaited) {
  std::vector<Packet> packets{{0, 3000, 500}, {10, 1000, 2500}};
  receive(packets, true);
  EXPECT_EQ(packets[1].begun_ns, 1000U);
  EXPECT_EQ(packets[1].received_ns, 3500U);
  EXPECT_EQ(packets[0].begun_ns, 3500U);
  EXPECT_EQ(packets[0].end_told_ns, 4000U);
  EXPECT_EQ(packets[0].received_ns, 4000U);
}

}  // namespace sim_intake_test
