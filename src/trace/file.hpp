#pragma once
// Files of traces: chunks with a checksum each, little-endian, readable up to where a killed run
// got to.

#include <shoal/detail/trace/event.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "env/ticks.hpp"

namespace shoal::trace {

inline constexpr std::uint32_t kFileVersion = 1;

/// Most records that a chunk of events or details has: readers need no more memory for one.
inline constexpr std::size_t kChunkRecordsMax = 4096;

/// Clock of the events of a file.
enum class ClockKind : std::uint32_t {
  tsc = 1,            // ticks; samples relate them to nanoseconds
  monotonic_raw = 2,  // nanoseconds of CLOCK_MONOTONIC_RAW
  virtual_time = 3,   // nanoseconds of a simulated world
  merged = 4,         // nanoseconds since the begin of the run, the same for all ranks
};

struct FileHeader {
  static constexpr std::uint64_t kMagic = 0x3143'5254'4c4f'4853U;  // "SHOLTRC1"
  std::uint64_t magic = kMagic;
  std::uint32_t version = kFileVersion;
  ClockKind clock = ClockKind::tsc;
  std::uint32_t process = 0;  // of a part
  std::uint32_t processes = 1;
  std::uint64_t reserved = 0;
};
static_assert(sizeof(FileHeader) == 32);

enum class ChunkType : std::uint32_t {
  identity = 1,  // JSON: program, arguments, commit, ranks, hosts, options
  tracks = 2,    // JSON: array of {track, rank, worker, name}
  names = 3,     // repeated: NameId, length as uint32, text
  kinds = 4,     // JSON: array of {kind, category, role, name}
  events = 5,    // Event; of one track in time order in parts, of all tracks in merged files
  details = 6,   // Detail
  clock = 7,     // env::TickSample
  sync = 8,      // SyncPoint
  drops = 9,     // JSON: events dropped so far, by category; the last chunk counts
  end = 10,      // JSON: totals. A file without it comes from a run that was killed
  barrier = 11,  // uint64: ticks at which the process left a barrier together with all others
};

struct ChunkHeader {
  static constexpr std::uint32_t kMagic = 0x4b4e4843;  // "CHNK"
  std::uint32_t magic = kMagic;
  ChunkType type = ChunkType::events;
  std::uint64_t size_bytes = 0;  // of the payload behind this header
  std::uint32_t track = 0;       // of events and details of a part
  std::uint32_t count = 0;       // of records
  std::uint64_t checksum = 0;    // XXH3 of the payload, seeded with that of what stands above
};
static_assert(sizeof(ChunkHeader) == 32);

/// One moment on the clocks of two processes. The difference is off by at most
/// `uncertainty_ticks` of the reference's clock.
struct SyncPoint {
  std::uint64_t local_ticks = 0;
  std::uint64_t reference_ticks = 0;
  std::uint64_t uncertainty_ticks = 0;
  std::uint32_t reference = 0;  // process
  std::uint32_t reserved = 0;
  bool operator==(const SyncPoint&) const = default;
};
static_assert(sizeof(SyncPoint) == 32);

/// Writes a file chunk by chunk. Written chunks survive the end of this process; a file without any
/// is removed. **Caller**: one thread at a time.
class FileWriter {
 public:
  /// Creates the file. **Errors**: Error when that fails.
  FileWriter(std::string path, const FileHeader& header);
  ~FileWriter();
  FileWriter(FileWriter&&) noexcept;
  FileWriter& operator=(FileWriter&&) = delete;

  /// Writes a chunk. **Errors**: Error when the disk is full or fails.
  void write(ChunkType type, std::span<const std::byte> payload, std::uint32_t count = 1,
             std::uint32_t track = 0);
  void write_text(ChunkType type, std::string_view text);
  template <class Record>
  void write_records(ChunkType type, std::span<const Record> records, std::uint32_t track = 0) {
    write(type, std::as_bytes(records), static_cast<std::uint32_t>(records.size()), track);
  }
  void write_name(NameId id, std::string_view text);
  [[nodiscard]] std::uint64_t size_bytes() const { return size_bytes_; }
  [[nodiscard]] const std::string& path() const { return path_; }
  /// Closes the file. **Errors**: as write().
  void close();

 private:
  struct CloseFile {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  void put(const void* bytes, std::size_t size_bytes);

  std::string path_;
  std::unique_ptr<std::FILE, CloseFile> file_;
  std::uint64_t size_bytes_ = 0;
};

/// Reads a file chunk by chunk. The end of a file that was cut off, or is damaged, ends the chunks;
/// damage() then says what is wrong.
class FileReader {
 public:
  /// Opens a trace. **Errors**: Error when the file is no trace, or one of another version or byte
  /// order.
  explicit FileReader(std::string path);

  [[nodiscard]] const FileHeader& header() const { return header_; }
  [[nodiscard]] const std::string& path() const { return path_; }

  /// Header of the next chunk; nullptr at the end. The payload is read by payload(), or skipped.
  const ChunkHeader* next();
  /// Payload of the chunk, verified. False: it is damaged, and the chunks end here.
  [[nodiscard]] bool payload(std::vector<std::byte>& bytes);
  template <class Record>
  [[nodiscard]] bool records(std::vector<Record>& all);
  [[nodiscard]] bool text(std::string& all);
  [[nodiscard]] bool names(std::vector<std::pair<NameId, std::string>>& all);

  /// Offset of the payload of the chunk that next() gave.
  [[nodiscard]] std::uint64_t payload_offset() const { return payload_offset_; }
  /// Records [first, first + count) of the chunk, as far as it has them. Not verified.
  template <class Record>
  [[nodiscard]] bool some_records(std::uint64_t first, std::size_t count, std::vector<Record>& all);
  /// The next chunk is the one whose header is at this offset.
  void go_to(std::uint64_t offset);
  /// Back to the first chunk.
  void rewind();

  /// Description of damage at the end of the file; empty without damage.
  [[nodiscard]] const std::string& damage() const { return damage_; }

 private:
  struct CloseFile {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  bool stop(std::string damage);
  bool read_at(std::uint64_t offset, void* bytes, std::size_t size_bytes);

  std::string path_;
  std::unique_ptr<std::FILE, CloseFile> file_;
  std::uint64_t size_bytes_ = 0;
  FileHeader header_;
  ChunkHeader chunk_;
  std::uint64_t payload_offset_ = 0;
  std::uint64_t next_offset_ = 0;
  bool ended_ = false;
  std::string damage_;
};

template <class Record>
bool FileReader::records(std::vector<Record>& all) {
  std::vector<std::byte> bytes;
  if (!payload(bytes)) return false;
  if (bytes.size() % sizeof(Record) != 0) return stop("a chunk has a part of a record");
  all.resize(bytes.size() / sizeof(Record));
  if (!all.empty()) std::memcpy(all.data(), bytes.data(), bytes.size());
  return true;
}

template <class Record>
bool FileReader::some_records(std::uint64_t first, std::size_t count, std::vector<Record>& all) {
  const std::uint64_t there = chunk_.size_bytes / sizeof(Record);
  all.resize(first < there ? std::min<std::uint64_t>(count, there - first) : 0);
  return read_at(payload_offset_ + first * sizeof(Record), all.data(), all.size() * sizeof(Record));
}

/// The reason why no trace can be written to `path`, or "". Only a new file, a regular file, or a
/// symbolic link to one of these can be replaced by a trace.
[[nodiscard]] std::string problem_of_output(const std::string& path);

/// Removes the regular file at `path`, or behind the symbolic links there; nothing else.
void remove_output(const std::string& path) noexcept;

}  // namespace shoal::trace
