#include "top/page.hpp"

#include <shoal/error.hpp>

#include <algorithm>
#include <cstring>
#include <memory>
#include <tuple>
#include <utility>

namespace shoal::top {

std::vector<std::byte> to_bytes(const Sample& sample) {
  const std::size_t workers = sample.workers.size() * sizeof(WorkerFigures);
  std::vector<std::byte> bytes(sizeof(RankFigures) + workers);
  std::memcpy(bytes.data(), &sample.rank, sizeof(RankFigures));
  if (workers > 0) std::memcpy(bytes.data() + sizeof(RankFigures), sample.workers.data(), workers);
  return bytes;
}

bool from_bytes(std::span<const std::byte> bytes, Sample& sample) {
  if (bytes.size() < sizeof(RankFigures)) return false;
  const std::span<const std::byte> workers = bytes.subspan(sizeof(RankFigures));
  if (workers.size() % sizeof(WorkerFigures) != 0) return false;
  std::memcpy(&sample.rank, bytes.data(), sizeof(RankFigures));
  sample.workers.resize(workers.size() / sizeof(WorkerFigures));
  if (!workers.empty()) std::memcpy(sample.workers.data(), workers.data(), workers.size());
  return true;
}

namespace {

using Word = std::atomic<std::uint64_t>;

constexpr std::uint64_t kMagic = 0x31706f746c616f68;  // changes with the layout
constexpr std::size_t kHeaderBytes = 4096;
constexpr int kWorkersMax = 512;  // of a rank that are shown

std::size_t words_for(std::size_t bytes) { return (bytes + sizeof(Word) - 1) / sizeof(Word); }

std::size_t slot_words(const Facts& facts) {
  const auto workers = static_cast<std::size_t>(std::clamp(facts.workers, 0, kWorkersMax));
  return Slot::kHeaderWords + words_for(sizeof(RankFigures) + workers * sizeof(WorkerFigures));
}

std::size_t slot_offset(const Facts& facts, int rank) {
  return kHeaderBytes + static_cast<std::size_t>(rank) * slot_words(facts) * sizeof(Word);
}

// The header is a slot behind the magic number: a reader sees all of it or nothing.
std::size_t header_words() { return Slot::kHeaderWords + words_for(sizeof(Facts)); }

}  // namespace

// --- Slot

void Slot::write(std::span<const std::byte> bytes) {
  const std::size_t room = (words_.size() - kHeaderWords) * sizeof(Word);
  bytes = bytes.first(std::min(bytes.size(), room));
  const std::uint64_t sequence = words_[0].load(std::memory_order_relaxed);  // one writer
  words_[0].store(sequence + 1, std::memory_order_relaxed);
  words_[1].store(bytes.size(), std::memory_order_release);
  for (std::size_t i = 0; i * sizeof(Word) < bytes.size(); ++i) {
    std::uint64_t word = 0;
    const auto part = bytes.subspan(i * sizeof(Word));
    std::memcpy(&word, part.data(), std::min(part.size(), sizeof(Word)));
    words_[kHeaderWords + i].store(word, std::memory_order_release);
  }
  words_[0].store(sequence + 2, std::memory_order_release);
}

std::optional<std::vector<std::byte>> Slot::read(std::span<const Word> words) {
  constexpr int kTries = 1000;
  for (int i = 0; i < kTries; ++i) {
    const std::uint64_t before = words[0].load(std::memory_order_acquire);
    if (before == 0) return std::nullopt;
    if (before % 2 != 0) continue;
    const std::size_t size = words[1].load(std::memory_order_acquire);
    if (size > (words.size() - kHeaderWords) * sizeof(Word)) continue;
    std::vector<std::byte> bytes(size);
    for (std::size_t at = 0; at < size; at += sizeof(Word)) {
      const std::uint64_t word =
          words[kHeaderWords + at / sizeof(Word)].load(std::memory_order_acquire);
      std::memcpy(bytes.data() + at, &word, std::min(size - at, sizeof(Word)));
    }
    // relaxed: the acquiring loads above come first
    if (words[0].load(std::memory_order_relaxed) == before) return bytes;
  }
  return std::nullopt;
}

// --- Page

Page::Page(const Facts& facts)
    : facts_(facts), memory_(kPageName, slot_offset(facts, facts.world_size)) {
  auto* const words = reinterpret_cast<Word*>(memory_.data());
  Slot header({words + 1, header_words()});
  header.write(std::as_bytes(std::span(&facts_, 1)));
  words[0].store(kMagic, std::memory_order_release);
}

void Page::write(int rank, std::span<const std::byte> sample) {
  if (rank < 0 || rank >= facts_.world_size) return;
  auto* const words = reinterpret_cast<Word*>(memory_.data() + slot_offset(facts_, rank));
  Slot({words, slot_words(facts_)}).write(sample);
}

// --- PageView

PageView::PageView(const env::PublishedPlace& place) : memory_(place) {
  const auto* const words = reinterpret_cast<const Word*>(memory_.data());
  const bool is_known =
      memory_.size_bytes() >= kHeaderBytes && words[0].load(std::memory_order_acquire) == kMagic;
  const auto bytes =
      is_known ? Slot::read({words + 1, header_words()}) : std::optional<std::vector<std::byte>>();
  if (!bytes.has_value() || bytes->size() != sizeof(Facts)) {
    throw Error(place.path + ": the process runs another version of shoal");
  }
  std::memcpy(&facts_, bytes->data(), sizeof(Facts));
  if (facts_.world_size < 0 || slot_offset(facts_, facts_.world_size) > memory_.size_bytes()) {
    throw Error(place.path + ": the page is damaged");
  }
  own_ = facts_.pid == place.process;
}

std::optional<Sample> PageView::read(int rank) const {
  if (rank < 0 || rank >= facts_.world_size) return std::nullopt;
  const auto* const words =
      reinterpret_cast<const Word*>(memory_.data() + slot_offset(facts_, rank));
  const auto bytes = Slot::read({words, slot_words(facts_)});
  Sample sample;
  if (!bytes.has_value() || !from_bytes(*bytes, sample)) return std::nullopt;
  return sample;
}

std::vector<std::unique_ptr<PageView>> find_pages(int& others) {
  others = 0;
  std::vector<std::unique_ptr<PageView>> pages;
  for (const env::PublishedPlace& place : env::find_published(kPageName)) {
    try {
      auto page = std::make_unique<PageView>(place);
      if (page->is_own()) pages.push_back(std::move(page));
    } catch (const Error&) {
      ++others;
    }
  }
  std::ranges::sort(pages, {}, [](const auto& page) { return page->facts().pid; });
  return pages;
}

// Pages that are known stay mapped and held; those of processes that ended go.
void Collector::find() {
  Pages found;
  for (auto& page : find_pages(other_versions_)) {
    const Facts& facts = page->facts();
    if (process_.has_value() && facts.pid != *process_) continue;
    const std::pair key(facts.pid, std::string(facts.job.view()));
    const auto known = pages_.find(key);
    found[key] = std::move(known != pages_.end() ? known->second : page);
  }
  pages_ = std::move(found);
}

Overview Collector::look(std::uint64_t now_ns) {
  find();
  Overview overview;
  overview.other_versions = other_versions_;
  overview.process = process_;
  for (const auto& [process_and_job, page] : pages_) {
    const Facts& facts = page->facts();
    static_cast<void>(page->watch());  // else the next time
    const int first = process_.has_value() ? 0 : facts.first_rank;
    const int count = process_.has_value() ? facts.world_size : facts.rank_count;
    for (int rank = first; rank < first + count; ++rank) {
      Row row{std::string(facts.job.view()),
              std::string(facts.program.view()),
              facts.world_size,
              rank,
              page->read(rank),
              0};
      if (row.sample.has_value()) {
        row.age_ns = now_ns - std::min(row.sample->rank.received_ns, now_ns);
      }
      overview.rows.push_back(std::move(row));
    }
  }
  std::ranges::sort(overview.rows, [](const Row& a, const Row& b) {
    return std::tie(a.job, a.rank) < std::tie(b.job, b.rank);
  });
  return overview;
}

bool is_newer(const Overview& overview, std::uint64_t since_ns, std::uint64_t now_ns) {
  return std::ranges::all_of(overview.rows, [&](const Row& row) {
    return row.sample.has_value() && row.age_ns + since_ns <= now_ns;
  });
}

}  // namespace shoal::top
