/// A parser of foreign bytes, and what must hold whatever the bytes are.
///
/// The same function runs under libFuzzer (`make fuzz`) and, over the corpus and mutations of it,
/// in `make test`.
struct FuzzTarget: Sendable {
    let name: String
    /// The longest input that is worth trying.
    let maximumBytes: Int
    /// Throws ``BrokenProperty``, or whatever the parser should not have thrown.
    let check: @Sendable ([UInt8]) throws -> Void

    static let all: [FuzzTarget] = [
        FuzzTarget(name: "server-frames", maximumBytes: 16_384, check: FrameProperties.server),
        FuzzTarget(name: "client-frames", maximumBytes: 16_384, check: FrameProperties.client),
        FuzzTarget(name: "json", maximumBytes: 8_192, check: JSONProperties.check),
        FuzzTarget(name: "coverage", maximumBytes: 8_192, check: CoverageProperties.text),
        FuzzTarget(name: "ranges", maximumBytes: 4_096, check: CoverageProperties.operations),
        FuzzTarget(name: "names", maximumBytes: 512, check: NameProperties.check),
        FuzzTarget(name: "messages", maximumBytes: 8_192, check: MessageProperties.check),
        FuzzTarget(name: "lines", maximumBytes: 2_048, check: LineProperties.check),
        FuzzTarget(name: "socket-client", maximumBytes: 8_192, check: AssemblyProperties.client),
        FuzzTarget(name: "socket-server", maximumBytes: 8_192, check: AssemblyProperties.server),
        FuzzTarget(name: "handshake", maximumBytes: 32_768, check: HandshakeProperties.check),
        FuzzTarget(name: "endpoint", maximumBytes: 512, check: EndpointProperties.check),
        FuzzTarget(name: "spool", maximumBytes: 4_096, check: FileProperties.spool),
        FuzzTarget(name: "forms", maximumBytes: 8_192, check: FormsProperties.check),
        FuzzTarget(name: "reminder-info", maximumBytes: 8_192, check: RouteProperties.info),
        FuzzTarget(name: "links", maximumBytes: 4_200, check: RouteProperties.link),
        FuzzTarget(name: "route-entries", maximumBytes: 8_192, check: RouteProperties.entry),
        FuzzTarget(name: "mirror", maximumBytes: 4_096, check: FileProperties.mirror),
    ]
}

/// What should have held and did not.
struct BrokenProperty: Error, CustomStringConvertible {
    let description: String
}

/// States what must hold.
func hold(_ condition: Bool, _ what: @autoclosure () -> String) throws {
    guard condition else { throw BrokenProperty(description: what()) }
}

/// Where to cut `bytes`, so that a parser that is fed piece by piece meets every border.
///
/// The first byte of an input says how: the fuzzer learns quickly what it does.
func pieces(of bytes: ArraySlice<UInt8>, seed: UInt8) -> [ArraySlice<UInt8>] {
    guard seed > 0 else { return [bytes] }
    var result: [ArraySlice<UInt8>] = []
    var rest = bytes
    var state = UInt32(seed)
    while !rest.isEmpty {
        state = state &* 1_664_525 &+ 1_013_904_223
        let count = seed == 1 ? 1 : Int(state >> 24) % (Int(seed) + 1) + 1
        result.append(rest.prefix(count))
        rest = rest.dropFirst(count)
    }
    return result
}
