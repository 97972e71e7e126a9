#pragma once
// Objects that the handlers of a rank, or of a team on a rank, find by their type.

#include <shoal/detail/base/check.hpp>
#include <shoal/detail/base/type_name.hpp>
#include <shoal/detail/sync/mutex.hpp>

#include <atomic>
#include <memory>
#include <string>
#include <utility>

namespace shoal::team {

/// At most one object of each type. Lookups take no lock and are linear in the few types.
///
/// **Caller**: any thread. **Lifetime**: a provided object outlives its use by handlers; an
/// obtained one is destroyed by clear() or with the registry, in the reverse order.
class Services {
 public:
  Services() = default;
  ~Services();
  Services(const Services&) = delete;
  Services& operator=(const Services&) = delete;

  /// Registers an object that the caller owns, and replaces an earlier one.
  template <class T>
  void provide(T& object) {
    const sync::Lock lock(mutex_);
    set(key<T>(), &object, nullptr);
  }
  /// Removes the object of type T.
  template <class T>
  void withdraw() {
    const sync::Lock lock(mutex_);
    set(key<T>(), nullptr, nullptr);
  }
  /// The object of this type, or nullptr.
  template <class T>
  [[nodiscard]] T* find() const {
    return static_cast<T*>(find_key(key<T>()));
  }
  /// Returns the object of type T. **Errors**: CheckError naming the type when there is none.
  template <class T>
  [[nodiscard]] T& get() const {
    T* const object = find<T>();
    if (object == nullptr) [[unlikely]]
      refuse(naming::readable(naming::spelled<T>(), "T"));
    return *object;
  }
  /// Returns the object of type T; the first call makes it by make(), which returns
  /// std::unique_ptr<T> and must not obtain another service of this registry.
  template <class T, class Make>
  T& obtain(Make make) {
    if (T* const object = find<T>(); object != nullptr) return *object;
    return sync::locked(mutex_, [&]() SHOAL_REQUIRES(mutex_) -> T& {
      if (T* const object = find<T>(); object != nullptr) return *object;
      std::unique_ptr<T> made = make();
      T& object = *made;
      set(key<T>(), &object, std::make_unique<OwnerOf<T>>(std::move(made)));
      return object;
    });
  }
  /// Destroys the objects that obtain() made. Called while no handler runs.
  void clear();

 private:
  struct Owner {
    virtual ~Owner() = default;
  };
  template <class T>
  struct OwnerOf final : Owner {
    explicit OwnerOf(std::unique_ptr<T> given) : object(std::move(given)) {}
    std::unique_ptr<T> object;
  };
  /// Entries are added at the end and stay; `key` and `next` do not change once they are set.
  struct Entry {
    const void* key = nullptr;
    std::atomic<void*> object{nullptr};
    std::atomic<Entry*> next{nullptr};
    std::unique_ptr<Owner> owner;
  };

  template <class T>
  static const void* key() {
    static constexpr char kKey = 0;
    return &kKey;
  }
  [[nodiscard]] void* find_key(const void* key) const {
    // acquire pairs with the release in set(): the entry, and the object, are complete.
    const Entry* entry = first_.load(std::memory_order_acquire);
    while (entry != nullptr && entry->key != key) {
      entry = entry->next.load(std::memory_order_acquire);
    }
    return entry != nullptr ? entry->object.load(std::memory_order_acquire) : nullptr;
  }
  void set(const void* key, void* object, std::unique_ptr<Owner> owner) SHOAL_REQUIRES(mutex_);
  [[noreturn]] static void refuse(const std::string& type);

  sync::Mutex mutex_;
  std::atomic<Entry*> first_{nullptr};  // written under mutex_
};

}  // namespace shoal::team
