"""Counts words: each word is counted on the rank that its bytes choose, by a distributed object."""

import zlib

import shoal

TEXT = "the quick brown fox jumps over the lazy dog and the slow red fox sleeps beside the dog"


class Counter(shoal.Object):
    """Counts of the words of a rank."""

    def __init__(self):
        super().__init__()
        self.counts = {}

    def add(self, word):
        self.counts[word] = self.counts.get(word, 0) + 1

    def most_common(self):
        return sorted(self.counts.items(), key=lambda item: (-item[1], item[0]))[:3]


def main(world):
    counter = Counter()
    words = TEXT.split()
    for word in words[world.rank::world.size]:
        rank = zlib.crc32(word.encode()) % world.size  # the same on every rank, unlike hash()
        counter[rank].add.send(word)
    counter.fence()
    if world.rank != 0:
        return None
    tops = shoal.gather(one.most_common() for one in counter)
    return sorted(sum(tops, []), key=lambda item: (-item[1], item[0]))[:3]


if __name__ == "__main__":
    best = shoal.run(main, ranks=2)
    if best is not None:
        print(", ".join(f"{word} {count}" for word, count in best))
