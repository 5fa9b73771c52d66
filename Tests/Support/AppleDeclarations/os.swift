// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

// What Sources/RepriseCore/Signpost.swift uses of Apple's os, after Apple's documentation:
// https://developer.apple.com/documentation/os/ossignposter (2026-11-24)
// https://developer.apple.com/documentation/os/ossignpostid (2026-11-24)
// https://developer.apple.com/documentation/os/ossignpostintervalstate/beginstate(id:) (2026-11-24)

public struct OSSignpostID: Hashable, Sendable {
    public let rawValue: UInt64
}

public final class OSSignpostIntervalState {
    public class func beginState(id: OSSignpostID) -> Self { fatalError() }
}

public struct OSSignposter: @unchecked Sendable {
    public init(subsystem: String, category: String) {}
    public func makeSignpostID() -> OSSignpostID { fatalError() }
    public func beginInterval(_ name: StaticString, id: OSSignpostID) -> OSSignpostIntervalState {
        fatalError()
    }
    public func endInterval(_ name: StaticString, _ state: OSSignpostIntervalState) {}
}
