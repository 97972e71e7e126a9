#include "trace/file.hpp"

#include <shoal/error.hpp>

#include <fmt/format.h>
#include <xxhash.h>

#include <bit>
#include <cerrno>
#include <filesystem>
#include <system_error>

namespace shoal::trace {

static_assert(std::endian::native == std::endian::little, "files are little-endian");

namespace {

std::uint64_t checksum_of(const ChunkHeader& header, std::span<const std::byte> payload) {
  const XXH64_hash_t seed = XXH3_64bits(&header, offsetof(ChunkHeader, checksum));
  return XXH3_64bits_withSeed(payload.data(), payload.size(), seed);
}

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
  throw Error(fmt::format("{}: {}", path, why));
}

std::string last_error() { return std::generic_category().message(errno); }

}  // namespace

FileWriter::FileWriter(std::string path, const FileHeader& header)
    : path_(std::move(path)), file_(std::fopen(path_.c_str(), "wb")) {
  if (file_ == nullptr) refuse(path_, fmt::format("cannot create this trace: {}", last_error()));
  std::setvbuf(file_.get(), nullptr, _IONBF, 0);  // chunks are large
  try {
    put(&header, sizeof header);
  } catch (...) {
    remove_output(path_);
    throw;
  }
}

// A file without a chunk says nothing: its first one could not be written.
FileWriter::~FileWriter() {
  if (file_ != nullptr && size_bytes_ <= sizeof(FileHeader)) remove_output(path_);
}

FileWriter::FileWriter(FileWriter&&) noexcept = default;

void FileWriter::put(const void* bytes, std::size_t size_bytes) {
  if (size_bytes == 0) return;
  if (std::fwrite(bytes, 1, size_bytes, file_.get()) != size_bytes) {
    refuse(path_, fmt::format("cannot write this trace: {}", last_error()));
  }
  size_bytes_ += size_bytes;
}

void FileWriter::write(ChunkType type, std::span<const std::byte> payload, std::uint32_t count,
                       std::uint32_t track) {
  ChunkHeader header;
  header.type = type;
  header.size_bytes = payload.size();
  header.count = count;
  header.track = track;
  header.checksum = checksum_of(header, payload);
  put(&header, sizeof header);
  put(payload.data(), payload.size());
}

void FileWriter::write_text(ChunkType type, std::string_view text) {
  write(type, std::as_bytes(std::span(text)));
}

void FileWriter::write_name(NameId id, std::string_view text) {
  std::vector<std::byte> bytes(sizeof id + sizeof(std::uint32_t) + text.size());
  const auto length = static_cast<std::uint32_t>(text.size());
  std::memcpy(bytes.data(), &id, sizeof id);
  std::memcpy(bytes.data() + sizeof id, &length, sizeof length);
  if (!text.empty()) std::memcpy(bytes.data() + 2 * sizeof id, text.data(), text.size());
  write(ChunkType::names, bytes);
}

void FileWriter::close() {
  std::FILE* const file = file_.release();
  if (file != nullptr && std::fclose(file) != 0) {
    refuse(path_, fmt::format("cannot write this trace: {}", last_error()));
  }
}

FileReader::FileReader(std::string path)
    : path_(std::move(path)), file_(std::fopen(path_.c_str(), "rb")) {
  if (file_ == nullptr) refuse(path_, fmt::format("cannot open this trace: {}", last_error()));
  if (std::fseek(file_.get(), 0, SEEK_END) == 0) {
    const long size = std::ftell(file_.get());
    size_bytes_ = size < 0 ? 0 : static_cast<std::uint64_t>(size);
  }
  std::rewind(file_.get());
  if (std::fread(&header_, sizeof header_, 1, file_.get()) != 1 ||
      header_.magic != FileHeader::kMagic) {
    refuse(path_,
           "this is not a trace of shoal: it begins differently. Give a file that a run "
           "with --trace wrote");
  }
  if (header_.version != kFileVersion) {
    refuse(path_, fmt::format("this trace has version {} of the format, and this program reads "
                              "version {}. Use the shoal-trace of the run's own shoal",
                              header_.version, kFileVersion));
  }
  rewind();
}

