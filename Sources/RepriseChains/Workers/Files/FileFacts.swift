import Foundation

/// A file's attributes from the file system.
struct FileFacts: Hashable, Sendable, Codable {
    enum Kind: String, Hashable, Sendable, Codable { case file, folder, link, other }

    let kind: Kind
    let size: Int64
    /// The inode: kept by a rename, different after a replacement.
    let number: UInt64
    /// When it was made, in nanoseconds since 1970; nil where the system does not say.
    let born: Int64?
    /// The volume's number: not kept, because it may be another one after a restart.
    private(set) var device: Int64?
    /// How many names it has.
    let names: Int
    /// Nanoseconds since 1970.
    let changed: Int64

    private enum CodingKeys: String, CodingKey { case kind, size, number, born, names, changed }

    init(_ facts: stat) {
        switch facts.st_mode & S_IFMT {
        case S_IFREG: kind = .file
        case S_IFDIR: kind = .folder
        case S_IFLNK: kind = .link
        default: kind = .other
        }
        size = Int64(facts.st_size)
        number = UInt64(facts.st_ino)
        device = Int64(truncatingIfNeeded: facts.st_dev)
        names = Int(facts.st_nlink)
        #if canImport(Darwin)
            changed = Self.nanoseconds(facts.st_mtimespec)
            born = Self.nanoseconds(facts.st_birthtimespec)
        #else
            changed = Self.nanoseconds(facts.st_mtim)
            born = nil
        #endif
    }

    private static func nanoseconds(_ time: timespec) -> Int64 {
        Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }

    /// Whether it is the same file, whatever its name.
    func isSame(as other: FileFacts) -> Bool {
        number == other.number && Self.agree(born, other.born) && Self.agree(device, other.device)
    }

    /// A value that one side does not have tells nothing.
    private static func agree(_ one: Int64?, _ other: Int64?) -> Bool {
        one == nil || other == nil || one == other
    }

    /// Whether it is the same file without any write since.
    func isUnchanged(since other: FileFacts) -> Bool {
        isSame(as: other) && size == other.size && changed == other.changed
    }
}
