extension FaultProxy {
    /// The direction of bytes.
    public enum Direction: String, Hashable, Sendable, CaseIterable {
        /// From the device to the server.
        case toServer
        /// From the server to the device.
        case toClient
    }

    /// A fault of one connection, triggered by the byte behind the first ``afterBytes`` of a
    /// direction.
    public struct Fault: Hashable, Sendable {
        /// The kind of fault.
        public enum Kind: Hashable, Sendable {
            /// Later bytes arrive so much later.
            case delay(Duration)
            /// Later bytes go at most so fast.
            case throttle(bytesPerSecond: Int)
            /// The next 1,024 bytes are written in pieces of so many, a millisecond apart.
            case split(bytes: Int)
            /// Later bytes are held for so long; other connections overtake them.
            case hold(Duration)
            /// Later bytes are not forwarded, without any notice; with `both` the other direction
            /// falls silent too.
            case halfOpen(both: Bool)
            /// Later bytes are dropped, and both sides see the end (FIN): most often in the middle
            /// of a frame.
            case truncate
            /// Both sides see the end (FIN), behind everything received.
            case finish
            /// Both sides are reset (RST), including bytes on their way.
            case reset
            /// So many bytes are dropped and the rest is forwarded: no real network does this.
            case lose(bytes: Int)
        }

        /// The kind of fault.
        public var kind: Kind
        /// The direction of the bytes.
        public var direction: Direction
        /// Behind how many bytes of this direction.
        public var afterBytes: Int

        /// Makes a fault.
        ///
        /// - Parameters:
        ///   - kind: the kind of fault.
        ///   - direction: the direction of the bytes.
        ///   - afterBytes: behind how many bytes of this direction.
        public init(_ kind: Kind, _ direction: Direction, afterBytes: Int = 0) {
            self.kind = kind
            self.direction = direction
            self.afterBytes = afterBytes
        }
    }

    /// The counters of a proxy.
    public struct Report: Hashable, Sendable {
        /// A kind of fault that occurred.
        public enum Met: String, Hashable, Sendable, CaseIterable {
            /// A connection was refused.
            case refused
            /// A direction of a connection was delayed.
            case delayed
            /// A direction of a connection was throttled.
            case throttled
            /// Bytes were written in small pieces.
            case split
            /// A direction of a connection was held back.
            case held
            /// A direction of a connection fell silent without an end.
            case halfOpened
            /// A connection ended, and further bytes were dropped.
            case truncated
            /// A connection was ended with FIN.
            case finished
            /// A connection was ended with RST.
            case reset
            /// Bytes were dropped from the middle.
            case lost
        }

        /// How many connections were accepted, the refused ones included.
        public var connections = 0
        /// How often each kind occurred; other kinds are absent.
        public var met: [Met: Int] = [:]
        /// How many bytes were forwarded.
        public var bytes: [Direction: Int] = [.toServer: 0, .toClient: 0]
        /// The most bytes that waited in one direction of one connection.
        public var mostWaiting = 0

        /// An empty report.
        public init() {}

        /// How often a kind occurred.
        public subscript(_ kind: Met) -> Int { met[kind] ?? 0 }
    }
}

extension FaultProxy.Report: CustomStringConvertible {
    /// One line for people.
    public var description: String {
        let kinds = Met.allCases.compactMap { kind in met[kind].map { "\(kind.rawValue) \($0)" } }
        return "\(connections) connections, \(bytes[.toServer] ?? 0) bytes to the server, "
            + "\(bytes[.toClient] ?? 0) to the device; \(kinds.joined(separator: ", "))"
    }
}
