import CNats
import Foundation
import RepriseCore
import RepriseServer

/// A message of NATS, copied out of the library.
struct NatsMessage: Sendable {
    let bytes: [UInt8]
    /// The code of an answer without content: 404, 503.
    let status: Int?
    /// Its sequence in the stream that it is of.
    let sequence: Int64?
    /// When the stream stored it.
    let stamp: WallTime?
    /// How many of the stream are behind it.
    let pending: Int64?

    /// Takes the content; the message is its owner's to destroy.
    init(_ message: OpaquePointer) {
        let count = Int(natsMsg_GetDataLength(message))
        bytes =
            natsMsg_GetData(message).map { start in
                start.withMemoryRebound(to: UInt8.self, capacity: count) {
                    Array(UnsafeBufferPointer(start: $0, count: count))
                }
            } ?? []
        func header(_ name: String) -> String? {
            var value: UnsafePointer<CChar>?
            guard natsMsgHeader_Get(message, name, &value) == NATS_OK, let value else { return nil }
            return String(cString: value)
        }
        status = header("Status").flatMap { Int($0) }
        sequence = header("Nats-Sequence").flatMap { Self.number($0) }
        pending = header("Nats-Num-Pending").flatMap { Self.number($0) }
        stamp = header("Nats-Time-Stamp").flatMap { Self.time($0) }
    }

    private static func number(_ text: String) -> Int64? {
        Int64(text).flatMap { JournalStream.amounts.contains($0) ? $0 : nil }
    }

    /// RFC 3339 with up to nine digits of a second, as NATS writes it; cut to milliseconds.
    static func time(_ text: String) -> WallTime? {
        guard text.hasSuffix("Z"), text.utf8.count >= 20,
            let seconds = try? Date(text.prefix(19) + "Z", strategy: .iso8601)
        else { return nil }
        let fraction = text.dropFirst(19).dropLast()
        var milliseconds: Int64 = 0
        if !fraction.isEmpty {
            guard fraction.first == ".", let digits = Int64(fraction.dropFirst().prefix(3)) else {
                return nil
            }
            let missing = 3 - min(fraction.count - 1, 3)
            milliseconds = (0..<missing).reduce(digits) { value, _ in value * 10 }
        }
        return WallTime(
            milliseconds: Int64(seconds.timeIntervalSince1970) * 1_000 + milliseconds)
    }

    /// The entry that this is, if it is one.
    var entry: StoredEntry? {
        guard status == nil, let sequence, sequence > 0, let stamp else { return nil }
        return StoredEntry(sequence: sequence, stamp: stamp, bytes: bytes)
    }
}
