extension FaultProxy {
    /// The way that bytes go.
    public enum Direction: String, Hashable, Sendable, CaseIterable {
        /// From the device to the server.
        case toServer
        /// From the server to the device.
        case toClient
    }

    /// Something that happens to one connection when the byte behind the first ``afterBytes`` of a
    /// direction comes.
    public struct Fault: Hashable, Sendable {
        /// What happens.
        public enum Kind: Hashable, Sendable {
            /// What follows arrives so much later.
            case delay(Duration)
            /// What follows goes at most so fast.
            case throttle(bytesPerSecond: Int)
            /// The next 1,024 bytes are written in pieces of so many, a millisecond apart.
            case split(bytes: Int)
            /// What follows is held for so long; other connections overtake it.
            case hold(Duration)
            /// Nothing that follows is forwarded, and nobody is told; with `both` the other
            /// direction falls silent too.
            case halfOpen(both: Bool)
            /// What follows is thrown away, and both sides see the end (FIN): most often in the
            /// middle of a frame.
            case truncate
            /// Both sides see the end (FIN), behind all that had come.
            case finish
            /// Both sides are cut off (RST), what is on its way included.
            case reset
            /// So many bytes are thrown away and the rest goes on: no real network does so.
            case lose(bytes: Int)
        }

        /// What happens.
        public var kind: Kind
        /// To bytes on their way to whom.
        public var direction: Direction
        /// Behind how many bytes of this direction.
        public var afterBytes: Int

        /// Makes a fault.
        ///
        /// - Parameters:
        ///   - kind: what happens.
        ///   - direction: to bytes on their way to whom.
        ///   - afterBytes: behind how many bytes of this direction.
        public init(_ kind: Kind, _ direction: Direction, afterBytes: Int = 0) {
            self.kind = kind
            self.direction = direction
            self.afterBytes = afterBytes
        }
    }

    /// What a proxy has done, in numbers.
    public struct Report: Hashable, Sendable {
        /// A kind of fault that was met.
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
            /// A connection ended although more had come, which was thrown away.
            case truncated
            /// A connection was ended with FIN.
            case finished
            /// A connection was ended with RST.
            case reset
            /// Bytes were taken out of the middle.
            case lost
        }

        /// How many connections were accepted, the refused ones included.
        public var connections = 0
        /// How often each kind was met; those that were not are not there.
        public var met: [Met: Int] = [:]
        /// How many bytes were forwarded.
        public var bytes: [Direction: Int] = [.toServer: 0, .toClient: 0]
        /// The most bytes that one direction of one connection has waited with.
        public var mostWaiting = 0

        /// Nothing yet.
        public init() {}

        /// How often a kind was met.
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