void FileReader::rewind() {
  next_offset_ = sizeof(FileHeader);
  ended_ = false;
  damage_.clear();
}

bool FileReader::stop(std::string damage) {
  ended_ = true;
  damage_ = std::move(damage);
  return false;
}

const ChunkHeader* FileReader::next() {
  if (ended_ || next_offset_ == size_bytes_) return nullptr;
  const std::uint64_t left = size_bytes_ - next_offset_;
  const auto cut_off = [&](std::string_view how) {
    stop(fmt::format("{} bytes from offset {} on cannot be read: {}", left, next_offset_, how));
    return nullptr;
  };
  if (left < sizeof chunk_) return cut_off("the file is cut off");
  if (!read_at(next_offset_, &chunk_, sizeof chunk_)) return cut_off(last_error());
  if (chunk_.magic != ChunkHeader::kMagic) return cut_off("no chunk begins there");
  if (left - sizeof chunk_ < chunk_.size_bytes) return cut_off("the file is cut off");
  payload_offset_ = next_offset_ + sizeof chunk_;
  next_offset_ = payload_offset_ + chunk_.size_bytes;
  return &chunk_;
}

void FileReader::go_to(std::uint64_t offset) {
  next_offset_ = offset;
  ended_ = false;
}

bool FileReader::read_at(std::uint64_t offset, void* bytes, std::size_t size_bytes) {
  if (size_bytes == 0) return true;
  return std::fseek(file_.get(), static_cast<long>(offset), SEEK_SET) == 0 &&
         std::fread(bytes, size_bytes, 1, file_.get()) == 1;
}

bool FileReader::payload(std::vector<std::byte>& bytes) {
  bytes.resize(chunk_.size_bytes);
  const bool read = read_at(payload_offset_, bytes.data(), bytes.size());
  if (read && checksum_of(chunk_, bytes) == chunk_.checksum) return true;
  return stop(fmt::format("{} bytes from offset {} on cannot be read: {}",
                          size_bytes_ - (payload_offset_ - sizeof chunk_),
                          payload_offset_ - sizeof chunk_,
                          read ? "the checksum of the chunk there is wrong" : last_error()));
}

bool FileReader::text(std::string& all) {
  std::vector<std::byte> bytes;
  if (!payload(bytes)) return false;
  all.assign(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return true;
}

bool FileReader::names(std::vector<std::pair<NameId, std::string>>& all) {
  std::vector<std::byte> storage;
  if (!payload(storage)) return false;
  all.clear();
  std::span<const std::byte> bytes(storage);
  while (!bytes.empty()) {
    NameId id = 0;
    std::uint32_t length = 0;
    if (bytes.size() < sizeof id + sizeof length) return stop("a chunk has a part of a name");
    std::memcpy(&id, bytes.data(), sizeof id);
    std::memcpy(&length, bytes.data() + sizeof id, sizeof length);
    bytes = bytes.subspan(sizeof id + sizeof length);
    if (bytes.size() < length) return stop("a chunk has a part of a name");
    all.emplace_back(id, std::string(reinterpret_cast<const char*>(bytes.data()), length));
    bytes = bytes.subspan(length);
  }
  return true;
}

namespace fs = std::filesystem;

std::string problem_of_output(const std::string& path) {
  std::error_code error;
  switch (fs::status(path, error).type()) {
    case fs::file_type::directory:
      return "a directory is there";
    case fs::file_type::block:
    case fs::file_type::character:
      return "a device is there";
    case fs::file_type::fifo:
      return "a pipe is there";
    case fs::file_type::socket:
      return "a socket is there";
    default:
      return "";  // opening it will tell
  }
}

void remove_output(const std::string& path) noexcept {
  std::error_code error;
  if (path.starts_with("/dev/")) return;  // /dev/stdout links to a file that the shell has made
  const fs::path real = fs::canonical(path, error);
  if (!error && fs::is_regular_file(real, error)) fs::remove(real, error);
}

}  // namespace shoal::trace
