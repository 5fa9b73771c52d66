import Foundation
import NIOCore
import RepriseCore
import RepriseJournal

/// The newest events of a phone, in memory and in two alternating files.
package struct PhoneLog {
    private let folder: PhoneFolder
    /// In order of their numbers, which have no gap.
    package private(set) var events: ArraySlice<PhoneEvent> = []
    private var half = 0
    private var inHalf = 0
    private var file: FileHandle?

    private static let halfCount = PhoneLimits.events / 2
    /// Never reached by ``halfCount`` events of their greatest size.
    private static let fileLimit = PhoneLimits.events * 8_192

    package var last: Int { events.last?.number ?? 0 }

    /// Reads the log of a former run; ignores a truncated line.
    package init(_ folder: PhoneFolder) throws {
        self.folder = folder
        let halves = try (0...1).map { try Self.read(folder.log($0)) }
        half = (halves[0].last?.number ?? 0) >= (halves[1].last?.number ?? 0) ? 0 : 1
        inHalf = halves[half].count
        events = (halves[1 - half] + halves[half])[...]
        // Keeps only the gapless sequence up to the newest.
        if let gap = events.indices.dropFirst().last(where: {
            events[$0].number != events[$0 - 1].number + 1
        }) {
            events = events[gap...]
        }
        try open(keeping: halves[half])
    }

    private static func read(_ path: String) throws -> [PhoneEvent] {
        guard let data = FileManager.default.contents(atPath: path), data.count <= fileLimit else {
            return []
        }
        let decoder = JSONDecoder()
        return data.split(separator: UInt8(ascii: "\n")).compactMap {
            try? decoder.decode(PhoneEvent.self, from: $0)
        }
    }

    private mutating func open(keeping events: [PhoneEvent]) throws {
        let path = folder.log(half)
        // Atomic: a kill at the start loses nothing.
        try DurableFile.write(try events.flatMap { try PhoneJSON.encode($0) + [10] }, to: path)
        guard let file = FileHandle(forWritingAtPath: path) else {
            throw RepriseError(.notWritable, "The phone cannot write its log.")
        }
        try file.seekToEnd()
        self.file = file
        inHalf = events.count
    }

    /// Writes events, which have their numbers; a process that is killed loses none of them.
    package mutating func append(_ new: [PhoneEvent]) throws {
        for event in new {
            if inHalf >= Self.halfCount {
                half = 1 - half
                try open(keeping: [])
            }
            try file?.write(contentsOf: try PhoneJSON.encode(event) + [10])
            inHalf += 1
            events.append(event)
        }
        if events.count > PhoneLimits.events {
            events = ArraySlice(Array(events.suffix(PhoneLimits.events)))
        }
    }

    /// The first events after the one of this number, as many as an answer takes.
    func page(after number: Int) -> [PhoneEvent] {
        guard let first = events.first?.number else { return [] }
        let skipped = max(0, min(number - first + 1, events.count))
        let page = Array(events.dropFirst(skipped).prefix(PhoneLimits.pageEvents))
        var room = LineConnection.lineLimit / 2
        return page.prefix { event in
            room -= event.detail.utf8.count * 2 + 256
            return room > 0
        }
    }
}
