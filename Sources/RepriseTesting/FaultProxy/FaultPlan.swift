extension FaultProxy {
    /// The faults of each connection, in the order of connecting.
    ///
    /// ```swift
    /// FaultProxy.Plan(seed: 7)                 // anything; the same seed is the same plan
    /// FaultProxy.Plan([
    ///     .init([.init(.truncate, .toClient, afterBytes: 900)]),
    ///     .refused,
    /// ])                                       // the third connection and later have no faults
    /// ```
    public struct Plan: Hashable, Sendable {
        /// The faults of one connection.
        public struct Connection: Hashable, Sendable {
            /// Whether it is refused.
            public var isRefused = false
            /// Its faults, in any order.
            public var faults: [Fault] = []

            /// Makes an accepted connection.
            ///
            /// - Parameter faults: its faults.
            public init(_ faults: [Fault] = []) { self.faults = faults }

            /// A refused connection.
            public static let refused: Connection = {
                var connection = Connection()
                connection.isRefused = true
                return connection
            }()
        }

        private enum Source: Hashable {
            case written([Connection])
            case drawn(seed: UInt64, connections: Int, reach: ClosedRange<Int>)
        }

        private let source: Source

        /// A plan without a fault.
        public static let none = Plan([])

        /// Makes a plan from a list.
        ///
        /// - Parameter connections: the faults of the first connections; later ones have none.
        public init(_ connections: [Connection]) { source = .written(connections) }

        /// Draws a plan: of ten connections about one is refused and eight end badly.
        ///
        /// ``FaultProxy/Fault/Kind/lose(bytes:)`` is never drawn.
        ///
        /// - Parameters:
        ///   - seed: the same seed is the same plan, for ever.
        ///   - connections: how many have faults; later ones have none.
        ///   - reach: behind how many bytes of a direction an end comes; short lives are as likely
        ///     as long ones.
        public init(
            seed: UInt64, connections: Int = .max, reach: ClosedRange<Int> = 64...65_536
        ) {
            source = .drawn(seed: seed, connections: connections, reach: reach)
        }

        /// The faults of a connection.
        ///
        /// - Parameter number: counted from 0 in the order of connecting.
        /// - Returns: always the same for the same plan.
        public func connection(_ number: Int) -> Connection {
            switch source {
            case .written(let connections):
                return connections.indices.contains(number) ? connections[number] : Connection()
            case .drawn(let seed, let connections, let reach):
                guard number < connections else { return Connection() }
                var dice = Dice(seed: seed, connection: number)
                return dice.connection(reach)
            }
        }
    }
}

extension FaultProxy.Plan {
    /// Draws one connection.
    private struct Dice {
        private var words: SeededGenerator

        init(seed: UInt64, connection: Int) {
            // One step of the generator between, or neighbouring seeds would share their
            // connections.
            var first = SeededGenerator(seed: seed)
            words = SeededGenerator(
                seed: first.next() &+ UInt64(connection) &* 0xd134_2543_de82_ef95)
        }

        mutating func connection(_ reach: ClosedRange<Int>) -> Connection {
            guard !happens(1, in: 10) else { return .refused }
            var faults: [FaultProxy.Fault] = []
            for direction in FaultProxy.Direction.allCases {
                if happens(1, in: 3) {
                    let delay = Duration.milliseconds(number(1...40))
                    faults.append(.init(.delay(delay), direction))
                }
                if happens(1, in: 6) {
                    let speed = number(20_000...200_000)
                    faults.append(.init(.throttle(bytesPerSecond: speed), direction))
                }
                if happens(1, in: 3) {
                    let start = number(0...4_000)
                    faults.append(
                        .init(.split(bytes: number(1...32)), direction, afterBytes: start))
                }
            }
            if happens(8, in: 9) { faults.append(ending(reach)) }
            return Connection(faults)
        }

        private mutating func ending(_ reach: ClosedRange<Int>) -> FaultProxy.Fault {
            let kind: FaultProxy.Fault.Kind
            switch number(0...9) {
            case 0...2: kind = .reset
            case 3...5: kind = .truncate
            case 6: kind = .finish
            case 7: kind = .halfOpen(both: true)
            case 8: kind = .halfOpen(both: false)
            default: kind = .hold(.milliseconds(number(50...1_500)))
            }
            let direction: FaultProxy.Direction = happens(1, in: 2) ? .toServer : .toClient
            return .init(kind, direction, afterBytes: bytes(reach))
        }

        /// Each doubling is as likely as the next, so that handshakes are hit as well as long
        /// streams.
        private mutating func bytes(_ reach: ClosedRange<Int>) -> Int {
            var highest = max(reach.lowerBound, 1)
            var choices = [reach.lowerBound]
            while highest < reach.upperBound {
                highest = min(highest * 2, reach.upperBound)
                choices.append(highest)
            }
            let top = number(0...choices.count - 1)
            return top == 0 ? choices[0] : number(choices[top - 1]...choices[top])
        }

        private mutating func happens(_ times: Int, in of: Int) -> Bool {
            number(1...of) <= times
        }

        private mutating func number(_ range: ClosedRange<Int>) -> Int {
            range.lowerBound + words.below(range.count)
        }

    }
}
