package import NIOCore
import NIOWebSocket
import RepriseCore
package import RepriseWire

/// Writes events as complete WebSocket frames, shared by any number of sockets.
///
/// The bytes equal ``RepriseWire/ServerFrame/Event/encoded()``, but go straight into the buffer
/// that is sent: without an array between, and with the common part of a channel's events encoded
/// once.
package struct EventEncoder {
    private let opening: [UInt8]
    private static let id = Array(#","id":""#.utf8)
    private static let prev = Array(#","prev":"#.utf8)
    private static let timestamp = Array(#"","timestamp":"#.utf8)
    private static let body = Array(#","body":"#.utf8)
    private static let from = Array(#","from":""#.utf8)
    private static let quote = Array(#"""#.utf8)
    private static let edits = Array(#","edits":"#.utf8)
    private static let deletes = Array(#","deletes":"#.utf8)
    private static let deleted = Array(#","deleted":true"#.utf8)

    package init(channel: ChannelName) {
        opening = Array(#"{"type":"event","channelId":"\#(channel.text)","seq":"#.utf8)
    }

    /// The most bytes of the frame of `event`.
    package func capacity(for event: ServerFrame.Event) -> Int {
        opening.count + event.body.count + event.id.text.utf8.count + 110
            + (event.from.map { $0.text.utf8.count + Self.from.count + 1 } ?? 0)
            + (event.change == nil ? 0 : 31) + (event.isDeleted ? Self.deleted.count : 0)
    }

    /// Appends the frame of `event`.
    package func write(_ event: ServerFrame.Event, to buffer: inout ByteBuffer) {
        let hasPrev = event.prev != event.seq - 1
        var length = opening.count + Self.digits(event.seq) + Self.id.count
        if hasPrev { length += Self.prev.count + Self.digits(event.prev) }
        length += event.id.text.utf8.count + Self.timestamp.count
        length += Self.digits(event.time.milliseconds) + Self.body.count + event.body.count + 1
        length += Self.lengthOfAuthorship(event)
        WebSocketFraming.writeHeader(.text, length: length, to: &buffer)
        buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: length) { bytes in
            var cursor = Cursor(bytes: bytes)
            cursor.append(opening)
            cursor.append(event.seq)
            if hasPrev {
                cursor.append(Self.prev)
                cursor.append(event.prev)
            }
            cursor.append(Self.id)
            cursor.append(event.id.text)
            cursor.append(Self.timestamp)
            cursor.append(event.time.milliseconds)
            Self.writeAuthorship(event, to: &cursor)
            cursor.append(Self.body)
            cursor.append(event.body)
            cursor.append(UInt8(ascii: "}"))
            return cursor.count
        }
    }

    private static func lengthOfAuthorship(_ event: ServerFrame.Event) -> Int {
        var length = event.isDeleted ? deleted.count : 0
        if let from = event.from { length += Self.from.count + from.text.utf8.count + quote.count }
        switch event.change {
        case nil: break
        case .edits(let seq): length += edits.count + digits(seq)
        case .deletes(let seq): length += deletes.count + digits(seq)
        }
        return length
    }

    /// Its author, its target, and whether it was deleted.
    private static func writeAuthorship(_ event: ServerFrame.Event, to cursor: inout Cursor) {
        if let from = event.from {
            cursor.append(Self.from)
            cursor.append(from.text)
            cursor.append(quote)
        }
        switch event.change {
        case nil: break
        case .edits(let seq):
            cursor.append(edits)
            cursor.append(seq)
        case .deletes(let seq):
            cursor.append(deletes)
            cursor.append(seq)
        }
        if event.isDeleted { cursor.append(deleted) }
    }

    private static func digits(_ value: Int64) -> Int {
        var count = value < 0 ? 2 : 1
        var rest = value.magnitude
        while rest >= 10 {
            rest /= 10
            count += 1
        }
        return count
    }

    /// The write position; the caller reserves capacity, so every append is within bounds.
    private struct Cursor {
        let bytes: UnsafeMutableRawBufferPointer
        var count = 0

        mutating func append(_ byte: UInt8) {
            bytes[count] = byte
            count += 1
        }

        mutating func append(_ source: [UInt8]) {
            source.withUnsafeBytes { append($0) }
        }

        mutating func append(_ text: String) {
            var text = text
            text.withUTF8 { append(UnsafeRawBufferPointer($0)) }
        }

        mutating func append(_ value: Int64) {
            var rest = value.magnitude
            var at = count + EventEncoder.digits(value)
            if value < 0 { bytes[count] = UInt8(ascii: "-") }
            count = at
            repeat {
                at -= 1
                bytes[at] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
                rest /= 10
            } while rest > 0
        }

        private mutating func append(_ source: UnsafeRawBufferPointer) {
            UnsafeMutableRawBufferPointer(rebasing: bytes[count...]).copyMemory(from: source)
            count += source.count
        }
    }
}
